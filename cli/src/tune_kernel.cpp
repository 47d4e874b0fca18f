// SPDX-License-Identifier: Apache-2.0
#include "tune_kernel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>

#include "interrupt.hpp"
#include "output.hpp"
#include "select_device.hpp"
#include "tune_progress.hpp"
#include "yolk/autotune/recording.hpp"
#include "yolk/autotune/tune_live.hpp"
#include "yolk/autotune/user_kernel.hpp"
#include "yolk/core/file.hpp"
#include "yolk/core/log.hpp"
#include "yolk/primitives/limits.hpp"
#include "yolk/runtime/probe.hpp"

namespace yolk::cli {
namespace {

using autotune::TuneLiveOutcome;
using autotune::TuningChoice;
using autotune::UserKernel;
using Clock = std::chrono::steady_clock;

constexpr int kMostLostDevices = 8;
constexpr const char* kRestarts = "YOLK_TUNE_RESTARTS";  // how often start_again() has

/// A device with what runs on it; made anew where a candidate has taken it.
struct Machine {
    Device device;
    Dispatcher dispatcher;
};

Result<Machine> open_machine(const KernelFlags& flags, const CommonFlags& common) {
    CommonFlags untuned = common;
    untuned.no_tuning = true;
    YOLK_TRY(Device device, open_device(untuned));
    YOLK_TRY_VOID(probe(device));
    DispatcherOptions options;
    if (flags.hang_seconds > 0.0F)
        options.hang_limit = std::chrono::milliseconds(static_cast<std::int64_t>(flags.hang_seconds * 1000.0F));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device, options));
    return Machine{std::move(device), std::move(dispatcher)};
}

Result<void> check_kernel_flags(const KernelFlags& flags, const LiveFlags& live) {
    if (flags.space.empty())
        return bad_input("--kernel needs --space FILE, which says what may be chosen; see docs/own_kernels.md.");
    if (!live.job.empty() || !live.shapes.empty())
        return bad_input("--kernel names what to tune; --job and --shapes are for Yolk's own kernels.");
    YOLK_TRY_VOID(check_search_flags(live));
    if (!live.record.empty()) YOLK_TRY_VOID(autotune::check_recording_place(live.record));
    if (!(flags.hang_seconds >= 0.0F && flags.hang_seconds < 1e6F))
        return bad_input(fmt::format("--hang-seconds is {}; it is above 0.", flags.hang_seconds));
    return {};
}

/// One tuning, with what it is made of.
struct KernelTuning {
    const KernelFlags& flags;
    const LiveFlags& live;
    const CommonFlags& common;
    const UserKernel& kernel;
    const autotune::TuningFile& file;
    autotune::TuningKey key;
    Clock::time_point end;
    double multiply_adds_per_second = 0.0;
};

