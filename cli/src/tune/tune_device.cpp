// SPDX-License-Identifier: Apache-2.0
#include "tune_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "interrupt.hpp"
#include "output.hpp"
#include "select_device.hpp"
#include "tune_flags.hpp"
#include "yolk/internal/context/tuning_transfer.hpp"
#include "yolk/internal/core/host_work.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"
#include "yolk/tune.hpp"

namespace yolk::cli {
namespace {

using autotune::TuneDeviceOutcome;
using autotune::TunedShape;

struct DeviceTuning {
    autotune::TuningJob job;
    SearchFlags search;
    AlgebraFlags algebra;
    CommonFlags common;
};

/// Nothing where one of the two has no time.
std::optional<double> speed_up_of(const TuningChoice& choice) {
    if (!(choice.milliseconds > 0.0) || !(choice.heuristic_milliseconds > 0.0)) return std::nullopt;
    return choice.heuristic_milliseconds / choice.milliseconds;
}

Json choice_json(const std::string& shape, const TuningChoice& choice) {
    const double tuned = choice.milliseconds;
    return {{"shape", shape},
            {"family", choice.key.family},
            {"default_milliseconds", choice.plain_milliseconds > 0.0 ? Json(choice.plain_milliseconds) : Json()},
            {"heuristic_milliseconds", choice.heuristic_milliseconds},
            {"tuned_milliseconds", tuned},
            {"speed_up", speed_up_of(choice) ? Json(*speed_up_of(choice)) : Json()},
            {"spread", choice.spread},
            {"evaluations", choice.evaluations},
            {"configuration", configuration_json(choice.configuration)}};
}

Json shape_json(const TunedShape& shape) {
    if (!shape.choice)
        return {{"shape", shape.shape}, {"measured", 0}, {"error", shape.error}, {"too_late", shape.too_late}};
    Json json = choice_json(shape.shape, *shape.choice);
    json["measured"] = shape.search ? shape.search->measured : 0;
    if (!shape.search) return json;
    json["rejected"] = shape.search->rejected;
    json["replaced"] = shape.search->replaced;
    json["found"] = shape.search->found;
    json["interrupted"] = shape.search->interrupted;
    return json;
}

Json device_tuning_json(const DeviceInfo& info, const TuneDeviceOutcome& outcome) {
    Json shapes = Json::array();
    for (const TunedShape& shape : outcome.shapes) shapes.push_back(shape_json(shape));
    Json left_out = Json::array();
    for (const autotune::SkippedShape& entry : outcome.skipped)
        left_out.push_back({{"shape", entry.shape}, {"reason", entry.reason}});
    // Without a shape there is no speed-up to print.
    const auto mean = [&outcome](double value) { return outcome.compared > 0 ? Json(value) : Json(); };
    Json json{{"tune", "live"},
              {"device", info.name},
              {"driver", driver_text(info)},
              {"table", outcome.table.string()},
              {"measured", outcome.measured},
              {"seconds", outcome.seconds},
              {"speed_up", mean(outcome.speed_up)},
              {"median_speed_up", mean(outcome.median_speed_up)},
              {"summed_speed_up", mean(outcome.summed_speed_up)},
              {"compared", outcome.compared},
              {"searched", outcome.searched},
              {"found", outcome.found},
              {"heuristic_of_tuned", mean(outcome.heuristic_of_tuned)},
              {"skipped", std::move(left_out)},
              {"shapes", std::move(shapes)}};
    add_algebra_to(json, outcome.algebra);
    return json;
}

std::vector<std::string> row_of(const TunedShape& shape) {
    const auto milliseconds = [](double value) { return value > 0.0 ? fmt::format("{:.4g}", value) : "-"; };
    const TuningChoice none;
    const TuningChoice& choice = shape.choice ? *shape.choice : none;
    const bool there = choice.milliseconds > 0.0;
    return {shape.shape,
            milliseconds(choice.plain_milliseconds),
            milliseconds(choice.heuristic_milliseconds),
            milliseconds(choice.milliseconds),
            speed_up_of(choice) ? fmt::format("{:.2f}x", *speed_up_of(choice)) : "-",
            there ? fmt::format("{:.1f} %", 100.0 * choice.spread) : "-",
            fmt::format("{}", choice.evaluations),
            fmt::format("{}", shape.search ? shape.search->measured : 0)};
}

void print_device_tuning(const TuneDeviceOutcome& outcome) {
    std::vector<std::vector<std::string>> rows{
        {"shape", "default ms", "heuristic ms", "tuned ms", "speed-up", "spread", "evaluations", "measured now"}};
    for (const TunedShape& shape : outcome.shapes) rows.push_back(row_of(shape));
    print_line(table(rows));
    for (const TunedShape& shape : outcome.shapes) {
        if (!shape.error.empty()) print_line("{}: {}", shape.shape, shape.error);
        if (shape.too_late && !shape.choice) print_line("{}: no time was left; the next run continues", shape.shape);
    }
    for (const autotune::SkippedShape& entry : outcome.skipped) print_line("skipped {}: {}", entry.shape, entry.reason);
    if (outcome.compared > 0) {
        print_line(
            "over the heuristic {:.2f}x in the geometric mean of {} shapes, {:.2f}x in the median, {:.2f}x in summed "
            "time",
            outcome.speed_up, outcome.compared, outcome.median_speed_up, outcome.summed_speed_up);
    } else {
        print_line("No shape has both a tuned time and one of the heuristic, so there is no speed-up to tell.");
    }
    if (outcome.searched > 0) {
        print_line(
            "for {} of {} shapes searched now the strategy found something faster than all that was known before",
            outcome.found, outcome.searched);
    }
    print_line("{} evaluations in {}; kept in {}", outcome.measured, duration_text(outcome.seconds),
               shown(outcome.table));
    print_algebra(outcome.algebra);
}

autotune::TuneDeviceOptions tuning_options(const DeviceTuning& flags, const SearchProgress& progress) {
    const bool lines = !flags.common.json && !flags.common.quiet && !output_is_terminal();
    autotune::TuneDeviceOptions options{.job = flags.job, .algebra = flags.algebra.place, .open_for_algebra = [&flags] {
                                            return open_device(flags.common);
                                        }};
    take_search_flags(flags.search, progress, options);
    if (lines) options.begun = [](const std::string& shape) { print_line("tuning {}", shape); };
    return options;
}

Result<int> tune_this_device(const DeviceTuning& flags) {
    YOLK_TRY_VOID(check_search_flags(flags.search));
    YOLK_TRY(const std::filesystem::path path, table_path());
    YOLK_TRY(const Device device, open_untuned(flags.common));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    const SearchProgress progress(flags.common);
    const InterruptGuard interrupt;
    const EndsAtStop ends([&path] { return say_what_is_kept(path); });
    YOLK_TRY(const TuneDeviceOutcome outcome,
             autotune::tune_device(device, dispatcher, path, tuning_options(flags, progress)));
    print_outcome(flags.common.json, device_tuning_json(device.info(), outcome), [&] { print_device_tuning(outcome); });
    if (outcome.ended_by) return *outcome.ended_by;
    return std::ranges::any_of(outcome.shapes, [](const TunedShape& shape) { return !shape.error.empty(); }) ? 1 : 0;
}

}  // namespace

std::function<Result<int>()> add_device_tuning(App& app) {
    const auto flags = std::make_shared<DeviceTuning>();
    const Option* const job =
        app.add_option("--job", flags->job.name,
                       "Tune the kernels of a job: cartpole, tuner, or last for what the last train, eval, bench or "
                       "system used (default: a set of shapes of all kinds)")
            ->type_name("NAME");
    app.add_option("--shapes", flags->job.file, "Tune the shapes of a file, one a line: matmul m=512 n=512 k=512")
        ->type_name("FILE")
        ->only(without(job));
    add_tuning_search_flags(app, flags->search);
    add_device_choice(app, flags->common);
    add_algebra_flags(app, flags->algebra, flags->search.strategy, "auto; on CPU drivers host, for eggroll auto",
                      flags->common, false);
    add_output_flags(app, flags->common);
    return [flags] { return tune_this_device(*flags); };
}

Command add_tune_device(App& tune) {
    App* const command =
        tune.add_subcommand("device", "Tune Yolk's kernels on a device (`yolk tune` alone does the same)");
    return {command, add_device_tuning(*command)};
}

}  // namespace yolk::cli
