// SPDX-License-Identifier: Apache-2.0
#include "yolk/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "bench_section.hpp"
#include "learning_section.hpp"
#include "peer_rows.hpp"
#include "yolk/internal/autotune/report.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/markup.hpp"
#include "yolk/internal/core/page.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/text_file.hpp"
#include "yolk/internal/hyper/text_report.hpp"
#include "yolk/json.hpp"

namespace yolk::tasks {
namespace {

using autotune::RecordedSurface;
using autotune::ShapeReport;

constexpr std::size_t kFirstLineBytes = std::size_t{1} << 16U;
constexpr std::size_t kMostFileBytes = std::size_t{1} << 28U;
constexpr std::size_t kPointsOfAllRuns = 20'000;  // in one figure; the page stays small, however many runs there are
constexpr std::size_t kLeastPoints = 60, kMostPoints = 500;

enum class ReportedKind { Learning, Prompts, Table, Recording, Peers, Bench };

Result<ReportedKind> kind_of(const std::filesystem::path& run) {
    std::error_code ignored;
    if (std::filesystem::is_directory(run, ignored)) return ReportedKind::Learning;
    YOLK_TRY(const std::string beginning, read_beginning(run, kFirstLineBytes));
    if (beginning.empty()) return bad_input("'{}' is empty; there is nothing to report.", shown(run));
    if (beginning.starts_with("SQLite format 3")) return ReportedKind::Table;
    const Json line = parse_json(beginning.substr(0, beginning.find('\n')), "the first line").value_or(Json());
    if (!line.is_object()) return ReportedKind::Recording;
    if (is_peer_row(line)) return ReportedKind::Peers;
    if (is_bench_outcome(line)) return ReportedKind::Bench;
    if (line.contains("search")) return ReportedKind::Prompts;
    if (line.value("settings", Json()).is_object() || line.value("system", Json()).is_string())
        return ReportedKind::Learning;
    return ReportedKind::Recording;
}

/// Everything that was read.
struct Reported {
    std::vector<LearningLog> logs{};
    std::vector<ShapeReport> shapes{};
    std::string prompts{};  ///< sections
    std::string rates{};    ///< sections, of benches and of others beside Yolk
    ReportContents contents{};
};

Result<void> add_prompts(Reported& reported, const std::string& file) {
    YOLK_TRY(const std::string text, read_text(file, kMostFileBytes));
    YOLK_TRY(const std::vector<hyper::TextRunReport> searches,
             hyper::read_text_log(text, fmt::format("'{}'", shown(file))));
    reported.prompts += fmt::format("<section>\n<h2>Prompts of {}</h2>\n", markup_text(file)) +
                        hyper::prompts::report_body(searches, reported.contents.searches) + "</section>\n";
    reported.contents.searches += searches.size();
    for (const hyper::TextRunReport& search : searches) reported.contents.prompts += search.candidates.size();
    return {};
}

Result<void> add_table(Reported& reported, const std::filesystem::path& file) {
    YOLK_TRY(const std::optional<TuningFile> table, TuningFile::open_existing(file));
    if (!table) return bad_input("There is no file '{}'.", shown(file));
    YOLK_TRY(std::vector<ShapeReport> shapes, autotune::table_reports(*table, {}));
    std::ranges::move(shapes, std::back_inserter(reported.shapes));
    return {};
}

Result<void> add_recording(Reported& reported, const std::filesystem::path& file) {
    Result<RecordedSurface> surface = RecordedSurface::read(file);
    if (!surface && surface.error().kind != ErrorKind::BadInput) return surface.error();
    if (!surface) {
        return bad_input(
            "'{}' is nothing that a report shows: neither a run (its folder, its metrics.jsonl, or a log of `yolk "
            "system NAME optimize --log`), nor rows of bench/peers, nor an outcome of `yolk bench --json`, nor a "
            "tuning table. It is no recording of a tuning either: {}",
            shown(file), surface.error().message);
    }
    reported.shapes.push_back(autotune::surface_report(*std::move(surface), file.filename().string()));
    return {};
}

Result<void> add_reported(Reported& reported, const std::filesystem::path& run) {
    YOLK_TRY(const ReportedKind kind, kind_of(run));
    switch (kind) {
        case ReportedKind::Prompts: return add_prompts(reported, run.string());
        case ReportedKind::Table: return add_table(reported, run);
        case ReportedKind::Recording: return add_recording(reported, run);
        case ReportedKind::Peers: {
            YOLK_TRY(const std::string text, read_text(run, kMostFileBytes));
            YOLK_TRY(const std::vector<PeerRow> rows, parse_peer_rows(text, run.string()));
            reported.rates += peer_section(run.filename().string(), rows);
            reported.contents.rows += rows.size();
            return {};
        }
        case ReportedKind::Bench: {
            YOLK_TRY(const std::string text, read_text(run, kMostFileBytes));
            YOLK_TRY(const BenchOutcome outcome, parse_bench_outcome(text, run.string()));
            reported.rates += bench_section(run.filename().string(), outcome);
            reported.contents.bench_rows += outcome.rows.size();
            return {};
        }
        case ReportedKind::Learning: break;
    }
    YOLK_TRY(LearningLog log, read_learning_log(run));
    // Of a system whose prompts alone are searched there is nothing else.
    if (log.has_prompts) YOLK_TRY_VOID(add_prompts(reported, log.file));
    if (!log.points.empty() || !log.has_prompts) reported.logs.push_back(std::move(log));
    return {};
}

Result<Reported> read_reported(std::span<const std::filesystem::path> runs) {
    if (runs.empty()) return bad_input("There is nothing to report; name a run.");
    if (runs.size() > kMostReportedRuns)
        return bad_input("{} runs are given; one page shows at most {}.", runs.size(), kMostReportedRuns);
    Reported reported;
    std::set<std::filesystem::path> seen;
    for (const std::filesystem::path& run : runs) {
        std::error_code failed;
        const std::filesystem::path place = std::filesystem::weakly_canonical(run, failed);
        const bool in_folder = !failed && place.filename() == "metrics.jsonl";
        if (!failed && !seen.insert(in_folder ? place.parent_path() : place).second)
            return bad_input("'{}' is given twice, and would count twice. Name each run once.", shown(run));
        YOLK_TRY_VOID(add_reported(reported, run));
    }
    return reported;
}

/// Logs of one task each, in the order in which they were given.
std::vector<LogList> tasks_of(const std::vector<LearningLog>& logs) {
    std::vector<LogList> tasks;
    for (const LearningLog& log : logs) {
        const auto same = std::ranges::find_if(tasks, [&](const LogList& task) {
            return task.front()->kind == log.kind && task.front()->name == log.name;
        });
        if (same == tasks.end()) {
            tasks.push_back({&log});
        } else {
            same->push_back(&log);
        }
    }
    return tasks;
}

std::string page_of(Reported& reported, const autotune::ReportReplays& replays) {
    const std::vector<LogList> tasks = tasks_of(reported.logs);
    const std::size_t most_points =
        std::clamp(kPointsOfAllRuns / std::max<std::size_t>(reported.logs.size(), 1), kLeastPoints, kMostPoints);
    std::string links;
    std::string body;
    for (std::size_t t = 0; t < tasks.size(); ++t) {
        const std::string& name = tasks[t].front()->name;
        reported.contents.tasks.push_back(name);
        links += fmt::format("{}<a href=\"#task-{}\">{}</a>", links.empty() ? "" : ", ", t + 1, markup_text(name));
        body += learning_section(tasks[t], t + 1, most_points);
    }
    if (!reported.shapes.empty()) body += "<h2>Tuning</h2>\n" + autotune::report_body(reported.shapes, replays);
    body += reported.prompts + reported.rates;
    if (tasks.size() > 1) body = fmt::format("<p>Tasks: {}.</p>\n", links) + body;
    const std::string style = fmt::format("{}{}{}{}{}", learning_style(), autotune::report_style(),
                                          hyper::prompts::report_style(), peer_style(), bench_style());
    return html_page(tasks.size() == 1 ? "Report on " + tasks.front().front()->name : "Report", style, body);
}

}  // namespace

Result<ReportContents> write_report(std::span<const std::filesystem::path> runs, const std::filesystem::path& page,
                                    const ReportOptions& options) {
    YOLK_TRY(Reported reported, read_reported(runs));
    const autotune::ReportReplays replays{.threads = options.threads, .goes_on = options.goes_on};
    for (ShapeReport& shape : reported.shapes) {
        YOLK_TRY_VOID(autotune::add_curves(shape, replays));
        if (options.goes_on && !options.goes_on()) return cancelled("The report was interrupted; nothing was written.");
    }
    reported.contents.runs = reported.logs.size();
    reported.contents.shapes = reported.shapes.size();
    YOLK_TRY_VOID(write_file_atomically(page, page_of(reported, replays)));
    return reported.contents;
}

}  // namespace yolk::tasks