/// The same command for the time that is left, in this process's place: the only way to be rid of a CPU driver's thread
/// that never ends. What was learned is in the table. Returns where that is not possible.
void start_again(const KernelTuning& tuning) {
    const char* const before = std::getenv(kRestarts);  // NOLINT(concurrency-mt-unsafe): one thread by now
    const int restarts = before == nullptr ? 0 : std::atoi(before);
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::vector<std::string> arguments;
    bool is_value = false;
    for (std::string argument; std::getline(file, argument, '\0');) {
        const bool dropped = is_value || argument == "--again" || argument.starts_with("--seconds");
        is_value = argument == "--seconds";
        if (!dropped) arguments.push_back(argument);
    }
    if (arguments.empty() || restarts >= kMostLostDevices) return;
    const double left = std::chrono::duration<double>(tuning.end - Clock::now()).count();
    arguments.insert(arguments.end(), {"--seconds", fmt::format("{:.3f}", std::max(left, 0.001))});
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    std::fflush(nullptr);
    ::setenv(kRestarts, std::to_string(restarts + 1).c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    ::execv("/proc/self/exe", pointers.data());
}

/// Goes on after a device is lost, with a new one: what lost it is quarantined by then.
Result<TuneLiveOutcome> search(const KernelTuning& tuning, std::optional<Machine>& machine) {
    const SearchProgress progress(tuning.common);
    const std::string shape = autotune::shape_text(tuning.key.family, tuning.key.shape);
    const autotune::TuneLiveOptions options{
        .tuner = {.strategy = tuning.live.strategy,
                  .budget = tuning.live.budget == 0 ? kDefaultBudget : tuning.live.budget,
                  .seed = tuning.live.seed},
        .again = tuning.live.again,
        .deadline = tuning.end,
        .limit = tuning.end,
        .multiply_adds_per_second = tuning.multiply_adds_per_second,
        .progress =
            [&](const autotune::LiveProgress& at) {
                progress.show(shape, at);
                return !InterruptGuard::requested();
            },
    };
    const auto tune = [&]() -> Result<TuneLiveOutcome> {
        YOLK_TRY(autotune::RunJournal journal,
                 autotune::RunJournal::create(autotune::journal_folder(tuning.file.path())));
        return autotune::tune_live(machine->device, machine->dispatcher, tuning.kernel, tuning.file, journal, options);
    };
    for (int lost = 0;; ++lost) {
        Result<TuneLiveOutcome> outcome = tune();
        progress.finish();
        const bool is_lost = !outcome && outcome.error().kind == ErrorKind::DeviceLost;
        if (!is_lost || lost == kMostLostDevices || InterruptGuard::requested()) return outcome;
        log_warning(fmt::format("A configuration lost the device and is quarantined; the search goes on. {}",
                                outcome.error().message));
        if (machine->device.info().kind == DeviceKind::Cpu) {
            start_again(tuning);
            outcome.error().message += " Run the same command again: it goes on without this configuration.";
            return outcome;
        }
        machine.reset();
        YOLK_TRY(machine, open_machine(tuning.flags, tuning.common));
    }
}

/// Different reasons for which configurations failed, most frequent first.
std::vector<std::string> reasons_of(const std::vector<autotune::TuningSample>& samples) {
    std::vector<std::pair<std::size_t, std::string>> counted;
    for (const autotune::TuningSample& sample : samples) {
        if (sample.reason.empty()) continue;
        const auto same = std::ranges::find(counted, sample.reason, &std::pair<std::size_t, std::string>::second);
        if (same == counted.end()) {
            counted.emplace_back(1, sample.reason);
        } else {
            ++same->first;
        }
    }
    std::ranges::stable_sort(counted, std::greater<>(), &std::pair<std::size_t, std::string>::first);
    std::vector<std::string> reasons;
    for (auto& [count, reason] : counted) reasons.push_back(std::move(reason));
    return reasons;
}

Json best_json(const KernelTuning& tuning, const Device& device, const TuningChoice& choice,
               const Configuration& configuration) {
    Json json{{"yolk_kernel", 1},
              {"shader", std::filesystem::path(tuning.flags.kernel).filename().string()},
              {"kernel", tuning.key.shape.variant},
              {"device", device.info().name},
              {"driver", driver_text(device.info())},
              {"sizes", tuning.kernel.sizes()}};
    json.update(tuning.kernel.describe(configuration));
    json["reference"] = tuning.kernel.reference();
    json["milliseconds"] = choice.milliseconds;
    json["default_milliseconds"] = choice.heuristic_milliseconds;
    json["spread"] = choice.spread;
    json["evaluations"] = choice.evaluations;
    return json;
}

Json kernel_outcome_json(const KernelTuning& tuning, const Device& device,
                         const std::optional<TuneLiveOutcome>& outcome, const TuningChoice& choice, double seconds) {
    const autotune::UserKernelSpace& counts = tuning.kernel.counts();
    const auto counted = [&counts](std::uint64_t count) { return counts.counted ? Json(count) : Json(); };
    const bool speeds = choice.milliseconds > 0.0 && choice.heuristic_milliseconds > 0.0;
    const double speed_up = speeds ? choice.heuristic_milliseconds / choice.milliseconds : 1.0;
    Json json{
        {"tune", "kernel"},
        {"device", device.info().name},
        {"driver", driver_text(device.info())},
        {"table", tuning.file.path().string()},
        {"shape", autotune::shape_text(tuning.key.family, tuning.key.shape)},
        {"reference", tuning.kernel.reference()},
        {"combinations", counts.combinations},
        {"legal", counted(counts.legal)},
        {"against_constraints", counted(counts.against_constraints)},
        {"beyond_device", counted(counts.beyond_device)},
        {"measured", outcome ? outcome->measured : 0},
        {"rejected", outcome ? outcome->rejected : 0},
        {"interrupted", outcome && outcome->interrupted},
        {"seconds", seconds},
        {"heuristic_milliseconds", choice.heuristic_milliseconds > 0.0 ? Json(choice.heuristic_milliseconds) : Json()},
        {"tuned_milliseconds", choice.milliseconds},
        {"speed_up", speed_up},
        {"spread", choice.spread},
        {"evaluations", choice.evaluations}};
    return json;
}

void print_notes(const UserKernel& kernel) {
    const autotune::UserKernelSpace& counts = kernel.counts();
    if (counts.counted) {
        print_line(fmt::format("{} of {} combinations are legal; {} break a constraint, {} are beyond the device",
                               counts.legal, counts.combinations, counts.against_constraints, counts.beyond_device));
    } else {
        print_line(fmt::format("{} combinations, of which a sample is searched", counts.combinations));
    }
    if (const std::string reference = kernel.reference(); !reference.empty())
        print_line(fmt::format("results are compared with {}", reference));
}

/// On standard error, so that --json and --quiet do not hide it.
void warn_of_unchecked(const UserKernel& kernel) {
    const std::vector<std::string> unchecked = kernel.unchecked_outputs();
    if (unchecked.empty()) return;
    log_warning(
        fmt::format("NOBODY KNOWS WHAT IS RIGHT in {}: checked only for determinism and guard bands. A wrong "
                    "configuration may win; give a 'reference' or a 'golden' file (docs/own_kernels.md).",
                    fmt::join(unchecked, ", ")));
}

void print_choice(const Json& json, const Json& best) {
    const auto text_of = [](const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); };
    const Json heuristic = json["heuristic_milliseconds"];
    print_line(table({{"shape", "default ms", "tuned ms", "speed-up", "spread", "evaluations", "measured now"},
                      {json["shape"].get<std::string>(),
                       heuristic.is_number() ? fmt::format("{:.4g}", heuristic.get<double>()) : "-",
                       fmt::format("{:.4g}", json["tuned_milliseconds"].get<double>()),
                       heuristic.is_number() ? fmt::format("{:.2f}x", json["speed_up"].get<double>()) : "-",
                       fmt::format("{:.1f} %", 100.0 * json["spread"].get<double>()),
                       fmt::format("{}", json["evaluations"].get<std::uint64_t>()),
                       fmt::format("{}", json["measured"].get<std::uint64_t>())}}));
    for (const auto& [name, value] : best["configuration"].items())
        print_line(fmt::format("{} = {}", name, text_of(value)));
    for (const Json& constant : best["specialization"]) {
        print_line(fmt::format("layout(constant_id = {}) {} = {}", constant["constant_id"].get<std::uint32_t>(),
                               text_of(constant["name"]), text_of(constant["value"])));
    }
    for (const auto& [name, value] : best["defines"].items()) print_line(fmt::format("-D{}={}", name, text_of(value)));
    print_line(fmt::format("dispatch {}", fmt::join(best["dispatch"].get<std::vector<std::uint32_t>>(), " x ")));
    print_line(fmt::format("{} evaluations in {}, {} rejected; kept in {}", json["measured"].get<std::uint64_t>(),
                           duration_text(json["seconds"].get<double>()), json["rejected"].get<std::uint64_t>(),
                           json["table"].get<std::string>()));
}

