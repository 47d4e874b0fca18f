// SPDX-License-Identifier: Apache-2.0
#include "plot_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "learning_log.hpp"
#include "output.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"
#include "yolk/prompts.hpp"

namespace yolk::cli {
namespace {

using evolve::LearningAxis;

constexpr std::size_t kMostLogs = 32;
constexpr std::size_t kMostPromptBytes = std::size_t{1} << 30U;

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

/// A name that cannot be one of the logs, nor a folder or device.
Result<void> check_picture_path(const std::string& out) {
    const std::filesystem::path path(out);
    if (path.extension() != ".svg" && !is_page(out)) {
        return bad_input(
            "--out is '{}'; a file name that ends in .svg is needed, or in .html for a page about prompts.",
            shown(out));
    }
    std::error_code code;
    const std::filesystem::file_status status = std::filesystem::status(path, code);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
        return bad_input("--out '{}' is in the way: it is not a regular file. Move it, or choose another name.",
                         shown(out));
    }
    return {};
}

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
            {"kind", log.kind == LearningLogKind::Training ? "train" : "system"},
            {"name", log.name},
            {"population", log.population},
            {"generations", last.generation},
            {"points", log.points.size()},
            {"last_mean", number(last.mean)},
            {"last_policy", number(last.policy)}};
}

/// The prompt searches of one log.
Result<int> write_prompt_page(const PlotFlags& flags) {
    if (flags.files.size() != 1)
        return bad_input("{} files are given; a page about prompts shows one log.", flags.files.size());
    if (flags.across != "generation") return bad_input("--x goes with a picture; a page about prompts has no axis.");
    const std::string& file = flags.files.front();
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(file, kMostPromptBytes));
    YOLK_TRY(const std::vector<hyper::TextRunReport> runs,
             hyper::read_text_log(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                                  fmt::format("'{}'", shown(file))));
    YOLK_TRY_VOID(write_file_atomically(flags.out, hyper::text_report_page(runs, file)));
    std::size_t prompts = 0;
    for (const hyper::TextRunReport& run : runs) prompts += run.candidates.size();
    return print_outcome(
        flags.json, {{"page", flags.out}, {"searches", runs.size()}, {"prompts", prompts}},
        fmt::format("{} prompts of {} search{} in {}", prompts, runs.size(), runs.size() == 1 ? "" : "es", flags.out));
}

Result<int> run_plot(const PlotFlags& flags) {
    YOLK_TRY(const LearningAxis axis, learning_axis(flags.across));
    YOLK_TRY_VOID(check_picture_path(flags.out));
    if (is_page(flags.out)) return write_prompt_page(flags);
    if (flags.files.size() > kMostLogs) {
        return bad_input("{} files are given; one picture shows at most {}.", flags.files.size(), kMostLogs);
    }
    std::vector<LearningLog> logs;
    for (const std::string& file : flags.files) {
        YOLK_TRY(LearningLog log, read_learning_log(file));
        logs.push_back(std::move(log));
    }
    YOLK_TRY_VOID(check_comparable(logs));
    YOLK_TRY_VOID(check_drawable(logs, axis));
    YOLK_TRY_VOID(write_file_atomically(flags.out, evolve::learning_plot(logs, axis)));
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
                   "metrics.jsonl files that train wrote, or logs of `yolk system NAME optimize --log`")
        ->required()
        ->type_name("FILE");
    command
        ->add_option("--out", flags->out,
                     "The picture to write, a name that ends in .svg; or, of a log with prompts, a page: .html")
        ->required()
        ->type_name("FILE");
    command->add_option("--x", flags->across, "Horizontal axis: generation, evaluations or seconds")
        ->default_str("generation")
        ->type_name("AXIS");
    command->add_flag("--json", flags->json, "Standard output is one JSON object");
    return {command, [flags] { return run_plot(*flags); }};
}

}  // namespace yolk::cli
