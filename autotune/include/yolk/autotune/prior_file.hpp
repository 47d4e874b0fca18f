// SPDX-License-Identifier: Apache-2.0
// What is known about a kernel's configurations before anything is measured, as a file: `yolk tune prior
// train` writes it, `yolk tune --prior` begins from it. JSON, keyed by the names and values of the parameters, so that
// it outlives a change of their order.
//
//   {"yolk_prior": 2, "yolk_checksum": "...", "settings": {"noise": 0.05, ...}, "training": {...}, "spaces":
//   [{"kernel": "matmul",
//    "devices": ["..."], "parameters": [{"name": "tile_m", "values": [4, 8]}, ...], "residual_deviation": 0.1,
//    "portfolio": [0, 7], "mean": [...], "factors": [[...], ...], "configurations": [[0, 1], ...]}]}
//
// A configuration is one index into `values` per parameter. `mean` and `factors` hold a number per configuration, or
// are left out: then the portfolio is all there is. The checksum is of the whole file (yolk/core/seal.hpp); version 1,
// which is read as well, has none.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/autotune/natural_settings.hpp"
#include "yolk/autotune/space.hpp"
#include "yolk/autotune/transfer.hpp"
#include "yolk/core/json.hpp"
#include "yolk/core/result.hpp"

namespace yolk::autotune {

struct SpacePrior {
    std::string kernel{};                ///< as the recordings call it: a family, for Yolk's own; may be empty
    std::vector<std::string> devices{};  ///< that it was made from
    CandidateSet candidates;
    DevicePrior prior;  ///< over them; an empty mean: only the portfolio
};

struct PriorFile {
    NaturalSettings settings{};
    Json training = Json::object();  ///< how it came about; for people
    std::vector<SpacePrior> spaces{};
};

[[nodiscard]] std::string prior_text(const PriorFile& file);
/// Error (BadInput): not such a text, one of a newer Yolk, or damaged; `name` stands for it in messages.
[[nodiscard]] Result<PriorFile> parse_prior(std::string_view text, std::string_view name);
[[nodiscard]] Result<PriorFile> read_prior(const std::filesystem::path& path);
/// The one that `named` names; where it is empty, prior.json beside the table, which may be missing or, with a warning,
/// damaged. Errors: read_prior's, of a named one.
[[nodiscard]] Result<std::optional<PriorFile>> find_prior(const std::filesystem::path& named,
                                                          const std::filesystem::path& table);
/// Written beside and renamed.
[[nodiscard]] Result<void> write_prior(const std::filesystem::path& path, const PriorFile& file);

/// The part of the file that is of this kernel (where both say one) and of these parameters, for these candidates;
/// nothing where there is none with a mean. Candidates that the file does not know get what a regression on the known
/// ones says.
[[nodiscard]] std::optional<DevicePrior> prior_for(const PriorFile& file, const CandidateSet& target,
                                                   std::string_view kernel);

/// The candidate that is best by the mean, moved along the factors by what is known already: pairs of a candidate and
/// its log cost; with none, by the mean alone.
[[nodiscard]] std::size_t predicted_best(const DevicePrior& prior,
                                         const std::vector<std::pair<std::size_t, double>>& known);

}  // namespace yolk::autotune
