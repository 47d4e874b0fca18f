// SPDX-License-Identifier: Apache-2.0
// Axes of plots: from values to places, and ticks at round numbers.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace yolk::autotune {

enum class AxisScale { Linear, Log };

/// `low` below `high`, both above 0 on a logarithmic axis; `from` and `to` are where they lie on the page.
struct Axis {
    AxisScale scale = AxisScale::Linear;
    double low = 0.0;
    double high = 1.0;
    double from = 0.0;
    double to = 1.0;
    /// Of a value outside, the nearer end.
    [[nodiscard]] double at(double value) const;
};

/// An axis that holds both, with a little room; equal ones are moved apart.
[[nodiscard]] Axis axis_around(AxisScale scale, double low, double high);

/// Round values within the axis, ascending: at least two, unless it is narrower than doubles are apart, and about
/// `wanted`.
[[nodiscard]] std::vector<double> round_ticks(const Axis& axis, std::size_t wanted = 5);

[[nodiscard]] std::string number_text(double value);  ///< "0.25", "40", "12000"

}  // namespace yolk::autotune
