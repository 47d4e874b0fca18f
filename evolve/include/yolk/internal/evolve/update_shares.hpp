// SPDX-License-Identifier: Apache-2.0
// How one update is shared out over devices: by its parameters or by its pairs, and how much of it each device gets.
// Pure functions of sizes and rates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/primitives/es_update_strips.hpp"
#include "yolk/internal/primitives/parameters.hpp"
#include "yolk/result.hpp"

namespace yolk::evolve {

enum class UpdateSharing {
    Parameters,  ///< each device makes some elements of the gradient, from all pairs
    Pairs,       ///< each device makes exact sums of all elements, from some pairs; the host adds and rounds them
};
[[nodiscard]] const char* to_string(UpdateSharing sharing) noexcept;

struct SharingProblem {
    const ParameterTable& parameters;
    std::uint32_t pairs = 0;  ///< or members, where they come without pairs
    std::uint32_t rank = 1;   ///< of matrices that say none
    std::size_t devices = 1;
    bool integer_weights = true;  ///< sums of float weights are not exact, so that only their parameters are shared
};

struct SharingChoice {
    UpdateSharing sharing = UpdateSharing::Parameters;
    std::string reason;  ///< a sentence for logs
};

/// The sharing that takes less time on devices of equal rates: by the largest share of the sums, and by what comes to
/// the host, 4 bytes for each element in all, or 8 from each device.
[[nodiscard]] SharingChoice choose_sharing(const SharingProblem& problem);

/// Rates are finite, none is negative, and one is above 0. Error (BadInput): one that is not, or another number of them
/// than there are devices.
[[nodiscard]] Result<void> check_rates(std::span<const double> rates, std::size_t devices);

/// Items [bounds[d], bounds[d + 1]) for device d: `count` items in proportion to the rates, each bound rounded to the
/// nearest. A device whose rate is 0 gets none; so may one whose share is below half an item.
[[nodiscard]] std::vector<std::uint32_t> deal(std::uint32_t count, std::span<const double> rates);
/// The same of strips, by their work.
[[nodiscard]] std::vector<std::uint32_t> deal(const UpdateStrips& strips, std::span<const double> rates);

}  // namespace yolk::evolve
