// SPDX-License-Identifier: Apache-2.0
#include "bench_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "last_run.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "select_device.hpp"
#include "yolk/core/json.hpp"
#include "yolk/oracle/check.hpp"
#include "yolk/oracle/family.hpp"
#include "yolk/oracle/matmul.hpp"
#include "yolk/oracle/problem_memory.hpp"
#include "yolk/primitives/limits.hpp"
#include "yolk/runtime/dispatcher.hpp"
#include "yolk/runtime/probe.hpp"

namespace yolk::cli {
namespace {

constexpr std::size_t kFinalists = 5;
constexpr std::size_t kFinalRounds = 7;

struct KernelBenchFlags {
    CommonFlags common;
    std::string kernel = "matmul";
    std::string problem;  ///< part of a problem's name
    std::string shape;    ///< MxNxK, matmul only
    std::vector<std::string> where;
    std::uint32_t configurations = 64;
    bool all = false;
    std::uint64_t seed = 1;
};

/// One configuration and what it took, in seconds; the first is the screening run.
struct Measured {
    Configuration configuration;
    std::vector<double> seconds;
    std::uint64_t dispatches = 0;  ///< of one run
    std::string error;             ///< why it could not be timed
    [[nodiscard]] double median() const {
        std::vector<double> sorted = seconds;
        std::ranges::sort(sorted);
        return sorted.empty() ? 1e300 : sorted[sorted.size() / 2];
    }
};

Result<std::unique_ptr<oracle::Problem>> problem_of_shape(const std::string& shape) {
    std::array<std::uint32_t, 3> extents{};
    std::size_t begin = 0;
    for (std::size_t i = 0; i < extents.size(); ++i) {
        const std::size_t end = i < 2 ? shape.find('x', begin) : shape.size();
        const auto extent = end == std::string::npos ? Result<std::uint32_t>(bad_input(""))
                                                     : parse_number<std::uint32_t>(shape.substr(begin, end - begin));
        if (!extent || *extent == 0)
            return bad_input(fmt::format("--shape is '{}'; it is rows x columns x k such as 512x512x512.", shape));
        extents[i] = *extent;
        begin = end + 1;
    }
    return oracle::make_matmul_problem({.m = extents[0], .n = extents[1], .k = extents[2], .b = {.transposed = true}});
}

Result<std::unique_ptr<oracle::Problem>> choose_problem(const KernelBenchFlags& flags) {
    if (!flags.shape.empty()) {
        if (flags.kernel != "matmul") return bad_input("--shape is for --kernel matmul; others take --problem.");
        return problem_of_shape(flags.shape);
    }
    std::string known;
    for (const oracle::Family* family : oracle::families()) {
        known += fmt::format("{}{}", known.empty() ? "" : ", ", family->name);
        if (family->name != flags.kernel) continue;
        std::string problems;
        for (std::unique_ptr<oracle::Problem>& problem : family->benchmarks()) {
            if (problem->name().find(flags.problem) != std::string::npos) return std::move(problem);
            problems += "\n  " + problem->name();
        }
        return bad_input(
            fmt::format("No problem of {} has '{}' in its name; there are:{}", flags.kernel, flags.problem, problems));
    }
    return bad_input(fmt::format("There is no kernel '{}' to time; there are {}.", flags.kernel, known));
}

/// "knob=value" pairs that a configuration must have.
using Conditions = std::vector<std::pair<std::size_t, std::uint32_t>>;

Result<Conditions> parse_conditions(const TuningSpace& space, const std::vector<std::string>& where) {
    Conditions conditions;
    for (const std::string& text : where) {
        const std::size_t sign = text.find('=');
        const auto knob = std::ranges::find(space.knobs(), text.substr(0, sign), &TuningKnob::name);
        const auto value = sign == std::string::npos ? Result<std::uint32_t>(bad_input(""))
                                                     : parse_number<std::uint32_t>(text.substr(sign + 1));
        if (knob == space.knobs().end() || !value) {
            std::string names;
            for (const TuningKnob& k : space.knobs()) names += (names.empty() ? "" : ", ") + k.name;
            return bad_input(
                fmt::format("--where is '{}'; it is knob=value, the knobs of {}: {}.", text, space.family(), names));
        }
        conditions.emplace_back(knob - space.knobs().begin(), *value);
    }
    return conditions;
}

std::vector<Configuration> choose_configurations(const KernelBenchFlags& flags, const TuningSpace& space,
                                                 const Conditions& conditions) {
    const auto fits = [&](const Configuration& configuration) {
        return std::ranges::all_of(conditions, [&](const auto& c) { return configuration[c.first] == c.second; });
    };
    if (conditions.empty() && !flags.all) return space.draw(flags.configurations, flags.seed);
    std::vector<Configuration> legal = space.all();
    std::erase_if(legal, [&](const Configuration& c) { return !fits(c); });
    if (flags.all || legal.size() <= flags.configurations) return legal;
    // The domains' order says nothing about speed, so a stride is a sample; the seed moves it.
    std::vector<Configuration> chosen;
    for (std::size_t i = 0; i < flags.configurations; ++i)
        chosen.push_back(legal[(i * legal.size() / flags.configurations + flags.seed) % legal.size()]);
    return chosen;
}

/// The buffers of a problem on a device, filled.
struct ProblemOnDevice {
    const oracle::Problem& problem;
    const Device& device;
    Dispatcher& dispatcher;
    std::vector<Buffer> buffers;
    std::vector<BufferView> views;
};

Result<void> fill(ProblemOnDevice& on) {
    const std::vector<oracle::ProblemBuffer> wanted = on.problem.buffers();
    on.buffers.resize(wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i].size_bytes != 0) {
            YOLK_TRY(on.buffers[i],
                     on.device.create_buffer({.size_bytes = wanted[i].size_bytes, .label = wanted[i].name}));
            if (!wanted[i].contents.empty()) YOLK_TRY_VOID(on.dispatcher.upload(on.buffers[i], wanted[i].contents));
        }
    }
    for (const Buffer& buffer : on.buffers)
        on.views.push_back(buffer.impl() == nullptr ? BufferView{} : BufferView(buffer));
    return {};
}

