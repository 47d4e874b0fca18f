// SPDX-License-Identifier: Apache-2.0
#include "bench_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "choose_configurations.hpp"
#include "kernel_timing.hpp"
#include "last_run.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "select_device.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/context/tuning_transfer.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/oracle/named_problem.hpp"
#include "yolk/internal/oracle/problem_memory.hpp"
#include "yolk/internal/oracle/untuned.hpp"
#include "yolk/json.hpp"
#include "yolk/limits.hpp"
#include "yolk/log.hpp"

namespace yolk::cli {
namespace {

constexpr std::size_t kFinalists = 5;

struct KernelBenchFlags {
    CommonFlags common;
    std::string kernel = "matmul";
    std::string problem;  ///< part of a problem's name
    std::string shape;    ///< "matmul m=512 n=512 k=512", or its fields alone
    std::vector<std::string> where;
    std::uint32_t configurations = 64;
    bool all = false;
    std::uint64_t seed = 1;
};

/// Fields alone are of --kernel.
Result<std::unique_ptr<oracle::Problem>> choose_problem(const KernelBenchFlags& flags) {
    if (flags.shape.empty()) return oracle::make_named_problem(flags.kernel + ": " + flags.problem);
    const std::size_t name_end = flags.shape.find_first_of(" \t:");
    const bool has_name = std::isalpha(static_cast<unsigned char>(flags.shape.front())) != 0 &&
                          flags.shape.substr(0, name_end).find('=') == std::string::npos;
    return oracle::make_named_problem(has_name ? flags.shape : flags.kernel + " " + flags.shape);
}

/// Of what only moves data no operations.
std::string speed_text(const oracle::Work& work, double seconds) {
    const std::string operations =
        work.operations == 0.0 ? "" : fmt::format(" {:>8.2f} G operations/s", work.operations / seconds * 1e-9);
    return fmt::format("{:>9.3f} ms{} {:>7.2f} GB/s", seconds * 1e3, operations, work.bytes / seconds * 1e-9);
}

/// The baselines, on a device that does nothing else. Null where there is no limit of what multiplies.
Result<void> add_baselines(Json& json, const ProblemOnDevice& on, const Measured& best) {
    const ArithmeticUnit unit = on.problem.unit(on.device.usable_info(), best.configuration);
    YOLK_TRY(const double limit, measure_multiply_adds_per_second(on.device, on.dispatcher, unit));
    const double rate = on.problem.work().operations / best.median();
    json["unit"] = to_string(unit);
    json["limit_gflops"] = limit > 0.0 ? Json(2e-9 * limit) : Json();
    json["of_limit"] = limit > 0.0 ? Json(rate / (2.0 * limit)) : Json();
    const TuningSpace space = on.problem.space(on.device.info());
    if (space.family() != "matmul") return {};
    const std::vector<std::uint64_t>& extents = space.shape().extents;
    YOLK_TRY(const double textbook,
             measure_textbook_matmul(on.device, on.dispatcher, {extents.at(0), extents.at(1), extents.at(2)}));
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
        Measured measured = prove_and_time(on, configuration);
        if (!measured.wrong.empty()) log_warning("A wrong result, which is not timed: " + measured.wrong);
        if (human && measured.median() < best) {
            best = measured.median();
            print_line("{:>5}/{} {}  {}", all.size() + 1, configurations.size(), speed_text(on.problem.work(), best),
                       on.problem.space(on.device.info()).text(configuration));
        }
        all.push_back(std::move(measured));
    }
    return all;
}

/// The fastest few, and the default, which comes first in `measured`; only those that are right.
std::vector<Measured*> finalists_of(std::vector<Measured>& measured) {
    std::vector<Measured*> finalists;
    finalists.reserve(measured.size());
    for (Measured& m : measured) finalists.push_back(&m);
    std::ranges::stable_sort(finalists, {}, [](const Measured* m) { return m->median(); });
    finalists.resize(std::min(finalists.size(), kFinalists));
    std::erase_if(finalists, [](const Measured* m) { return !m->timed(); });
    Measured& fallback = measured.front();
    if (fallback.timed() && std::ranges::find(finalists, &fallback) == finalists.end()) finalists.push_back(&fallback);
    return finalists;
}

Json outcome_json(const ProblemOnDevice& on, const std::vector<Measured>& measured, const Measured& best) {
    const oracle::Work work = on.problem.work();
    const TuningSpace space = on.problem.space(on.device.info());
    const auto named = [&space](const Measured& m) {
        return configuration_json(stored_configuration(space, m.configuration));
    };
    Json wrong = Json::array();
    for (const Measured& m : measured) {
        if (!m.wrong.empty()) wrong.push_back({{"configuration", named(m)}, {"failure", m.wrong}});
    }
    const Measured& fallback = measured.front();
    return {{"bench", "kernel"},
            {"kernel", space.family()},
            {"problem", on.problem.name()},
            {"device", on.device.info().name},
            {"driver", driver_text(on.device.info())},
            {"configurations", measured.size()},
            {"oracle_elements", on.proof.sample() ? Json(on.proof.sample()->elements) : Json()},
            {"failed", std::ranges::count_if(measured, [](const Measured& m) { return !m.error.empty(); })},
            {"wrong", std::move(wrong)},
            {"default_seconds", fallback.timed() ? Json(fallback.median()) : Json()},
            {"default_gflops", fallback.timed() ? Json(work.operations / fallback.median() * 1e-9) : Json()},
            {"dispatches", best.dispatches},
            {"seconds", best.median()},
            {"seconds_least", std::ranges::min(best.seconds)},
            {"seconds_most", std::ranges::max(best.seconds)},
            {"gflops", work.operations / best.median() * 1e-9},
            {"configuration", named(best)}};
}

void print_bench(const ProblemOnDevice& on, const std::vector<Measured>& measured, const Measured& best,
                 const Json& json) {
    const oracle::Work work = on.problem.work();
    const TuningSpace space = on.problem.space(on.device.info());
    const Measured& fallback = measured.front();
    print_line("{} on {} ({})", on.problem.name(), on.device.info().name, driver_text(on.device.info()));
    print_line("default {}  {}",
               fallback.timed()          ? speed_text(work, fallback.median())
               : !fallback.error.empty() ? "cannot be run"
                                         : "is wrong",
               space.text(fallback.configuration));
    print_line("best    {}  {}", speed_text(work, best.median()), space.text(best.configuration));
    const std::string unit = json["unit"];
    if (work.operations > 0.0 && json["limit_gflops"].is_null()) {
        print_line("It multiplies by {}, whose limit on this device is not known.", unit);
    } else if (work.operations > 0.0) {
        print_line("{:.3f} of the multiply-add limit of {}, {:.1f} G operations/s", json["of_limit"].get<double>(),
                   unit, json["limit_gflops"].get<double>());
    }
    if (json.contains("over_textbook")) {
        print_line("{:.1f} times the textbook's 16x16 kernel at this shape ({:.2f} G operations/s)",
                   json["over_textbook"].get<double>(), json["textbook_gflops"].get<double>());
    }
    if (const auto sample = on.proof.sample()) print_line("{}", oracle::sample_text(*sample));
    if (const auto failed = json["failed"].get<std::size_t>(); failed > 0)
        print_line("{} configurations could not be run", failed);
    if (!json["wrong"].empty()) print_line("{} configurations gave wrong results", json["wrong"].size());
}

/// The finals, the baselines and the report. 1 where a configuration was wrong.
Result<int> finish_kernel_bench(const KernelBenchFlags& flags, const ProblemOnDevice& on,
                                std::vector<Measured>& measured) {
    if (std::ranges::none_of(measured, [](const Measured& m) { return m.error.empty(); }))
        return bad_input(measured.front().error);
    if (!measured.front().error.empty())
        log_warning("The default cannot be run, and plans take another configuration: " + measured.front().error);
    const std::vector<Measured*> finalists = finalists_of(measured);
    if (finalists.empty()) {
        return Error{ErrorKind::Driver,
                     fmt::format("Nothing was timed: no configuration of [{}] gives right results on {}.",
                                 on.problem.name(), on.device.info().name)};
    }
    YOLK_TRY_VOID(run_finals(on, finalists));
    const Measured& best = *std::ranges::min(finalists, {}, [](const Measured* m) { return m->median(); });
    Json json = outcome_json(on, measured, best);
    YOLK_TRY_VOID(add_baselines(json, on, best));
    print_outcome(flags.common.json, json, [&] { print_bench(on, measured, best, json); });
    return json["wrong"].empty() ? 0 : 1;
}

Result<int> run_kernel(const KernelBenchFlags& flags) {
    if (flags.configurations == 0 && !flags.all) return bad_input("--configurations is 0; at least 1 is needed.");
    YOLK_TRY(const std::unique_ptr<oracle::Problem> problem, choose_problem(flags));
    YOLK_TRY(const Context context, open_context(flags.common));
    const Device& device = context.device();
    Dispatcher& dispatcher = context.dispatcher();
    const RememberShapes remember(device);
    const TuningSpace space = problem->space(device.info());
    YOLK_TRY(const Conditions conditions, parse_conditions(space, flags.where));
    std::vector<Configuration> configurations =
        choose_configurations(space, conditions, {.all = flags.all, .count = flags.configurations, .seed = flags.seed});
    if (configurations.empty()) return bad_input("No configuration of the space matches --where.");
    YOLK_TRY(const Configuration fallback, oracle::untuned_configuration(device, *problem));
    std::erase(configurations, fallback);
    configurations.insert(configurations.begin(), fallback);
    YOLK_TRY_VOID(oracle::check_memory(*problem, device.info()));
    const oracle::ProblemProof proof(*problem);
    ClockWarmUp warm_up(device, dispatcher);
    ProblemOnDevice on{*problem, proof, device, dispatcher, warm_up, {}};
    YOLK_TRY(on.filled, fill_buffers(dispatcher, proof.buffers()));
    std::vector<Measured> measured = screen_all(flags, on, configurations);
    return finish_kernel_bench(flags, on, measured);
}

}  // namespace

Command add_kernel_bench(App& bench) {
    const auto flags = std::make_shared<KernelBenchFlags>();
    App* command = bench.add_subcommand(
        "kernel", "Prove and time a kernel family over configurations of its tuning space, beside the device's limit");
    command->add_option("--kernel", flags->kernel, "The family")->type_name("NAME")->default_str("matmul");
    const Option* const shape =
        command
            ->add_option("--shape", flags->shape,
                         "Its fields, such as \"m=512 n=512 k=512\"; yolk check --list has them")
            ->type_name("TEXT");
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
