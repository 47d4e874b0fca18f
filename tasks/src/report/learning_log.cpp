// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/tasks/learning_log.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>

#include "yolk/configuration.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/writer_lock.hpp"
#include "yolk/json.hpp"

namespace yolk::tasks {
namespace {

/// About a million generations; they are drawn a few pixels wide.
constexpr std::size_t kMaxLogBytes = std::size_t{1} << 28U;
constexpr double kNotInLog = std::numeric_limits<double>::quiet_NaN();

/// What the kinds of log call their fields; nothing where they have none.
struct LogFields {
    const char* generation;
    const char* evaluations;
    const char* per_second;
    const char* mean;
    const char* policy;
};
constexpr LogFields kTrainingFields{"generation", "evaluations", "evaluations_per_second", "mean_return",
                                    "policy_return"};
constexpr LogFields kSystemFields{"generation", "metric_calls", nullptr, "mean", "unperturbed"};
/// Of a search by an earlier version.
constexpr LogFields kOlderSystemFields{"step", "metric_calls", nullptr, "mean", "centre"};
/// Each member is evaluated once per generation.
constexpr LogFields kBytesFields{"generation", nullptr, "members_per_second", nullptr, "bits_per_byte"};

LogFields fields_of(LearningLogKind kind) {
    switch (kind) {
        case LearningLogKind::System: return kSystemFields;
        case LearningLogKind::Bytes: return kBytesFields;
        case LearningLogKind::Training: break;
    }
    return kTrainingFields;
}

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
    log.name = settings[name].get<std::string>();
    log.kind = !trained              ? LearningLogKind::System
               : log.name == "bytes" ? LearningLogKind::Bytes
                                     : LearningLogKind::Training;
    for (const auto& [key, value] : settings.items())
        log.settings.emplace(key, value.is_string() ? value.get<std::string>() : to_line(value));
    const Json population = settings.value("population", Json());
    if (population.is_number_unsigned()) log.population = population.get<std::uint64_t>();
    return {};
}

/// A run over a data set calls its system "network"; its folder's yolk.toml names the data.
void name_data_set(LearningLog& log) {
    const std::filesystem::path described = std::filesystem::path(log.file).replace_filename("yolk.toml");
    std::error_code ignored;
    if (log.kind != LearningLogKind::System || log.name != "network" || !std::filesystem::exists(described, ignored))
        return;
    const Result<Configuration> configuration = read_configuration(described);
    if (configuration) log.name = configuration->learn.source;
}

/// Far above any score or count, and far below what arithmetic on an axis overflows at.
constexpr double kMostLogValue = 1e100;

/// A score that was not finite is written as null.
std::optional<double> log_score(const Json& line, const char* field) {
    if (field == nullptr) return kNotInLog;
    const auto at = line.find(field);
    if (at == line.end()) return std::nullopt;
    if (at->is_null()) return kNotInLog;
    if (!at->is_number()) return std::nullopt;
    const double score = at->get<double>();
    return std::abs(score) <= kMostLogValue ? score : kNotInLog;
}

std::optional<double> log_amount(const Json& line, const char* field) {
    const auto at = line.find(field);
    if (at == line.end() || !at->is_number()) return std::nullopt;
    const double amount = at->get<double>();
    return amount >= 0.0 && amount <= kMostLogValue ? std::optional(amount) : std::nullopt;
}

std::uint64_t log_count(const Json& line, const char* field) {
    const auto at = line.find(field);
    return at != line.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
}

class LogReader {
   public:
    explicit LogReader(LearningLog& log) : log_(log), fields_(fields_of(log.kind)) {
        if (log.kind != LearningLogKind::Bytes) return;
        const auto population = log.settings.find("population");  // a text
        if (population != log.settings.end()) log.population = std::strtoull(population->second.c_str(), nullptr, 10);
        members_ = static_cast<double>(log.population);
    }

    Result<void> add(const Json& line, std::size_t number) {
        if (!line.is_object()) return damaged_log(log_, number, "is not a JSON object");
        if (log_.kind == LearningLogKind::System && is_no_generation(line)) return {};
        if (log_.kind == LearningLogKind::System && line.contains("step")) fields_ = kOlderSystemFields;
        const auto generation = line.find(fields_.generation);
        if (generation == line.end() || !generation->is_number_unsigned())
            return damaged_log(log_, number, fmt::format("has no {}", fields_.generation));
        const auto evaluations =
            fields_.evaluations == nullptr ? std::optional(members_) : log_amount(line, fields_.evaluations);
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
        count(point, *evaluations, *seconds);
        if (fields_.per_second != nullptr) point.per_second = log_amount(line, fields_.per_second).value_or(kNotInLog);
        log_.points.push_back(point);
        if (const auto devices = line.find("devices"); devices != line.end()) add_shares(*devices, point.generation);
        return {};
    }

