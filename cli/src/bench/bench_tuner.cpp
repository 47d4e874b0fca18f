// SPDX-License-Identifier: Apache-2.0
#include "bench_tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "output.hpp"
#include "select_device.hpp"
#include "tune_flags.hpp"
#include "yolk/internal/autotune/recorded_surface.hpp"
#include "yolk/internal/autotune/search_cost.hpp"
#include "yolk/internal/oracle/named_problem.hpp"
#include "yolk/json.hpp"
#include "yolk/tune.hpp"

namespace yolk::cli {
namespace {

struct TunerBenchFlags {
    CommonFlags common;
    std::string surface;
    std::uint32_t candidates = 18'000;
    std::uint32_t measurements = 205;
    float tune_seconds = 0.0F;
};

/// One way of doing the algebra, and what it costs.
struct Way {
    std::string name;
    autotune::SearchCost cost;
    std::optional<autotune::DeviceAlgebraCounts> counts;
    std::string error;
};

Way way_of(std::string name, const autotune::MadeUpSurface& surface, std::uint32_t measurements,
           const std::shared_ptr<autotune::DeviceAlgebra>& algebra) {
    Way way{.name = std::move(name), .cost = {}, .counts = {}, .error = {}};
    Result<autotune::SearchCost> cost = autotune::search_cost(surface.candidates, surface.costs, measurements, algebra);
    if (cost) {
        way.cost = *cost;
    } else {
        way.error = cost.error().message;
    }
    if (algebra != nullptr) way.counts = algebra->counts();
    return way;
}

Result<Way> on_device(std::string name, const TunerBenchFlags& flags, bool tuned,
                      const autotune::MadeUpSurface& surface) {
    CommonFlags common = flags.common;
    common.no_tuning = !tuned;
    YOLK_TRY(const Device device, open_device(common));
    YOLK_TRY(const auto algebra, autotune::DeviceAlgebra::create(device));
    return way_of(std::move(name), surface, flags.measurements, algebra);
}

/// Tunes those of the tuner's kernels that are not in the table yet.
Result<autotune::TuneDeviceOutcome> tune_itself(const TunerBenchFlags& flags, std::size_t candidates) {
    YOLK_TRY(const Device device, open_untuned(flags.common));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    YOLK_TRY(const std::filesystem::path path, table_path());
    YOLK_TRY(autotune::TuneDeviceOutcome outcome,
             autotune::tune_device(
                 device, dispatcher, path,
                 {.job = {.lines = oracle::tuner_job(static_cast<std::uint32_t>((candidates + 255) / 256 * 256))},
                  .time = std::chrono::duration<double>(flags.tune_seconds),
                  .algebra = autotune::AlgebraPlace::Host}));
    if (outcome.ended_by) return *outcome.ended_by;
    for (const autotune::TunedShape& shape : outcome.shapes) {
        if (!shape.error.empty()) return Error{ErrorKind::Driver, shape.error};
    }
    return outcome;
}

Json way_json(const Way& way) {
    Json json{{"way", way.name},
              {"median_milliseconds", way.cost.last.median},
              {"largest_milliseconds", way.cost.last.largest},
              {"largest_of_all_milliseconds", way.cost.largest},
              {"largest_of_all_at", way.cost.largest_at},
              {"search_seconds", way.cost.seconds},
              {"best", way.cost.best}};
    if (!way.error.empty()) json["error"] = way.error;
    if (way.counts) {
        json["take_overs"] = way.counts->take_overs();
        json["proposals"] = way.counts->proposals;
        json["worked_out"] = way.counts->worked_out;
        json["reason"] = way.counts->reason;
    }
    return json;
}

/// After how many steps tuning has paid for itself; nothing where it never does.
Json break_even(double seconds, double before, double after) {
    if (!(after < before)) return {};
    return std::ceil(1e3 * seconds / (before - after));
}

void print_searches(const Json& json) {
    print_line("{} candidates, {} measurements, on {} ({})", json["candidates"].get<std::size_t>(),
               json["measurements"].get<std::size_t>(), json["device"].get<std::string>(),
               json["driver"].get<std::string>());
    std::vector<std::vector<std::string>> rows{
        {"algebra", "last 11 asks, median ms", "largest ms", "with a fit ms", "whole search s", "host took over"}};
    for (const Json& way : json["ways"]) {
        rows.push_back({way["way"].get<std::string>(), fmt::format("{:.2f}", way["median_milliseconds"].get<double>()),
                        fmt::format("{:.2f}", way["largest_milliseconds"].get<double>()),
                        fmt::format("{:.0f}", way["largest_of_all_milliseconds"].get<double>()),
                        fmt::format("{:.2f}", way["search_seconds"].get<double>()),
                        way.contains("take_overs") ? fmt::format("{}", way["take_overs"].get<std::uint64_t>()) : "-"});
    }
    print_line(table(rows));
    if (!json.contains("tuning")) return;
    const Json& tuning = json["tuning"];
    const auto asks = [](const Json& value) {
        return value.is_null() ? std::string("never") : fmt::format("after {:.0f} asks", value.get<double>());
    };
    print_line(
        "tuning itself: {} shapes ({} known), {} measurements in {}; pays {} against the untuned "
        "device, {} against the host",
        tuning["shapes"].get<std::size_t>(), tuning["known"].get<std::size_t>(), tuning["measured"].get<std::size_t>(),
        duration_text(tuning["seconds"].get<double>()), asks(tuning["breaks_even_with_untuned"]),
        asks(tuning["breaks_even_with_host"]));
}

Result<int> run_tuner(const TunerBenchFlags& flags) {
    if (flags.candidates < 256 || flags.candidates > 1'000'000)
        return bad_input("--candidates is {}; it is from 256 to 1000000.", flags.candidates);
    if (flags.measurements < 20 || flags.measurements > 1000)
        return bad_input("--measurements is {}; it is from 20 to 1000.", flags.measurements);
    autotune::MadeUpSurface surface;
    if (flags.surface.empty()) {
        surface = autotune::made_up_surface(flags.candidates);
    } else {
        YOLK_TRY(const autotune::RecordedSurface recorded, autotune::RecordedSurface::read(flags.surface));
        surface.candidates = std::make_shared<const autotune::CandidateSet>(recorded.candidates());
        surface.costs.assign(recorded.costs().begin(), recorded.costs().end());
    }
    const std::size_t candidates = surface.costs.size();
    YOLK_TRY(const Device device, open_device(flags.common));
    Json json{{"bench", "tuner"},
              {"device", device.info().name},
              {"driver", driver_text(device.info())},
              {"candidates", candidates},
              {"measurements", flags.measurements}};
    std::vector<Way> ways{way_of("host", surface, flags.measurements, nullptr)};
    YOLK_TRY(Way untuned, on_device("device, untuned", flags, false, surface));
    ways.push_back(std::move(untuned));
    if (flags.tune_seconds > 0.0F) {
        YOLK_TRY(const autotune::TuneDeviceOutcome tuning, tune_itself(flags, candidates));
        YOLK_TRY(Way tuned, on_device("device, tuned", flags, true, surface));
        ways.push_back(std::move(tuned));
        const auto step = [&](std::size_t way) { return ways[way].cost.last.median; };
        const auto known = std::ranges::count_if(
            tuning.shapes, [](const autotune::TunedShape& shape) { return shape.choice && !shape.search; });
        json["tuning"] = {{"shapes", tuning.shapes.size()},
                          {"known", known},
                          {"measured", tuning.measured},
                          {"seconds", tuning.seconds},
                          {"breaks_even_with_untuned", break_even(tuning.seconds, step(1), step(2))},
                          {"breaks_even_with_host", break_even(tuning.seconds, step(0), step(2))}};
    }
    json["ways"] = Json::array();
    for (const Way& way : ways) json["ways"].push_back(way_json(way));
    return print_outcome(flags.common.json, json, [&json] { print_searches(json); });
}

}  // namespace

Command add_tuner_bench(App& bench) {
    const auto flags = std::make_shared<TunerBenchFlags>();
    App* command = bench.add_subcommand(
        "tuner", "Time the tuner's own step: on the host, on the device, and after tuning its own kernels");
    const Option* const surface =
        command->add_option("--surface", flags->surface, "A recorded surface instead of a made-up one")
            ->type_name("FILE");
    add_number(*command, "--candidates", flags->candidates, "Configurations of a made-up space")
        ->default_str("18000")
        ->only(without(surface));
    add_number(*command, "--measurements", flags->measurements, "Of the search; its last 11 steps are reported")
        ->default_str("205");
    add_number(*command, "--tune-seconds", flags->tune_seconds,
               "Tune the kernels of the tuner for so long, into the table, and time it again (default: do not)");
    add_device_flag(*command, flags->common);
    add_output_flags(*command, flags->common);
    return {command, [flags] { return run_tuner(*flags); }};
}

}  // namespace yolk::cli
