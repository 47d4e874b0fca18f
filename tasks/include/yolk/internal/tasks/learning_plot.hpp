// SPDX-License-Identifier: Apache-2.0
// Learning curves as a picture.
#pragma once

#include <span>
#include <string>

#include "yolk/internal/tasks/learning_log.hpp"

namespace yolk::tasks {

enum class LearningAxis { Generation, Evaluations, Seconds };

/// A standalone SVG, readable on light and dark pages: the policy's return (solid) and the population's mean (dashed)
/// of every log over the axis, in one colour per log, with a legend. `logs` are all of one kind. Without a finite score
/// the frame is empty. A curve of more points than can be told apart keeps the least and the greatest of each stretch.
[[nodiscard]] std::string learning_plot(std::span<const LearningLog> logs, LearningAxis axis);

}  // namespace yolk::tasks
