// SPDX-License-Identifier: Apache-2.0
#include "learning_log.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk::cli {
namespace {

/// About a million generations; they are drawn a few pixels wide.
constexpr std::size_t kMaxLogBytes = std::size_t{1} << 28U;

/// What the two kinds of log call their fields.
struct LogFields {
    const char* generation;
    const char* evaluations;
    const char* mean;
    const char* policy;
};
constexpr LogFields kTrainingFields{"generation", "evaluations", "mean_return", "policy_return"};
constexpr LogFields kSystemFields{"generation", "metric_calls", "mean", "unperturbed"};
/// Of a search by an earlier version.
constexpr LogFields kOlderSystemFields{"step", "metric_calls", "mean", "centre"};

Error foreign_log(const LearningLog& log) {
    return bad_input(
        "'{}' is neither a metrics.jsonl that `yolk train` wrote nor a log of `yolk system NAME optimize "
        "--log`: its first line has the settings of neither.",
        shown(log.file));
}

Error damaged_log(const LearningLog& log, std::size_t line, std::string_view reason) {
    return bad_input("'{}' is damaged: line {} {}. Nothing was drawn; remove that line, or draw another file.",
                     shown(log.file), line, reason);
}

/// From the first line: which kind of log this is, and of what.
Result<void> read_log_settings(LearningLog& log, const Json& line) {
    if (!line.is_object()) return foreign_log(log);
    const bool trained = line.contains("settings");
    const Json& settings = trained ? line["settings"] : line;
    const char* const name = trained ? "task" : "system";
    if (!settings.is_object() || !settings.contains(name) || !settings[name].is_string()) return foreign_log(log);
    log.kind = trained ? LearningLogKind::Training : LearningLogKind::System;
    log.name = settings[name].get<std::string>();
    const Json population = settings.value("population", Json());
    if (population.is_number_unsigned()) log.population = population.get<std::uint64_t>();
    return {};
}

/// Far above any score or count, and far below what arithmetic on an axis overflows at.
constexpr double kMostLogValue = 1e100;

/// A score that was not finite is written as null.
std::optional<double> log_score(const Json& line, const char* field) {
    const auto at = line.find(field);
    if (at == line.end()) return std::nullopt;
    if (at->is_null()) return std::numeric_limits<double>::quiet_NaN();
    if (!at->is_number()) return std::nullopt;
    const double score = at->get<double>();
    return std::abs(score) <= kMostLogValue ? score : std::numeric_limits<double>::quiet_NaN();
}

std::optional<double> log_amount(const Json& line, const char* field) {
    const auto at = line.find(field);
    if (at == line.end() || !at->is_number()) return std::nullopt;
    const double amount = at->get<double>();
    return amount >= 0.0 && amount <= kMostLogValue ? std::optional(amount) : std::nullopt;
}

class LogReader {
   public:
    explicit LogReader(LearningLog& log)
        : log_(log), fields_(log.kind == LearningLogKind::Training ? kTrainingFields : kSystemFields) {}

    /// The last line of a system's log holds totals; it is not a generation.
    Result<void> add(const Json& line, std::size_t number) {
        if (!line.is_object()) return damaged_log(log_, number, "is not a JSON object");
        if (log_.kind == LearningLogKind::System && (line.contains("stopped_by") || is_of_prompts(line))) return {};
        if (log_.kind == LearningLogKind::System && line.contains("optimizer")) {
            begin_round(line);
            return {};
        }
        if (log_.kind == LearningLogKind::System && line.contains("step")) fields_ = kOlderSystemFields;
        const auto generation = line.find(fields_.generation);
        if (generation == line.end() || !generation->is_number_unsigned())
            return damaged_log(log_, number, fmt::format("has no {}", fields_.generation));
        const auto evaluations = log_amount(line, fields_.evaluations);
        const auto seconds = log_amount(line, "seconds");
        const auto mean = log_score(line, fields_.mean);
        const auto policy = log_score(line, fields_.policy);
        if (!evaluations || !seconds || !mean || !policy) {
            return damaged_log(log_, number,
                               fmt::format("has no {}", !evaluations ? fields_.evaluations
                                                        : !seconds   ? "seconds"
                                                        : !mean      ? fields_.mean
                                                                     : fields_.policy));
        }
        LearningPoint point{
            .generation = generations_before_ + generation->get<std::uint64_t>() + 1, .mean = *mean, .policy = *policy};
        if (!log_.points.empty() && point.generation <= log_.points.back().generation) {
            return damaged_log(
                log_, number,
                fmt::format("is of {} {}, which an earlier line has passed", fields_.generation, point.generation - 1));
        }
        // Training counts anew in each generation, a system's search goes on counting.
        evaluations_ =
            log_.kind == LearningLogKind::Training ? evaluations_ + *evaluations : evaluations_before_ + *evaluations;
        if (*seconds < last_seconds_) seconds_before_ += last_seconds_;  // a resumed run begins at zero again
        last_seconds_ = *seconds;
        point.evaluations = evaluations_;
        point.seconds = seconds_before_ + *seconds;
        log_.points.push_back(point);
        return {};
    }

   private:
    /// Of a prompt search that goes by turns with the search of numbers.
    static bool is_of_prompts(const Json& line) {
        return line.contains("search") || (line.contains("iteration") && line.contains("kind"));
    }
    /// Another search of numbers, whose generations count from 0 again.
    void begin_round(const Json& settings) {
        const Json population = settings.value("population", Json());
        if (population.is_number_unsigned()) log_.population = population.get<std::uint64_t>();
        if (!log_.points.empty()) generations_before_ = log_.points.back().generation;
        evaluations_before_ = evaluations_;
    }

    LearningLog& log_;
    LogFields fields_;
    std::uint64_t generations_before_ = 0;
    double evaluations_before_ = 0.0;
    double evaluations_ = 0.0;
    double seconds_before_ = 0.0;
    double last_seconds_ = 0.0;
};

/// The next whole line, without its newline; nothing where none is left.
std::optional<std::string_view> next_log_line(std::string_view& rest) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return line;
}

}  // namespace

Result<LearningLog> read_learning_log(const std::filesystem::path& path) {
    LearningLog log{.file = path.string()};
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(path, kMaxLogBytes));
    std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (rest.empty()) return bad_input("'{}' is empty; there is nothing to draw.", shown(log.file));
    const std::optional<std::string_view> first = next_log_line(rest);
    if (!first) return foreign_log(log);
    YOLK_TRY_VOID(read_log_settings(log, parse_json(*first, "the first line").value_or(nullptr)));
    LogReader reader(log);
    std::size_t number = 1;
    for (auto text = next_log_line(rest); text; text = next_log_line(rest)) {
        const Result<Json> line = parse_json(*text, fmt::format("'{}', line {}", shown(log.file), ++number));
        if (!line)
            return bad_input("{} Nothing was drawn; remove that line, or draw another file.", line.error().message);
        YOLK_TRY_VOID(reader.add(*line, number));
    }
    if (!rest.empty()) {
        log_info(fmt::format("'{}': line {} is incomplete (a run is writing it, or was killed in it) and is left out.",
                             shown(log.file), number + 1));
    }
    if (log.points.empty()) {
        return bad_input("'{}' has settings but no generation yet; draw it after the first generation.",
                         shown(log.file));
    }
    return log;
}

}  // namespace yolk::cli
