// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/portfolio.hpp"

#include <string>

#include "yolk/internal/context/tuning_transfer.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk::autotune {

// Made by CMake of data/portfolio.json.
extern const char* const kShippedPortfolioText;

std::vector<StoredConfiguration> shipped_portfolio(std::string_view family) {
    const Result<Json> file = parse_json(kShippedPortfolioText, "The portfolio that comes with Yolk");
    if (!file) log_warning(file.error().message);
    std::vector<StoredConfiguration> portfolio;
    if (!file || !file->contains("families") || !(*file)["families"].contains(std::string(family))) return portfolio;
    for (const Json& entry : (*file)["families"][std::string(family)]) {
        if (auto configuration = configuration_of_json(entry)) portfolio.push_back(*std::move(configuration));
    }
    return portfolio;
}

}  // namespace yolk::autotune