/// A configuration that is ready to run again and again.
struct Prepared {
    std::unique_ptr<oracle::PlannedProblem> plan;
    Buffer scratch;
    oracle::PlannedProblem::Record record;
    std::optional<Recorder> recorder;
};

Result<Prepared> prepare_kernel(const ProblemOnDevice& on, const Configuration& configuration) {
    Prepared ready;
    YOLK_TRY(ready.plan, on.problem.plan(on.device, configuration));
    const std::uint64_t scratch_bytes = ready.plan->scratch().size_bytes;
    if (scratch_bytes != 0) {
        YOLK_TRY(ready.scratch, on.device.create_buffer({.size_bytes = scratch_bytes, .label = "scratch"}));
    }
    YOLK_TRY(ready.record, ready.plan->bind(on.views, scratch_bytes == 0 ? BufferView{} : BufferView(ready.scratch)));
    YOLK_TRY(Recorder recorder, Recorder::create(on.device, {.timestamp_count = 2, .label = "bench kernel"}));
    recorder.begin();
    recorder.timestamp(0);
    ready.record(recorder);
    recorder.timestamp(1);
    ready.recorder = std::move(recorder);
    return ready;
}

Result<double> time_run(const ProblemOnDevice& on, Prepared& ready) {
    YOLK_TRY_VOID(on.dispatcher.run(*ready.recorder));
    std::array<double, 2> nanoseconds{};
    YOLK_TRY_VOID(ready.recorder->read_timestamps(nanoseconds));
    return (nanoseconds[1] - nanoseconds[0]) * 1e-9;
}

/// The first run of a pipeline compiles it on CPU drivers, so it is not counted.
Result<double> screen(const ProblemOnDevice& on, const Configuration& configuration) {
    YOLK_TRY(Prepared ready, prepare_kernel(on, configuration));
    YOLK_TRY_VOID(on.dispatcher.run(*ready.recorder));
    return time_run(on, ready);
}

