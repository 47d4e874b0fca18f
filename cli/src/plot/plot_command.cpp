// SPDX-License-Identifier: Apache-2.0
#include "plot_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "output.hpp"
#include "report_command.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/tasks/learning_plot.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk::cli {
namespace {

using tasks::LearningAxis;
using tasks::LearningLog;
using tasks::LearningLogKind;
using tasks::LearningPoint;

constexpr std::size_t kMostLogs = 32;

struct PlotFlags {
    std::vector<std::string> files;
    std::string out;
    std::string across = "generation";
    bool json = false;
};

Result<LearningAxis> learning_axis(std::string_view name) {
    if (name == "generation") return LearningAxis::Generation;
    if (name == "evaluations") return LearningAxis::Evaluations;
    if (name == "seconds") return LearningAxis::Seconds;
    return bad_input("There is no axis '{}'; there are generation, evaluations and seconds.", shown(name));
}

bool is_page(const std::string& out) { return std::filesystem::path(out).extension() == ".html"; }

/// Scores of different tasks do not belong on one axis.
Result<void> check_comparable(const std::vector<LearningLog>& logs) {
    for (const LearningLog& log : logs) {
        if (log.kind == logs.front().kind && log.name == logs.front().name) continue;
        return bad_input(
            "'{}' is of '{}' and '{}' of '{}', whose scores cannot share an axis. Draw them in two pictures.",
            shown(logs.front().file), shown(logs.front().name), shown(log.file), shown(log.name));
    }
    return {};
}

Result<void> check_drawable(const std::vector<LearningLog>& logs, LearningAxis axis) {
    for (const LearningLog& log : logs) {
        if (log.points.empty()) {
            return bad_input("'{}' has settings but no generation yet; draw it after the first generation.",
                             shown(log.file));
        }
        const bool finite = std::ranges::any_of(
            log.points, [](const LearningPoint& p) { return std::isfinite(p.mean) || std::isfinite(p.policy); });
        if (!finite) return bad_input("'{}' has no finite score; there is nothing to draw.", shown(log.file));
        if (axis != LearningAxis::Generation && log.points.front().generation != 1) {
            return bad_input(
                "'{}' begins with generation {}, so what went before cannot be counted. Draw it with --x generation.",
                shown(log.file), log.points.front().generation);
        }
    }
    return {};
}

Json log_json(const LearningLog& log) {
    const LearningPoint& last = log.points.back();
    const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
    return {{"file", log.file},
            {"kind", log.kind == LearningLogKind::System ? "system" : "train"},
            {"name", log.name},
            {"population", log.population},
            {"generations", last.generation},
            {"points", log.points.size()},
            {"last_mean", number(last.mean)},
            {"last_policy", number(last.policy)}};
}

Result<int> run_plot(const PlotFlags& flags) {
    YOLK_TRY(const LearningAxis axis, learning_axis(flags.across));
    if (is_page(flags.out)) {
        if (axis != LearningAxis::Generation) return bad_input("--x goes with a picture; a page has all three axes.");
        return write_report_page(flags.files, flags.out, flags.json);
    }
    YOLK_TRY_VOID(check_output_name(flags.out, ".svg", " (or in .html, for a page)"));
    if (flags.files.size() > kMostLogs) {
        return bad_input("{} files are given; one picture shows at most {}.", flags.files.size(), kMostLogs);
    }
    std::vector<LearningLog> logs;
    for (const std::string& file : flags.files) {
        YOLK_TRY(LearningLog log, tasks::read_learning_log(file));
        if (log.torn_line > 0) {
            log_info(
                fmt::format("'{}': line {} is incomplete (a run is writing it, or was killed in it) and is left "
                            "out.",
                            shown(log.file), log.torn_line));
        }
        logs.push_back(std::move(log));
    }
    YOLK_TRY_VOID(check_comparable(logs));
    YOLK_TRY_VOID(check_drawable(logs, axis));
    YOLK_TRY_VOID(write_file_atomically(flags.out, tasks::learning_plot(logs, axis)));
    Json files = Json::array();
    for (const LearningLog& log : logs) files.push_back(log_json(log));
    return print_outcome(
        flags.json, {{"plot", flags.out}, {"x", flags.across}, {"files", files}},
        fmt::format("{} run{} of {} in {}", logs.size(), logs.size() == 1 ? "" : "s", logs.front().name, flags.out));
}

}  // namespace

Command add_plot_command(App& app) {
    const auto flags = std::make_shared<PlotFlags>();
    App* command = app.add_subcommand("plot", "Draw learning curves from the logs of finished or running work");
    command
        ->add_list("files", flags->files,
                   "Folders or metrics.jsonl files that train wrote, or logs of `yolk system NAME optimize --log`")
        ->required()
        ->type_name("RUN");
    command
        ->add_option("--out", flags->out,
                     "The picture to write, a name that ends in .svg; or .html, for the page that report writes")
        ->required()
        ->type_name("FILE");
    command->add_option("--x", flags->across, "Horizontal axis: generation, evaluations or seconds")
        ->default_str("generation")
        ->type_name("AXIS");
    command->add_flag("--json", flags->json, "Standard output is one JSON object");
    return {command, [flags] { return run_plot(*flags); }};
}

}  // namespace yolk::cli
