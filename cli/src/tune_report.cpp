// SPDX-License-Identifier: Apache-2.0
#include "tune_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "interrupt.hpp"
#include "numbers.hpp"
#include "output.hpp"
#include "yolk/autotune/report.hpp"
#include "yolk/autotune/tune_live.hpp"
#include "yolk/core/file.hpp"
#include "yolk/oracle/shape_problem.hpp"
#include "yolk/runtime/instance.hpp"

namespace yolk::cli {
namespace {

using autotune::KnownShape;
using autotune::ReportReplays;
using autotune::ShapeReport;
using autotune::TuningFile;

constexpr std::uint32_t kMostRepeats = 10'000;
constexpr std::size_t kTableRepeats = 30;  // a search on few configurations; there are many shapes

Result<ReportReplays> replays_of(const ReportFlags& report, const SurfaceFlags& surface) {
    ReportReplays replays{.repeats = surface.repeats,
                          .budget = surface.budget,
                          .seed = surface.seed,
                          .threads = surface.threads,
                          .goes_on = [] { return !InterruptGuard::requested(); }};
    if (surface.surface.empty() && report.repeats->count() == 0) replays.repeats = kTableRepeats;
    if (replays.repeats == 0 || replays.repeats > kMostRepeats)
        return bad_input(fmt::format("--repeats is {}; 1 to {} are allowed.", replays.repeats, kMostRepeats));
    if (surface.budget == 0) return bad_input("--budget is 0; at least 1 measurement is needed.");
    if (!surface.step.empty()) {
        YOLK_TRY(replays.settings.step, autotune::step_of(surface.step));
    }
    if (surface.learning_rate > 0.0F) replays.settings.learning_rate = double{surface.learning_rate};
    if (report.strategy->count() == 0) return replays;
    const auto names = autotune::strategy_names();
    for (const std::string_view name : split_commas(surface.strategy)) {
        if (std::ranges::find(names, name) == names.end()) {
            return bad_input(fmt::format("There is no strategy '{}'; there are {}.", name, fmt::join(names, ", ")));
        }
        replays.strategies.emplace_back(name);
    }
    return replays;
}

/// The devices that are here, by what tables know them by. No driver is no error: then the page says less.
std::vector<DeviceInfo> devices_here() {
    const Result<Instance> instance = Instance::create();
    if (!instance) return {};
    return {instance->devices().begin(), instance->devices().end()};
}

std::optional<KnownShape> known_shape(const autotune::TuningKey& key, const std::vector<DeviceInfo>& devices) {
    const auto device =
        std::ranges::find_if(devices, [&](const DeviceInfo& info) { return autotune::device_key(info) == key.device; });
    if (device == devices.end()) return std::nullopt;
    const auto problem = oracle::make_shape_problem(*device, key.family, key.shape);
    if (!problem) return std::nullopt;
    return KnownShape{(*problem)->space(*device), (*problem)->default_configuration(*device)};
}

Result<std::vector<ShapeReport>> table_reports() {
    const std::filesystem::path path = autotune::default_table_path();
    YOLK_TRY(const std::optional<TuningFile> file, TuningFile::open_existing(path));
    if (!file) {
        return bad_input(fmt::format(
            "There is no tuning table '{}' to report on; `yolk tune` makes it, or --surface FILE names a recording.",
            path.string()));
    }
    YOLK_TRY(const std::vector<autotune::TuningKey> keys, file->keys());
    YOLK_TRY(const std::vector<autotune::TuningChoice> choices, file->choices());
    YOLK_TRY(const std::vector<autotune::Quarantined> quarantined, file->quarantined());
    const std::vector<DeviceInfo> devices = devices_here();
    std::vector<ShapeReport> reports;
    for (const autotune::TuningKey& key : keys) {
        YOLK_TRY(const std::vector<autotune::TuningSample> samples, file->samples(key));
        const auto choice = std::ranges::find(choices, key, &autotune::TuningChoice::key);
        const std::optional<KnownShape> known = known_shape(key, devices);
        reports.push_back(autotune::shape_report(
            key, samples, quarantined, choice == choices.end() ? nullptr : &*choice, known ? &*known : nullptr));
    }
    return reports;
}

Result<std::vector<ShapeReport>> surface_reports(const std::string& path) {
    YOLK_TRY(autotune::RecordedSurface surface, autotune::RecordedSurface::read(path));
    std::vector<ShapeReport> reports;
    reports.push_back(autotune::surface_report(std::move(surface), std::filesystem::path(path).filename().string()));
    return reports;
}

}  // namespace

void add_report_flags(App& app, ReportFlags& flags) {
    app.add_option("--report", flags.file,
                   "Write a page about what the table (or the --surface) holds: cost by knob, choices, failures, and "
                   "how the strategies (--strategy a,b; default all) would have fared")
        ->type_name("FILE");
    flags.strategy = app.option("--strategy");
    flags.repeats = app.option("--repeats");
}

Result<int> tune_report(const ReportFlags& report, const SurfaceFlags& surface, const CommonFlags& common) {
    YOLK_TRY(const ReportReplays replays, replays_of(report, surface));
    auto reports = surface.surface.empty() ? table_reports() : surface_reports(surface.surface);
    if (!reports) return reports.error();
    const InterruptGuard interrupt;
    const bool live = output_is_terminal() && !common.json && !common.quiet;
    std::size_t measured = 0;
    for (std::size_t s = 0; s < reports->size(); ++s) {
        if (live) {
            fmt::print("\r\033[Kreplaying shape {} of {}", s + 1, reports->size());
            std::fflush(stdout);
        }
        YOLK_TRY_VOID(autotune::add_curves((*reports)[s], replays));
        measured += (*reports)[s].measured;
        if (InterruptGuard::requested()) return bad_input("The report was interrupted; nothing was written.");
    }
    if (live) fmt::print("\r\033[K");
    YOLK_TRY_VOID(write_file_atomically(report.file, autotune::report_page(*reports, replays)));
    if (common.json) {
        print_json({{"report", report.file}, {"shapes", reports->size()}, {"configurations", measured}});
    } else {
        print_line(
            fmt::format("{} shapes with {} measured configurations in {}", reports->size(), measured, report.file));
    }
    return 0;
}

}  // namespace yolk::cli
