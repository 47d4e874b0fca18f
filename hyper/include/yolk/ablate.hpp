// SPDX-License-Identifier: Apache-2.0
// What each hyperfunction's parameters are worth: the change of the reward when they are zeroed, reset, frozen or
// perturbed, with its spread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/optimize.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {

enum class Ablation {
    Zero,     ///< all values as near to zero as the bounds allow; the empty text
    Reset,    ///< what the group was registered with
    Freeze,   ///< the system optimized anew from where it is, with and without it
    Perturb,  ///< sigma of noise, several draws
};
/// "zero", "reset", "freeze", "perturb".
[[nodiscard]] std::string_view to_string(Ablation ablation) noexcept;
[[nodiscard]] Result<Ablation> parse_ablation(std::string_view name);

struct AblateOptions {
    Ablation how = Ablation::Zero;
    /// Empty: every group with parameters; perturb: with numbers; freeze: every optimized one with numbers.
    std::vector<std::string> groups{};
    std::uint32_t draws = 32;  ///< perturb: of the noise, in pairs; zero and reset: resamplings of the examples
    float sigma = 0.05F;       ///< perturb: in search coordinates
    std::uint32_t seeds = 3;   ///< freeze: optimizations with and without the group
    std::uint64_t seed = 1;
    OptimizeOptions optimize{};  ///< freeze: seeds run from optimize.evolution.seed on
    PopulationOptions population_options{};
};

struct AblationRow {
    std::string group;
    double base = 0.0;    ///< reward as the system is; freeze: the mean over the seeds with the group optimized
    double reward = 0.0;  ///< with the group ablated, the mean over draws or seeds
    double change = 0.0;  ///< reward - base
    /// Standard deviation of the change: over draws (perturb), over seeds (freeze), over examples drawn again with
    /// replacement (zero, reset), the same for both rewards. 0 where there is only one.
    double spread = 0.0;
};
[[nodiscard]] Json to_json(const AblationRow& row);

/// The system's parameters stay as they are. Errors: an unknown group (lists the known ones), one without parameters,
/// for freeze one that is not optimized, for freeze and perturb a text; those of evaluation; a reward that is not
/// finite.
[[nodiscard]] Result<std::vector<AblationRow>> ablate(System& system, std::span<const Example> examples,
                                                      const Metric& metric, const AblateOptions& options);

}  // namespace yolk::hyper
