// SPDX-License-Identifier: Apache-2.0
// The loop-limit probe without a device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "yolk/result.hpp"

namespace yolk {

/// A loop of yolk/internal/abi/probe.h: `outer` iterations of a flat loop, or a nested one of outer * inner.
struct LoopCase {
    std::uint32_t shape = 0;
    std::uint32_t outer = 0;
    std::uint32_t inner = 0;
    std::uint32_t start = 0;  ///< state of the generator before the first iteration
    [[nodiscard]] std::uint64_t iterations() const noexcept;
};

/// Flat and nested loops of up to 200,000 iterations.
[[nodiscard]] std::vector<LoopCase> loop_cases();

/// How many steps lead from `start` to `state`; nothing where more than `most` would be needed.
[[nodiscard]] std::optional<std::uint64_t> steps_between(std::uint32_t start, std::uint32_t state, std::uint64_t most);

/// The limit that the states left by the loops give away, in the unit of yolk/internal/runtime/loop_budget.hpp; nothing
/// where every count is right. Error: a state that no count of iterations explains.
[[nodiscard]] Result<std::optional<std::uint64_t>> derive_loop_limit(std::span<const LoopCase> cases,
                                                                     std::span<const std::uint32_t> states);

}  // namespace yolk
