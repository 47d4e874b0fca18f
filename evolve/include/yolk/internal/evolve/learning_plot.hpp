// SPDX-License-Identifier: Apache-2.0
// Learning curves as a picture: of logs, and of a run's history.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace yolk::evolve {

/// One generation of training, or one step of a system's search. A score that was not finite is NaN.
struct LearningPoint {
    std::uint64_t generation = 0;  ///< counted from 1
    double evaluations = 0.0;      ///< in all, up to and with this one; of a system its metric calls
    double seconds = 0.0;          ///< since the start; the processes of a resumed run are added up
    double mean = 0.0;             ///< of the population
    double policy = 0.0;           ///< of the unperturbed policy, or of a system's mean
};

enum class LearningLogKind { Training, System };

struct LearningLog {
    std::string file{};  ///< as it was given
    LearningLogKind kind = LearningLogKind::Training;
    std::string name{};                   ///< of the task or the system
    std::uint64_t population = 0;         ///< 0 where the log does not say
    std::vector<LearningPoint> points{};  ///< at least one, generations ascending
};

enum class LearningAxis { Generation, Evaluations, Seconds };

/// A standalone SVG, readable on light and dark pages: the policy's return (solid) and the population's mean (dashed)
/// of every log over the axis, in one colour per log, with a legend. `logs` are all of one kind. Without a finite score
/// the frame is empty. A curve of more points than can be told apart keeps the least and the greatest of each stretch.
[[nodiscard]] std::string learning_plot(std::span<const LearningLog> logs, LearningAxis axis);

}  // namespace yolk::evolve
