// SPDX-License-Identifier: Apache-2.0
// The part of a report that shows runs of one task.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "learning_curves.hpp"

namespace yolk::tasks {

/// Curves over generations, evaluations and seconds, throughput, the table of runs, devices' shares, and what they ran
/// on. `runs` are of the same kind and name; a run without a finite score is in the table only. `number` makes the
/// section's id unique on the page; `most_points` bounds each curve.
[[nodiscard]] std::string learning_section(const LogList& runs, std::size_t number, std::size_t most_points);
[[nodiscard]] std::string_view learning_style();

/// Runs whose settings differ in nothing but the seed and in what changes no curve, such as the device.
struct LearningGroup {
    std::string label{};  ///< the settings that tell it from the other groups; empty where there are no others
    LogList runs{};
};
[[nodiscard]] std::vector<LearningGroup> groups_of(const LogList& runs);

/// Tables below the figures; empty where the logs say nothing of the kind.
[[nodiscard]] std::string runs_table(const LogList& runs);
[[nodiscard]] std::string shares_table(const LogList& runs);
[[nodiscard]] std::string machines_table(const LogList& runs);

}  // namespace yolk::tasks
