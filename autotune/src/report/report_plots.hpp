// SPDX-License-Identifier: Apache-2.0
// The plots of a report as SVG elements; their colours are the page's (report_page.cpp).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "yolk/internal/autotune/report.hpp"

namespace yolk::autotune {

/// Default, heuristic and tuned on one axis: the median, the middle half of the samples, the samples.
[[nodiscard]] std::string times_plot(const ShapeReport& shape);
/// Costs of all configurations over the values of one parameter, on a logarithmic axis.
[[nodiscard]] std::string knob_plot(const ShapeReport& shape, std::size_t parameter);
/// Best so far of all strategies on the same axes.
[[nodiscard]] std::string curves_plot(const ShapeReport& shape);
/// One strategy against random search, on the axes of curves_plot.
[[nodiscard]] std::string strategy_plot(const ShapeReport& shape, const StrategyCurve& curve);

/// Which of the page's styles is the strategy's: "s-natural"; "s-other" for one that has none.
[[nodiscard]] std::string strategy_class(std::string_view strategy);
/// A piece of line in the strategy's style.
[[nodiscard]] std::string legend_line(std::string_view strategy);

}  // namespace yolk::autotune