   private:
    /// A line of totals, of a prompt search, or one that begins another search of numbers.
    bool is_no_generation(const Json& line) {
        const auto stopped = line.find("stopped_by");
        log_.stopped_by = stopped != line.end() && stopped->is_string() ? stopped->get<std::string>() : std::string();
        if (stopped != line.end()) return true;
        const bool of_prompts = line.contains("iteration") && line.contains("kind");
        log_.has_prompts = log_.has_prompts || of_prompts;
        if (of_prompts || line.contains("search")) return true;
        if (!line.contains("optimizer")) return false;
        begin_round(line);
        return true;
    }
    /// Another search of numbers, whose generations count from 0 again.
    void begin_round(const Json& settings) {
        const Json population = settings.value("population", Json());
        if (population.is_number_unsigned()) log_.population = population.get<std::uint64_t>();
        if (!log_.points.empty()) generations_before_ = log_.points.back().generation;
        evaluations_before_ = evaluations_;
    }
    /// Training counts anew in each generation, a system's search goes on counting.
    void count(LearningPoint& point, double evaluations, double seconds) {
        const double before = evaluations_;
        evaluations_ =
            log_.kind == LearningLogKind::System ? evaluations_before_ + evaluations : evaluations_ + evaluations;
        const bool restarted = seconds < last_seconds_;  // a resumed run begins at zero again
        if (restarted) seconds_before_ += last_seconds_;
        const double took = restarted ? seconds : seconds - last_seconds_;
        last_seconds_ = seconds;
        point.evaluations = evaluations_;
        point.seconds = seconds_before_ + seconds;
        point.per_second = took > 0.0 ? (evaluations_ - before) / took : kNotInLog;
    }
    /// What is no list of devices tells nothing.
    void add_shares(const Json& devices, std::uint64_t generation) {
        for (std::size_t i = 0; devices.is_array() && i < devices.size(); ++i) {
            const Json& share = devices[i];
            if (!share.is_object()) continue;
            if (log_.devices.size() <= i) log_.devices.resize(i + 1);
            LoggedDevice& device = log_.devices[i];
            if (share.value("device", Json()).is_string()) device.name = share["device"].get<std::string>();
            device.members += log_count(share, log_.kind == LearningLogKind::System ? "candidates" : "members");
            device.audited += log_count(share, "audited");
            device.chunks += log_count(share, "chunks");
            device.busy_seconds += log_amount(share, "busy_seconds").value_or(0.0);
            if (device.dropped_in == 0 && share.value("dropped", Json()) == Json(true)) device.dropped_in = generation;
        }
    }

    LearningLog& log_;
    LogFields fields_;
    double members_ = 0.0;
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

Result<std::filesystem::path> log_in(const std::filesystem::path& path) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored)) return path;
    std::filesystem::path metrics = path / "metrics.jsonl";
    if (std::filesystem::exists(metrics, ignored)) return metrics;
    return bad_input(
        "'{}' is a folder that has no metrics.jsonl, so it is not that of a run of `yolk train`. Give the folder that "
        "--out named.",
        shown(path));
}

}  // namespace

std::string log_label(const LearningLog& log) {
    const std::filesystem::path path(log.file);
    if (path.filename() == "metrics.jsonl" && path.has_parent_path()) return path.parent_path().string();
    return log.file;
}

std::string_view score_name(LearningLogKind kind) noexcept {
    switch (kind) {
        case LearningLogKind::System: return "reward";
        case LearningLogKind::Bytes: return "bits per byte";
        case LearningLogKind::Training: break;
    }
    return "return";
}

std::string_view evaluations_name(LearningLogKind kind) noexcept {
    return kind == LearningLogKind::System ? "metric calls" : "evaluations";
}

Result<LearningLog> read_learning_log(const std::filesystem::path& path) {
    YOLK_TRY(const std::filesystem::path file, log_in(path));
    LearningLog log{.file = file.string()};
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(file, kMaxLogBytes));
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
    if (!rest.empty()) log.torn_line = number + 1;
    log.being_written = is_being_written(file) || is_being_written(file.parent_path() / ".yolk-lock");
    name_data_set(log);
    return log;
}

}  // namespace yolk::tasks
