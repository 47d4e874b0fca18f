// SPDX-License-Identifier: Apache-2.0
#include "bench_rollout.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "environment_flag.hpp"
#include "last_run.hpp"
#include "output.hpp"
#include "select_device.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/json.hpp"
#include "yolk/rollout.hpp"

namespace yolk::cli {
namespace {

constexpr std::uint32_t kSmallestPopulation = 2;
constexpr std::uint32_t kLargestPopulation = 1U << 20U;
constexpr RunBudget kRolloutBudget{.seconds = 1.0, .fewest = 3};

/// A bound roll-out and the buffers it stands on. Members of `desc` never stop, so all lanes have work to the end.
/// Stays where it is once bound: views point at the buffers.
struct RolloutBench {
    RolloutDesc desc;
    Buffer parameters, returns, evaluations, scratch;
    BoundRollout bound;
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

std::uint64_t peak_memory_bytes(const Device& device) {
    return peak_resident_bytes() + device.counts().peak_device_memory_bytes;
}

/// By both clocks; the device's is left out where it has none.
struct RolloutRates {
    double wall = 0.0;
    std::optional<double> device;
};
RolloutRates rates_of(const RolloutRuns& timed) {
    const auto rate = [&](const std::vector<double>& seconds) {
        return timed.evaluations * static_cast<double>(seconds.size()) /
               std::accumulate(seconds.begin(), seconds.end(), 0.0);
    };
    RolloutRates rates{.wall = rate(timed.runs.wall), .device = std::nullopt};
    if (!timed.runs.device.empty()) rates.device = rate(timed.runs.device);
    return rates;
}

Json timing_json(const Device& device, const RolloutDesc& desc, const RolloutRuns& timed) {
    const RolloutRates rates = rates_of(timed);
    Json json{{"bench", "rollout"},
              {"device", device.info().name},
              {"driver", driver_text(device.info())},
              {"environment", desc.environment},
              {"determinism", to_string(desc.determinism)},
              {"population", desc.members},
              {"episodes", desc.episodes},
              {"steps", desc.max_steps},
              {"repeats", timed.runs.wall.size()},
              {"evaluations_per_second", rates.wall}};
    if (rates.device) json["device_evaluations_per_second"] = *rates.device;
    json["peak_memory_bytes"] = peak_memory_bytes(device);
    return json;
}

void print_timing(const Device& device, const RolloutDesc& desc, const RolloutRuns& timed) {
    const RolloutRates rates = rates_of(timed);
    print_line("rollout of {} on {} ({})", desc.environment, device.info().name, driver_text(device.info()));
    print_line("{} members, {} episode(s) of {} steps, {}, {} repeats", desc.members, desc.episodes, desc.max_steps,
               to_string(desc.determinism), timed.runs.wall.size());
    print_line("{} evaluations/s from submission to wait, {} by the device's clock, peak memory {}",
               rate_text(rates.wall), rates.device ? rate_text(*rates.device) : "none",
               bytes_text(peak_memory_bytes(device)));
}

Result<RolloutRuns> time_described(Dispatcher& dispatcher, const RolloutDesc& desc, const RunBudget& budget) {
    RolloutBench bench;
    bench.desc = desc;
    YOLK_TRY_VOID(prepare_rollout(dispatcher, bench));
    RolloutRuns timed{.evaluations = evaluations_of(desc), .runs = {}};
    YOLK_TRY(
        timed.runs,
        time_recording(
            dispatcher, [&](Recorder& recorder) { bench.bound.record(recorder, {.seed = 1, .sigma = 0.2F}); }, budget));
    YOLK_TRY_VOID(check_evaluations(dispatcher, bench));
    return timed;
}

Result<int> run_rollout(const RolloutFlags& flags) {
    YOLK_TRY(const RolloutDesc desc, describe(flags));
    YOLK_TRY(const Context context, open_context(flags.common));
    const Device& device = context.device();
    const RememberShapes remember(device);
    YOLK_TRY(const RolloutRuns timed, time_described(context.dispatcher(), desc, kRolloutBudget));
    return print_outcome(flags.common.json, timing_json(device, desc, timed),
                         [&] { print_timing(device, desc, timed); });
}

}  // namespace

Result<RolloutRuns> time_rollouts(Dispatcher& dispatcher, const RolloutFlags& flags, const RunBudget& budget) {
    YOLK_TRY(const RolloutDesc desc, describe(flags));
    return time_described(dispatcher, desc, budget);
}

Command add_rollout_bench(App& bench) {
    const auto flags = std::make_shared<RolloutFlags>();
    App* command = bench.add_subcommand(
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

}  // namespace yolk::cli
