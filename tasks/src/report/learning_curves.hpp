// SPDX-License-Identifier: Apache-2.0
// What the pictures of learning share: where points lie, paths through them, and what is typical of several runs.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/core/plot.hpp"
#include "yolk/internal/tasks/learning_plot.hpp"

namespace yolk::tasks {

using LogList = std::vector<const LearningLog*>;
using LearningReading = double (*)(const LearningPoint&);

[[nodiscard]] LearningReading place_on(LearningAxis axis);
[[nodiscard]] std::string_view axis_name(LearningAxis axis, LearningLogKind kind);
inline double mean_of(const LearningPoint& point) { return point.mean; }
inline double policy_of(const LearningPoint& point) { return point.policy; }
inline double rate_of(const LearningPoint& point) { return point.per_second; }

/// Whether a reading is finite anywhere.
[[nodiscard]] bool has_finite(const LearningLog& log, LearningReading up);
/// Around all finite readings; with `from_zero` the vertical axis begins at 0.
[[nodiscard]] PlotFrame curve_frame(double width, double height, const LogList& logs, LearningReading across,
                                    std::initializer_list<LearningReading> up, bool from_zero = false);

struct Curve {
    std::string path{};
    std::size_t points = 0;  ///< that it goes through
};
/// Interrupted where a reading is not finite. Above `most` points the least and the greatest of each stretch stay.
[[nodiscard]] Curve curve_through(const PlotFrame& frame, const std::vector<LearningPoint>& points,
                                  LearningReading across, LearningReading up, std::size_t most);

/// Over the runs that got as far as `x`: the median, and the quartiles around it.
struct TypicalPoint {
    double x = 0.0;
    double low = 0.0;
    double median = 0.0;
    double high = 0.0;
};
/// At most `most` places, at each of which two runs at least have finite readings on both sides, which are joined by
/// straight lines.
[[nodiscard]] std::vector<TypicalPoint> typical_of(const LogList& logs, LearningReading across, LearningReading up,
                                                   std::size_t most);
[[nodiscard]] std::string median_path(const PlotFrame& frame, const std::vector<TypicalPoint>& typical);
[[nodiscard]] std::string quartile_path(const PlotFrame& frame, const std::vector<TypicalPoint>& typical);

}  // namespace yolk::tasks
