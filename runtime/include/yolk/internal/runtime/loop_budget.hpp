// SPDX-License-Identifier: Apache-2.0
// What loops cost of DeviceFindings::loop_limit, so that plans can split work over dispatches (docs/quirks.md, "loop
// limit").
#pragma once

#include <cstdint>

namespace yolk {

/// Cost of a loop of `iterations`, each of which spends `inside` on the loops inside it. Leaving a loop counts once
/// more: the pass whose test fails. Measured on lavapipe 22.3: 21,845 entries of a loop of one iteration (three passes
/// each, with the outer loop's) are the most that 65,535 allows. Costs of loops in sequence add, and so do those of
/// both branches of an `if`; where invocations of a workgroup differ, the largest count of iterations holds for all.
/// Saturates.
[[nodiscard]] constexpr std::uint64_t loop_cost(std::uint64_t iterations, std::uint64_t inside = 0) noexcept {
    if (inside >= UINT64_MAX - 1 || (iterations != 0 && iterations >= (UINT64_MAX - 1) / (inside + 1)))
        return UINT64_MAX;
    return iterations * (inside + 1) + 1;
}

/// The most iterations of such a loop that cost at most `budget`; 0 where not one fits.
[[nodiscard]] constexpr std::uint64_t iterations_within(std::uint64_t budget, std::uint64_t inside = 0) noexcept {
    if (budget == 0 || inside == UINT64_MAX) return 0;
    return (budget - 1) / (inside + 1);
}

}  // namespace yolk
