// SPDX-License-Identifier: Apache-2.0
#include "bench_command.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "bench_kernel.hpp"
#include "bench_step.hpp"
#include "bench_tuner.hpp"
#include "environment_flag.hpp"
#include "last_run.hpp"
#include "output.hpp"
#include "select_device.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/primitives/clock_warm_up.hpp"
#include "yolk/json.hpp"
#include "yolk/rollout.hpp"

namespace yolk::cli {
namespace {

constexpr std::uint32_t kSmallestPopulation = 2;
constexpr std::uint32_t kLargestPopulation = 1U << 20U;
constexpr std::uint32_t kFewestRolloutRepeats = 3;
constexpr double kRolloutSeconds = 1.0;
/// Of one repeat: at SwiftShader's .7 million evaluations per second (docs/kernels/rollout.md) 2^20 members take twelve
/// minutes, more than wait() gives by default.
constexpr std::chrono::hours kLongestRepeat{2};

struct RolloutFlags {
    std::uint32_t population = 4096;
    std::uint32_t episodes = 1;
    std::string environment = "cartpole";
    Determinism determinism = Determinism::Exact;
    CommonFlags common;
};

/// A bound roll-out and the buffers it stands on. Members of `desc` never stop, so all lanes have work to the end.
/// Stays where it is once bound: views point at the buffers.
struct RolloutBench {
    RolloutDesc desc;
    Buffer parameters, returns, evaluations, scratch;
    BoundRollout bound;
};

/// Sums over the repeats. `device_seconds` is what lies between two timestamps of the device, where it has them.
struct Timing {
    std::uint32_t repeats = 0;
    double wall_seconds = 0.0;
    std::optional<double> device_seconds;
};

double evaluations_of(const RolloutDesc& desc) { return double{1} * desc.members * desc.episodes * desc.max_steps; }

Result<RolloutDesc> describe(const RolloutFlags& flags) {
    if (flags.population < kSmallestPopulation || flags.population > kLargestPopulation || flags.population % 2 != 0) {
        return bad_input("--population is {}; it is an even number from {} to {}.", flags.population,
                         kSmallestPopulation, kLargestPopulation);
    }
    if (flags.episodes == 0) return bad_input("--episodes is 0; at least 1 is needed.");
    RolloutDesc desc{
        .members = flags.population, .episodes = flags.episodes, .never_stop = true, .determinism = flags.determinism};
    YOLK_TRY(const ChosenEnvironment environment, choose_environment(flags.environment));
    desc.environment = std::string(environment.info.name);
    desc.own_environment = environment.own;
    desc.max_steps = environment.info.max_steps;
    desc.network.widths.front() = environment.info.observation_count;
    desc.network.widths.back() = environment.info.action_count;
    YOLK_TRY(desc.parameters, ParameterTable::create(desc.network.parameters()));
    return desc;
}

Result<void> prepare_rollout(Dispatcher& dispatcher, RolloutBench& bench) {
    const Device& device = dispatcher.device();
    const RolloutDesc& desc = bench.desc;
    YOLK_TRY(const RolloutPlan plan, plan_rollout(device, desc));
    const auto buffer = [&](std::uint64_t bytes, const char* label) {
        return device.create_buffer({.size_bytes = bytes, .label = label});
    };
    YOLK_TRY(bench.parameters, buffer(desc.parameters.size_bytes(), "parameters"));
    YOLK_TRY(bench.returns, buffer(std::uint64_t{4} * desc.members * desc.episodes, "returns"));
    YOLK_TRY(bench.evaluations, buffer(std::uint64_t{4} * kEvaluationCounters, "evaluations"));
    YOLK_TRY(bench.scratch, buffer(plan.scratch().size_bytes, "scratch"));
    YOLK_TRY(bench.bound,
             plan.bind({.parameters = bench.parameters, .returns = bench.returns, .evaluations = bench.evaluations},
                       bench.scratch));
    // No policy in particular: the operations of a step do not depend on the values.
    std::vector<float> values(desc.parameters.element_count());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.3F * std::sin(static_cast<float>(i * i));
    return dispatcher.upload(bench.parameters, std::as_bytes(std::span(values)));
}

Result<double> wall_seconds_of_run(Dispatcher& dispatcher, Recorder& recorder) {
    const auto before = std::chrono::steady_clock::now();
    YOLK_TRY(const Submission done, dispatcher.submit(recorder));
    YOLK_TRY_VOID(dispatcher.wait(done, kLongestRepeat));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
}

/// A rate of work that was not done would be a lie: the device's own count must be what was asked for.
Result<void> check_evaluations(Dispatcher& dispatcher, const RolloutBench& bench) {
    std::vector<std::uint32_t> counters(kEvaluationCounters);
    YOLK_TRY_VOID(dispatcher.download(bench.evaluations, std::as_writable_bytes(std::span(counters))));
    const auto counted = std::accumulate(counters.begin(), counters.end(), std::uint64_t{0});
    const std::uint64_t asked = std::uint64_t{bench.desc.members} * bench.desc.episodes * bench.desc.max_steps;
    if (counted == asked) return {};
    return Error{ErrorKind::Driver, fmt::format("The device counted {} evaluations where {} were asked for, so its "
                                                "times mean nothing; see `yolk check --kernel rollout`.",
                                                counted, asked)};
}

/// Recorded, run, and recorded again while the times that were seen give fewer submissions, as a training run would be
/// after some generations. The first run is the warm-up, too: drivers compile at the first dispatch.
Result<void> record_at_its_pace(Dispatcher& dispatcher, const RolloutBench& bench, Recorder& recorder) {
    std::size_t before = std::numeric_limits<std::size_t>::max();
    for (bool fewer = true; fewer;) {
        recorder.begin();
        recorder.timestamp(0);
        bench.bound.record(recorder, {.seed = 1, .sigma = 0.2F});
        recorder.timestamp(1);
        YOLK_TRY_VOID(wall_seconds_of_run(dispatcher, recorder));
        const std::size_t pieces = recorder.submission_count();
        fewer = pieces > 1 && pieces < before;
        before = pieces;
    }
    return {};
}

Result<Timing> time_repeats(Dispatcher& dispatcher, const RolloutBench& bench) {
    YOLK_TRY(Recorder recorder,
             Recorder::create(dispatcher.device(), {.timestamp_count = 2, .label = "bench rollout"}));
    YOLK_TRY_VOID(record_at_its_pace(dispatcher, bench, recorder));
    YOLK_TRY_VOID(ClockWarmUp(dispatcher.device(), dispatcher).wake());
    Timing timing;
    std::array<double, 2> nanoseconds{};
    double device_seconds = 0.0;
    bool has_timestamps = true;
    while (timing.repeats < kFewestRolloutRepeats || timing.wall_seconds < kRolloutSeconds) {
        YOLK_TRY(const double wall_seconds, wall_seconds_of_run(dispatcher, recorder));
        timing.wall_seconds += wall_seconds;
        ++timing.repeats;
        const Result<void> read = recorder.read_timestamps(nanoseconds);
        if (!read && read.error().kind != ErrorKind::Unsupported) return read.error();
        has_timestamps = has_timestamps && read.has_value();
        device_seconds += (nanoseconds[1] - nanoseconds[0]) * 1e-9;
    }
    if (has_timestamps && device_seconds > 0.0) timing.device_seconds = device_seconds;
    YOLK_TRY_VOID(check_evaluations(dispatcher, bench));
    return timing;
}

std::uint64_t peak_memory_bytes(const Device& device) {
    return peak_resident_bytes() + device.counts().peak_device_memory_bytes;
}

Json timing_json(const Device& device, const RolloutDesc& desc, const Timing& timing) {
    const double evaluations = evaluations_of(desc) * timing.repeats;
    Json json{{"bench", "rollout"},
              {"device", device.info().name},
              {"driver", driver_text(device.info())},
              {"environment", desc.environment},
              {"determinism", to_string(desc.determinism)},
              {"population", desc.members},
              {"episodes", desc.episodes},
              {"steps", desc.max_steps},
              {"repeats", timing.repeats},
              {"evaluations_per_second", evaluations / timing.wall_seconds}};
    if (timing.device_seconds) json["device_evaluations_per_second"] = evaluations / *timing.device_seconds;
    json["peak_memory_bytes"] = peak_memory_bytes(device);
    return json;
}

void print_timing(const Device& device, const RolloutDesc& desc, const Timing& timing) {
    const double evaluations = evaluations_of(desc) * timing.repeats;
    print_line("rollout of {} on {} ({})", desc.environment, device.info().name, driver_text(device.info()));
    print_line("{} members, {} episode(s) of {} steps, {}, {} repeats", desc.members, desc.episodes, desc.max_steps,
               to_string(desc.determinism), timing.repeats);
    print_line("{} evaluations/s from submission to wait, {} by the device's clock, peak memory {}",
               rate_text(evaluations / timing.wall_seconds),
               timing.device_seconds ? rate_text(evaluations / *timing.device_seconds) : "none",
               bytes_text(peak_memory_bytes(device)));
}

Result<int> run_rollout(const RolloutFlags& flags) {
    RolloutBench bench;
    YOLK_TRY(bench.desc, describe(flags));
    YOLK_TRY(const Context context, open_context(flags.common));
    const Device& device = context.device();
    Dispatcher& dispatcher = context.dispatcher();
    const RememberShapes remember(device);
    YOLK_TRY_VOID(prepare_rollout(dispatcher, bench));
    YOLK_TRY(const Timing timing, time_repeats(dispatcher, bench));
    return print_outcome(flags.common.json, timing_json(device, bench.desc, timing),
                         [&] { print_timing(device, bench.desc, timing); });
}

Command add_rollout(App& group) {
    const auto flags = std::make_shared<RolloutFlags>();
    App* command = group.add_subcommand(
        "rollout", "Evaluations per second of the roll-out kernel: one hidden layer of 64, no member stops");
    add_number(*command, "--population", flags->population, "Members; even")->default_str("4096");
    add_number(*command, "--episodes", flags->episodes, "Episodes per member")->default_str("1");
    command->add_option("--env", flags->environment, kEnvironmentHelp)->type_name("NAME|FILE")->default_str("cartpole");
    add_parsed(*command, "--determinism", flags->determinism,
               "exact, or fast: multiply-adds that may be fused and a cheaper tanh", &parse_determinism)
        ->type_name("MODE")
        ->default_str("exact");
    add_device_flag(*command, flags->common);
    add_output_flags(*command, flags->common);
    return {command, [flags] { return run_rollout(*flags); }};
}

}  // namespace

Command add_bench_command(App& app) {
    App* group = app.add_subcommand("bench", "Time one part of the work on a device");
    const std::array<Command, 4> commands{add_rollout(*group), add_kernel_bench(*group), add_step_bench(*group),
                                          add_tuner_bench(*group)};
    return {group, [commands] {
                return run_named(commands,
                                 "bench needs a subcommand that says what to time, such as rollout, kernel, step or "
                                 "tuner (see yolk bench --help).");
            }};
}

}  // namespace yolk::cli