/// The best of the screening and the default again, in turn, kFinalRounds times.
Result<void> run_finals(const ProblemOnDevice& on, std::span<Measured* const> finalists) {
    std::vector<Prepared> ready;
    for (Measured* measured : finalists) {
        measured->seconds.clear();
        YOLK_TRY(Prepared prepared, prepare_kernel(on, measured->configuration));
        YOLK_TRY_VOID(on.dispatcher.run(*prepared.recorder));
        measured->dispatches = prepared.recorder->dispatch_count();
        ready.push_back(std::move(prepared));
    }
    for (std::size_t round = 0; round < kFinalRounds; ++round) {
        for (std::size_t i = 0; i < ready.size(); ++i) {
            YOLK_TRY(const double seconds, time_run(on, ready[i]));
            finalists[i]->seconds.push_back(seconds);
        }
    }
    return {};
}

Json configuration_json(const TuningSpace& space, const Configuration& configuration) {
    Json json = Json::object();
    for (std::size_t i = 0; i < configuration.size(); ++i) json[space.knobs()[i].name] = configuration[i];
    return json;
}

/// Of what only moves data no operations.
std::string speed_text(const oracle::Work& work, double seconds) {
    const std::string operations =
        work.operations == 0.0 ? "" : fmt::format(" {:>8.2f} G operations/s", work.operations / seconds * 1e-9);
    return fmt::format("{:>9.3f} ms{} {:>7.2f} GB/s", seconds * 1e3, operations, work.bytes / seconds * 1e-9);
}

/// The baselines: measured before and after, the better counts, since nothing else may be running.
Result<void> add_baselines(Json& json, const KernelBenchFlags& flags, const ProblemOnDevice& on, double best_seconds) {
    YOLK_TRY(const double limit, measure_multiply_adds_per_second(on.device, on.dispatcher));
    const double rate = on.problem.work().operations / best_seconds;
    json["limit_gflops"] = 2e-9 * limit;
    json["of_limit"] = rate / (2.0 * limit);
    if (flags.kernel != "matmul") return {};
    YOLK_TRY(const double textbook, measure_textbook_matmul(on.device, on.dispatcher, 512));
    json["textbook_gflops"] = 2e-9 * textbook;
    json["over_textbook"] = rate / (2.0 * textbook);
    return {};
}

std::vector<Measured> screen_all(const KernelBenchFlags& flags, const ProblemOnDevice& on,
                                 const std::vector<Configuration>& configurations) {
    const bool human = !flags.common.json && !flags.common.quiet;
    std::vector<Measured> all;
    double best = 1e300;
    for (const Configuration& configuration : configurations) {
        Measured measured{.configuration = configuration, .seconds = {}, .dispatches = 0, .error = {}};
        if (const Result<double> seconds = screen(on, configuration)) {
            measured.seconds.push_back(*seconds);
        } else {
            measured.error = seconds.error().message;
        }
        if (human && measured.median() < best) {
            best = measured.median();
            print_line(fmt::format("{:>5}/{} {}  {}", all.size() + 1, configurations.size(),
                                   speed_text(on.problem.work(), best),
                                   on.problem.space(on.device.info()).text(configuration)));
        }
        all.push_back(std::move(measured));
    }
    return all;
}

/// The fastest few, and the default, which comes first in `measured`.
std::vector<Measured*> finalists_of(std::vector<Measured>& measured) {
    std::vector<Measured*> finalists;
    for (Measured& m : measured) finalists.push_back(&m);
    std::ranges::stable_sort(finalists, {}, [](const Measured* m) { return m->median(); });
    finalists.resize(std::min(finalists.size(), kFinalists));
    std::erase_if(finalists, [](const Measured* m) { return !m->error.empty(); });
    if (std::ranges::find(finalists, &measured.front()) == finalists.end()) finalists.push_back(&measured.front());
    return finalists;
}