Result<void> write_recording(const KernelTuning& tuning, const Device& device) {
    if (tuning.live.record.empty()) return {};
    YOLK_TRY(const std::vector<autotune::TuningSample> samples, tuning.file.samples(tuning.key));
    const std::filesystem::path path = tuning.live.record;
    return autotune::write_recording(
        path, autotune::recording_text(tuning.kernel.space(device.info()), samples, device.info().name,
                                       autotune::recording_format(path)));
}

/// The end where nothing was chosen: stopped too early, or nothing is right.
Result<int> finish_without_choice(const KernelTuning& tuning, Json json) {
    YOLK_TRY(const std::vector<autotune::TuningSample> samples, tuning.file.samples(tuning.key));
    const bool any_right = std::ranges::any_of(
        samples, [](const autotune::TuningSample& sample) { return std::isfinite(sample.milliseconds); });
    std::vector<std::string> reasons = reasons_of(samples);
    reasons.resize(std::min<std::size_t>(reasons.size(), 3));
    if (tuning.common.json) {
        json["configuration"] = Json();
        json["reasons"] = reasons;
        print_json(json);
    }
    if (any_right || json["interrupted"].get<bool>()) {
        if (!tuning.common.json)
            print_line(fmt::format("{} evaluations are kept; the next run goes on from them.",
                                   json["measured"].get<std::uint64_t>()));
        return 0;
    }
    return bad_input(fmt::format("No configuration of '{}' that was tried is right. Reasons:\n  {}",
                                 tuning.flags.kernel, fmt::join(reasons, "\n  ")));
}

