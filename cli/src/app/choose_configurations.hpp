// SPDX-License-Identifier: Apache-2.0
// --where, --all and --configurations: which configurations of a space a command looks at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yolk/internal/runtime/tuning_space.hpp"
#include "yolk/result.hpp"

namespace yolk::cli {

/// Knobs by position, with the values that a configuration must have.
using Conditions = std::vector<std::pair<std::size_t, std::uint32_t>>;

/// Of "knob=value" texts. Error (BadInput): names the knobs that there are.
[[nodiscard]] Result<Conditions> parse_conditions(const TuningSpace& space, const std::vector<std::string>& where);

struct ConfigurationChoice {
    bool all = false;          ///< the whole space
    std::uint32_t count = 64;  ///< the most that are taken otherwise
    std::uint64_t seed = 1;    ///< of the draw
};
/// Whether a configuration is in a share of all, drawn by hash: `text` is what tells it from every other. The same on
/// each machine, and a larger share has all of a smaller one with the same seed.
[[nodiscard]] bool is_in_share(std::string_view text, std::uint64_t seed, double share) noexcept;

/// Legal configurations that meet the conditions; none where none does.
[[nodiscard]] std::vector<Configuration> choose_configurations(const TuningSpace& space, const Conditions& conditions,
                                                               const ConfigurationChoice& choice);

}  // namespace yolk::cli
