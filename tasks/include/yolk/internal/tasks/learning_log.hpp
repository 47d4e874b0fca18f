// SPDX-License-Identifier: Apache-2.0
// The logs that training and optimizing write, read back as curves.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "yolk/result.hpp"

namespace yolk::tasks {

/// One generation of training, or one step of a system's search. A score that was not finite is NaN.
struct LearningPoint {
    std::uint64_t generation = 0;  ///< counted from 1
    double evaluations = 0.0;      ///< in all, up to and with this one; of a system its metric calls
    double seconds = 0.0;          ///< since the start; the processes of a resumed run are added up
    double per_second = 0.0;       ///< evaluations, in this generation; NaN where the log does not tell
    double mean = 0.0;             ///< of the population; NaN in a log of bytes
    double policy = 0.0;           ///< of the unperturbed policy, or of a system's mean
};

enum class LearningLogKind { Training, System, Bytes };

/// What a device of several did over all generations of a log.
struct LoggedDevice {
    std::string name{};
    std::uint64_t members = 0;
    std::uint64_t audited = 0;  ///< of other devices' members
    std::uint64_t chunks = 0;
    double busy_seconds = 0.0;
    std::uint64_t dropped_in = 0;  ///< the generation, counted from 1; 0: never
};

struct LearningLog {
    std::string file{};  ///< as it was given, or the metrics.jsonl of a folder that was given
    LearningLogKind kind = LearningLogKind::Training;
    std::string name{};                             ///< of the task, the system or the data set
    std::uint64_t population = 0;                   ///< 0 where the log does not say
    std::map<std::string, std::string> settings{};  ///< as the first line has them: JSON, a text without its quotes
    std::vector<LearningPoint> points{};            ///< generations ascending; none in a run that has just begun
    std::vector<LoggedDevice> devices{};            ///< of a run on several
    std::string stopped_by{};                       ///< of a system's search that has ended
    bool being_written = false;                     ///< a process holds the log or its folder
    std::size_t torn_line = 0;                      ///< the last one, which is incomplete and left out; 0: none is
    bool has_prompts = false;                       ///< scored ones, of a search by turns with the search of numbers
};

/// What a user would call it: "runs/seed1" for "runs/seed1/metrics.jsonl".
[[nodiscard]] std::string log_label(const LearningLog& log);
/// What its scores are: "return", "reward" or "bits per byte".
[[nodiscard]] std::string_view score_name(LearningLogKind kind) noexcept;
/// What it counts: "evaluations" or "metric calls".
[[nodiscard]] std::string_view evaluations_name(LearningLogKind kind) noexcept;

/// Reads a metrics.jsonl of `yolk train` (or the folder that it is in), or a log that `yolk system NAME optimize --log`
/// wrote. A last line without its newline is one that a run is writing, or that it was killed in: it is left out.
/// Errors: a file that cannot be read, is empty, is neither of the two, or is damaged (which line, and what is wrong
/// with it); a folder without a metrics.jsonl.
[[nodiscard]] Result<LearningLog> read_learning_log(const std::filesystem::path& path);

}  // namespace yolk::tasks
