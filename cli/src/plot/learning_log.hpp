// SPDX-License-Identifier: Apache-2.0
// The logs that training and optimizing write, read back as curves.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "yolk/result.hpp"

namespace yolk::cli {

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

/// Reads a metrics.jsonl of `yolk train`, or a log that `yolk system NAME optimize --log` wrote. A last line without
/// its newline is one that a run is writing, or that it was killed in: it is left out with a notice. Errors: a file
/// that cannot be read, is empty, is neither of the two, has no generation yet, or is damaged (which line, and what is
/// wrong with it).
[[nodiscard]] Result<LearningLog> read_learning_log(const std::filesystem::path& path);

}  // namespace yolk::cli
