// SPDX-License-Identifier: Apache-2.0
#include "loop_probe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "yolk/internal/abi/probe.h"

namespace yolk {
namespace {

/// Passes through the ends of loops that `iterations` of the innermost loop stand for.
std::uint64_t passes(const LoopCase& loop, std::uint64_t iterations) {
    if (loop.shape == abi::probe::kFlatLoop) return iterations;
    // Each complete outer iteration makes inner + 1 passes of the inner loop and one of its own. The flat loop before
    // it, in the branch that is not taken, makes one pass without an active invocation (docs/quirks.md).
    return iterations / loop.inner * (loop.inner + std::uint64_t{2}) + iterations % loop.inner + 1;
}

}  // namespace

std::uint64_t LoopCase::iterations() const noexcept {
    return shape == abi::probe::kFlatLoop ? outer : std::uint64_t{outer} * inner;
}

std::vector<LoopCase> loop_cases() {
    using abi::probe::kFlatLoop;
    using abi::probe::kNestedLoop;
    return {
        {kFlatLoop, 65536, 0, 1}, {kFlatLoop, 200000, 0, 2}, {kNestedLoop, 1000, 100, 3}, {kNestedLoop, 3, 65000, 4}};
}

std::optional<std::uint64_t> steps_between(std::uint32_t start, std::uint32_t state, std::uint64_t most) {
    std::uint32_t current = start;
    for (std::uint64_t steps = 0; steps <= most; ++steps) {
        if (current == state) return steps;
        current = current * abi::probe::kStepMultiplier + abi::probe::kStepIncrement;
    }
    return std::nullopt;
}

Result<std::optional<std::uint64_t>> derive_loop_limit(std::span<const LoopCase> cases,
                                                       std::span<const std::uint32_t> states) {
    std::optional<std::uint64_t> limit;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const std::optional<std::uint64_t> made = steps_between(cases[i].start, states[i], cases[i].iterations());
        if (!made.has_value()) {
            return Error{
                ErrorKind::Driver,
                fmt::format("The loop probe cannot be explained: after a loop of {} iterations the device's state is "
                            "0x{:08X}, which no smaller count gives. Do not trust this driver; try a newer one.",
                            cases[i].iterations(), states[i])};
        }
        if (*made == cases[i].iterations()) continue;
        limit = std::min(limit.value_or(UINT64_MAX), passes(cases[i], *made));
    }
    return limit;
}

}  // namespace yolk
