// SPDX-License-Identifier: Apache-2.0
#include "yolk/autotune/portfolio.hpp"

#include <algorithm>
#include <cmath>

#include "yolk/core/log.hpp"

namespace yolk::autotune {

// Made by CMake of data/portfolio.json.
extern const char* const kShippedPortfolioText;

const PriorFile& shipped_portfolio() {
    static const PriorFile file = [] {
        Result<PriorFile> parsed = parse_prior(kShippedPortfolioText, "The portfolio that comes with Yolk");
        if (parsed) return *std::move(parsed);
        log_warning(parsed.error().message);
        return PriorFile{};
    }();
    return file;
}

std::vector<StoredConfiguration> portfolio_of(const PriorFile& file, std::string_view family) {
    std::vector<StoredConfiguration> portfolio;
    for (const SpacePrior& space : file.spaces) {
        if (space.kernel != family) continue;
        const auto parameters = space.candidates.space().parameters();
        for (const std::size_t candidate : space.prior.portfolio) {
            StoredConfiguration named;
            for (std::size_t p = 0; p < parameters.size(); ++p) {
                const Value& value = parameters[p].values[space.candidates[candidate][p]];
                // Knobs are unsigned; a recording of anything else names no configuration of ours.
                const double number = std::holds_alternative<double>(value) ? std::get<double>(value) : -1.0;
                if (number >= 0.0 && number <= 4294967295.0 && number == std::floor(number))
                    named.emplace_back(parameters[p].name, static_cast<std::uint32_t>(number));
            }
            if (named.size() == parameters.size()) portfolio.push_back(std::move(named));
        }
    }
    return portfolio;
}

Result<PriorFile> only_portfolios(const PriorFile& file, std::size_t most) {
    PriorFile reduced{.settings = file.settings, .training = file.training, .spaces = {}};
    for (const SpacePrior& space : file.spaces) {
        const std::size_t count = std::min(most, space.prior.portfolio.size());
        if (count == 0) continue;
        std::vector<std::uint16_t> choices;
        DevicePrior prior;
        for (std::size_t k = 0; k < count; ++k) {
            const ChoiceView choice = space.candidates[space.prior.portfolio[k]];
            choices.insert(choices.end(), choice.begin(), choice.end());
            prior.portfolio.push_back(k);
        }
        YOLK_TRY(CandidateSet candidates, CandidateSet::of(space.candidates.space(), std::move(choices)));
        reduced.spaces.push_back({space.kernel, space.devices, std::move(candidates), std::move(prior)});
    }
    return reduced;
}

}  // namespace yolk::autotune
