// SPDX-License-Identifier: Apache-2.0
#include "tune_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "interrupt.hpp"
#include "output.hpp"
#include "tune_flags.hpp"
#include "tune_surface.hpp"
#include "yolk/context.hpp"
#include "yolk/internal/autotune/report.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/runtime/instance.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {
namespace {

using autotune::ReportReplays;
using autotune::ShapeReport;

constexpr std::uint32_t kMostReportRepeats = 10'000;
constexpr std::uint32_t kTableRepeats = 30;  // a search on few configurations; there are many shapes
constexpr std::uint32_t kSurfaceRepeats = 100;

struct ReportTuning {
    std::filesystem::path page;
    std::filesystem::path surface;
    autotune::RecordingOptions recording;
    std::vector<std::string> strategies;  ///< empty: all
    autotune::StrategySettings settings;
    std::optional<std::uint32_t> repeats;
    std::uint32_t budget = 200;
    std::uint64_t seed = 1;
    std::uint32_t threads = 0;
    CommonFlags common;
};

Result<std::vector<std::string>> parse_strategies(std::string_view text) {
    std::vector<std::string> names;
    for (const std::string_view part : split_commas(text)) {
        YOLK_TRY(names.emplace_back(), parse_strategy(part));
    }
    return names;
}

Result<ReportReplays> replays_of(const ReportTuning& flags) {
    const std::uint32_t repeats = flags.repeats.value_or(flags.surface.empty() ? kTableRepeats : kSurfaceRepeats);
    if (repeats == 0 || repeats > kMostReportRepeats)
        return bad_input("--repeats is {}; 1 to {} are allowed.", repeats, kMostReportRepeats);
    if (flags.budget == 0) return bad_input("--budget is 0; at least 1 measurement is needed.");
    return ReportReplays{.strategies = flags.strategies,
                         .repeats = repeats,
                         .budget = flags.budget,
                         .seed = flags.seed,
                         .threads = flags.threads,
                         .settings = flags.settings,
                         .goes_on = [] { return !InterruptGuard::requested(); }};
}

/// The devices that are here, by what tables know them by. No driver is no error: then the page says less.
std::vector<DeviceInfo> devices_here() {
    const Result<Instance> instance = Instance::create();
    if (!instance) return {};
    return {instance->devices().begin(), instance->devices().end()};
}

/// Opens each device when it is first asked about; nothing runs on it.
autotune::PlanInspector inspector() {
    const auto opened = std::make_shared<std::map<std::uint32_t, Context>>();
    return [opened](const DeviceInfo& info, const oracle::Problem& problem,
                    const Configuration& configuration) -> Result<autotune::InspectedPlan> {
        auto at = opened->find(info.index);
        if (at == opened->end()) {
            YOLK_TRY(Context context, Context::create({.device = std::to_string(info.index),
                                                       .tuning = false,
                                                       .may_not_execute = true,
                                                       .pipeline_capture = PipelineCapture::Statistics}));
            at = opened->emplace(info.index, std::move(context)).first;
        }
        return autotune::inspect_plan(at->second.device(), problem, configuration);
    };
}

Result<std::vector<ShapeReport>> reports_of_table() {
    YOLK_TRY(const std::filesystem::path path, table_path());
    YOLK_TRY(const std::optional<TuningFile> file, TuningFile::open_existing(path));
    if (!file) {
        return bad_input(
            "There is no tuning table '{}' to report on; `yolk tune` makes it, or --surface FILE names a recording.",
            shown(path));
    }
    return autotune::table_reports(*file, devices_here(), inspector());
}

Result<std::vector<ShapeReport>> reports_of_surface(const std::filesystem::path& path,
                                                    const autotune::RecordingOptions& options) {
    YOLK_TRY(autotune::RecordedSurface surface, autotune::RecordedSurface::read(path, options));
    std::vector<ShapeReport> reports;
    reports.push_back(autotune::surface_report(std::move(surface), path.filename().string()));
    return reports;
}

Result<int> write_report(const ReportTuning& flags) {
    YOLK_TRY(const ReportReplays replays, replays_of(flags));
    YOLK_TRY(std::vector<ShapeReport> reports,
             flags.surface.empty() ? reports_of_table() : reports_of_surface(flags.surface, flags.recording));
    const InterruptGuard interrupt;
    const StatusLine status(!flags.common.json && !flags.common.quiet);
    std::size_t measured = 0;
    for (std::size_t s = 0; s < reports.size(); ++s) {
        status.show(fmt::format("replaying shape {} of {}", s + 1, reports.size()));
        YOLK_TRY_VOID(autotune::add_curves(reports[s], replays));
        measured += reports[s].measured;
        if (InterruptGuard::requested()) return cancelled("The report was interrupted; nothing was written.");
    }
    status.finish();
    YOLK_TRY_VOID(write_file_atomically(flags.page, autotune::report_page(reports, replays)));
    const std::string page = flags.page.string();
    return print_outcome(
        flags.common.json, {{"report", page}, {"shapes", reports.size()}, {"configurations", measured}},
        fmt::format("{} shapes with {} measured configurations in {}", reports.size(), measured, page));
}

}  // namespace

Command add_tune_report(App& tune) {
    const auto flags = std::make_shared<ReportTuning>();
    App* const command = tune.add_subcommand("report",
                                             "Write a page about the tuning table: cost by knob, choices, failures, "
                                             "and how the strategies would have fared");
    command->add_option("page", flags->page, "The page, HTML without scripts")->required()->type_name("FILE");
    command->add_option("--surface", flags->surface, "About a recording instead of the table")->type_name("FILE");
    add_recording_flags(*command, flags->recording);
    add_parsed(*command, "--strategy", flags->strategies, "Strategies to replay, separated by commas",
               &parse_strategies)
        ->type_name("NAMES")
        ->default_str("all");
    const auto follows_gradient = [&names = flags->strategies] {
        return names.empty() || std::ranges::any_of(names, [](const std::string& name) {
                   return name == "eggroll" || name == "smoothed";
               });
    };
    command->group({"goes with --strategy eggroll or smoothed", follows_gradient},
                   [&] { add_gradient_flags(*command, flags->settings); });
    add_number(*command, "--budget", flags->budget, "Measurements of a search at most")->default_str("200");
    const auto parse_repeats = [](std::string_view text) { return parse_number<std::uint32_t>(text); };
    add_parsed(*command, "--repeats", flags->repeats, "Searches of a strategy on a shape", parse_repeats)
        ->type_name("COUNT")
        ->default_str("30; 100 with --surface");
    add_number(*command, "--seed", flags->seed, "Of the first search")->default_str("1");
    add_number(*command, "--threads", flags->threads, "Searches at the same time; the results do not depend on it")
        ->default_str("all");
    add_output_flags(*command, flags->common);
    return {command, [flags] { return write_report(*flags); }};
}

}  // namespace yolk::cli
