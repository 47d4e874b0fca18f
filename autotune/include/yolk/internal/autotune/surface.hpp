// SPDX-License-Identifier: Apache-2.0
// The function from configuration to cost: measured live on a device, or replayed from what was recorded.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "yolk/internal/autotune/space.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

inline constexpr double kInvalidCost = std::numeric_limits<double>::infinity();

/// What came of measuring one configuration. Costs are above 0, in the surface's own unit (most often milliseconds).
struct Measurement {
    double cost = kInvalidCost;
    std::string reason;  ///< why it could not be measured; empty where it could

    [[nodiscard]] bool valid() const noexcept { return std::isfinite(cost); }
};

class Surface {
   public:
    Surface() = default;
    virtual ~Surface() = default;
    Surface(const Surface&) = delete;
    Surface& operator=(const Surface&) = delete;
    Surface(Surface&&) = delete;
    Surface& operator=(Surface&&) = delete;

    [[nodiscard]] virtual const CandidateSet& candidates() const noexcept = 0;
    /// An invalid configuration is a Measurement like any other; an Error ends the search (device lost, out of memory).
    [[nodiscard]] virtual Result<Measurement> measure(std::size_t candidate) = 0;
};

}  // namespace yolk::autotune
