// SPDX-License-Identifier: Apache-2.0
// Plots as SVG: axes that map values to places, ticks at round numbers, and a frame with both axes drawn. Colours
// belong to whoever embeds a plot, by the classes "grid" (lines across the frame) and "axis" (its edges and ticks).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace yolk {

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
/// The same in few letters, for what may be large: "0.25", "9000", "12k", "1.05M", "3G", "2T".
[[nodiscard]] std::string short_number_text(double value);

/// A rectangle that data are drawn in, with its axes. All lengths in pixels; y grows downwards, as in SVG.
struct PlotFrame {
    static constexpr double kLeft = 58.0;   ///< of the vertical axis, for its numbers and label
    static constexpr double kRight = 14.0;  ///< from the frame's right edge to the picture's
    static constexpr double kTop = 16.0;    ///< of the frame's upper edge
    double width = 0.0;
    double height = 0.0;
    double bottom = 40.0;  ///< from the frame's lower edge to the picture's
    Axis x{};
    Axis y{};

    [[nodiscard]] double right() const { return width - kRight; }
    [[nodiscard]] double base() const { return height - bottom; }
};

/// The same with both axes laid along the frame's edges.
[[nodiscard]] PlotFrame plot_frame(double width, double height, double bottom, Axis x, Axis y);

/// A text element; `anchor` is start, middle or end, `more` is further attributes with a leading space.
[[nodiscard]] std::string plot_text(double x, double y, std::string_view anchor, std::string_view text,
                                    std::string_view more = "");
/// Lines across the frame at the vertical axis's ticks, their numbers, and the label.
[[nodiscard]] std::string plot_y_axis(const PlotFrame& frame, std::string_view label);
/// The left and lower edge of the frame, the horizontal axis's ticks with their numbers, and the label.
[[nodiscard]] std::string plot_x_axis(const PlotFrame& frame, std::string_view label);

}  // namespace yolk