Result<int> finish(const KernelTuning& tuning, const Device& device, const std::optional<TuneLiveOutcome>& outcome,
                   const std::optional<TuningChoice>& known, double seconds) {
    YOLK_TRY_VOID(write_recording(tuning, device));
    const bool chosen = outcome && !outcome->choice.configuration.empty();
    const TuningChoice choice = chosen ? outcome->choice : known.value_or(TuningChoice{});
    Json json = kernel_outcome_json(tuning, device, outcome, choice, seconds);
    const std::optional<Configuration> configuration =
        ordered_configuration(tuning.kernel.space(device.info()), choice.configuration);
    if (!configuration) return finish_without_choice(tuning, std::move(json));
    const Json best = best_json(tuning, device, choice, *configuration);
    if (!tuning.flags.out.empty()) YOLK_TRY_VOID(write_file_atomically(tuning.flags.out, best.dump(1) + "\n"));
    if (tuning.common.json) {
        for (const char* part : {"configuration", "specialization", "defines", "dispatch", "push_constants"})
            json[part] = best[part];
        print_json(json);
    } else {
        print_choice(json, best);
    }
    return 0;
}

}  // namespace

void add_kernel_flags(CLI::App& app, KernelFlags& flags) {
    app.add_option("--kernel", flags.kernel, "Tune a GLSL compute shader of your own (docs/own_kernels.md)")
        ->type_name("FILE");
    app.add_option("--space", flags.space, "Of --kernel: its parameters, buffers and dispatch")->type_name("FILE");
    add_number(app, "--hang-seconds", flags.hang_seconds, "Of --kernel: a run that takes longer hangs (default 120)")
        ->type_name("SECONDS");
}

Result<int> tune_kernel(const KernelFlags& flags, const LiveFlags& live, const CommonFlags& common) {
    YOLK_TRY_VOID(check_kernel_flags(flags, live));
    const std::filesystem::path path = autotune::default_table_path();
    if (path.empty()) return bad_input("There is no place for a tuning table; name one in $YOLK_TABLE.");
    std::optional<Machine> machine;
    YOLK_TRY(machine, open_machine(flags, common));
    YOLK_TRY(const std::unique_ptr<UserKernel> kernel,
             UserKernel::create(machine->device, machine->dispatcher, flags.kernel, flags.space));
    warn_of_unchecked(*kernel);
    if (!common.json && !common.quiet) print_notes(*kernel);
    YOLK_TRY(const autotune::TuningFile file, autotune::TuningFile::open(path));
    YOLK_TRY_VOID(autotune::recover_journals(file));
    const DeviceInfo info = machine->device.info();
    const auto begin = Clock::now();
    const double seconds = live.seconds > 0.0F ? static_cast<double>(live.seconds) : kDefaultSeconds;
    KernelTuning tuning{
        .flags = flags,
        .live = live,
        .common = common,
        .kernel = *kernel,
        .file = file,
        .key = autotune::tuning_key(info, kernel->space(info)),
        .end = begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))};
    YOLK_TRY(const std::vector<TuningChoice> choices, file.choices());
    const std::optional<TuningChoice> known = autotune::known_choices(choices, tuning.key).exact;
    std::optional<TuneLiveOutcome> outcome;
    if (!known || live.again) {
        if (kernel->work().operations > 0.0) {
            YOLK_TRY(tuning.multiply_adds_per_second,
                     measure_multiply_adds_per_second(machine->device, machine->dispatcher, tuning.end));
        }
        const InterruptGuard interrupt;
        YOLK_TRY(outcome, search(tuning, machine));
    }
    return finish(tuning, machine->device, outcome, known, std::chrono::duration<double>(Clock::now() - begin).count());
}

}  // namespace yolk::cli