Result<int> run_kernel(const KernelBenchFlags& flags) {
    YOLK_TRY(const std::unique_ptr<oracle::Problem> problem, choose_problem(flags));
    YOLK_TRY(const Device device, open_device(flags.common));
    const RememberShapes remember(device);
    YOLK_TRY_VOID(probe(device));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    YOLK_TRY_VOID(oracle::check_memory(*problem, device.info(), 1.0));
    const TuningSpace space = problem->space(device.info());
    YOLK_TRY(const Conditions conditions, parse_conditions(space, flags.where));
    ProblemOnDevice on{*problem, device, dispatcher, {}, {}};
    YOLK_TRY_VOID(fill(on));
    std::vector<Configuration> configurations = choose_configurations(flags, space, conditions);
    if (configurations.empty()) return bad_input("No configuration of the space has what --where asks for.");
    const Configuration fallback = problem->default_configuration(device.info());
    std::erase(configurations, fallback);
    configurations.insert(configurations.begin(), fallback);
    std::vector<Measured> measured = screen_all(flags, on, configurations);
    if (!measured.front().error.empty()) return bad_input(measured.front().error);

    const std::vector<Measured*> finalists = finalists_of(measured);
    YOLK_TRY_VOID(run_finals(on, finalists));
    const Measured& best = *std::ranges::min(finalists, {}, [](const Measured* m) { return m->median(); });

    const oracle::Work work = problem->work();
    const auto failed = std::ranges::count_if(measured, [](const Measured& m) { return !m.error.empty(); });
    Json json{{"bench", "kernel"},
              {"kernel", flags.kernel},
              {"problem", problem->name()},
              {"device", device.info().name},
              {"driver", driver_text(device.info())},
              {"configurations", measured.size()},
              {"failed", failed},
              {"default_seconds", measured.front().median()},
              {"default_gflops", work.operations / measured.front().median() * 1e-9},
              {"dispatches", best.dispatches},
              {"seconds", best.median()},
              {"seconds_least", std::ranges::min(best.seconds)},
              {"seconds_most", std::ranges::max(best.seconds)},
              {"gflops", work.operations / best.median() * 1e-9},
              {"configuration", configuration_json(space, best.configuration)}};
    YOLK_TRY_VOID(add_baselines(json, flags, on, best.median()));
    if (flags.common.json) {
        print_json(json);
        return 0;
    }
    print_line(fmt::format("{} on {} ({})", problem->name(), device.info().name, driver_text(device.info())));
    print_line(fmt::format("default {}  {}", speed_text(work, measured.front().median()), space.text(fallback)));
    print_line(fmt::format("best    {}  {}", speed_text(work, best.median()), space.text(best.configuration)));
    if (work.operations > 0.0) {
        print_line(fmt::format("{:.3f} of the multiply-add limit of {:.1f} G operations/s",
                               json["of_limit"].get<double>(), json["limit_gflops"].get<double>()));
    }
    if (json.contains("over_textbook")) {
        print_line(fmt::format("{:.1f} times the textbook's 16x16 kernel at 512 ({:.2f} G operations/s)",
                               json["over_textbook"].get<double>(), json["textbook_gflops"].get<double>()));
    }
    if (failed > 0) print_line(fmt::format("{} configurations could not be run", failed));
    return 0;
}

}  // namespace

Command add_kernel_bench(App& bench) {
    const auto flags = std::make_shared<KernelBenchFlags>();
    App* command = bench.add_subcommand(
        "kernel", "Time a kernel family over configurations of its tuning space, beside the device's limit");
    command->add_option("--kernel", flags->kernel, "The family")->type_name("NAME")->default_str("matmul");
    const Option* const shape =
        command->add_option("--shape", flags->shape, "matmul: rows x columns x k, b stored transposed")
            ->type_name("MxNxK");
    command->add_option("--problem", flags->problem, "A part of the name of one of its benchmark problems")
        ->type_name("TEXT")
        ->only(without(shape));
    command->add_repeatable("--where", flags->where, "Only configurations with this value of a knob; may be repeated")
        ->type_name("KNOB=VALUE");
    const Option* const all = command->add_flag("--all", flags->all, "The whole space");
    add_number(*command, "--configurations", flags->configurations, "Configurations drawn beside the default")
        ->default_str("64")
        ->only(without(all));
    add_number(*command, "--seed", flags->seed, "Of the draw")->default_str("1")->only(without(all));
    add_device_flag(*command, flags->common);
    add_output_flags(*command, flags->common);
    return {command, [flags] { return run_kernel(*flags); }};
}

}  // namespace yolk::cli
