// SPDX-License-Identifier: Apache-2.0
#include "tune_kernel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>

#include "inspected_rows.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "select_device.hpp"
#include "tune_flags.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/host_work.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"
#include "yolk/tune_kernel.hpp"

namespace yolk::cli {
namespace {

using autotune::Machine;
using autotune::TuneUserKernelOutcome;
using autotune::UserKernel;

constexpr std::size_t kMostReasons = 3;
constexpr std::size_t kMostUntried = 8;

struct KernelTuning {
    std::filesystem::path kernel;
    std::filesystem::path space;
    std::vector<std::string> includes;
    std::filesystem::path out;
    SearchFlags search;
    CommonFlags common;
};

Result<Machine> open_machine(const KernelTuning& flags) {
    YOLK_TRY(Device device, open_untuned(flags.common));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    return Machine{std::move(device), std::move(dispatcher)};
}

Json kernel_tuning_json(const UserKernel& kernel, const TuneUserKernelOutcome& outcome) {
    const autotune::UserKernelSpace& counts = kernel.counts();
    const TuningChoice& choice = outcome.choice;
    const auto counted = [&counts](std::uint64_t count) { return counts.counted ? Json(count) : Json(); };
    const bool speeds = choice.milliseconds > 0.0 && choice.heuristic_milliseconds > 0.0;
    return {
        {"tune", "kernel"},
        {"device", outcome.device},
        {"driver", outcome.driver},
        {"table", outcome.table.string()},
        {"shape", shape_text(outcome.key.family, outcome.key.shape)},
        {"reference", kernel.reference()},
        {"combinations", counts.combinations},
        {"legal", counted(counts.legal)},
        {"against_constraints", counted(counts.against_constraints)},
        {"beyond_device", counted(counts.beyond_device)},
        {"measured", outcome.search ? outcome.search->measured : 0},
        {"rejected", outcome.search ? outcome.search->rejected : 0},
        {"interrupted", outcome.search && outcome.search->interrupted},
        {"untried", outcome.untried},
        {"decided", outcome.decided},
        {"seconds", outcome.seconds},
        {"heuristic_milliseconds", choice.heuristic_milliseconds > 0.0 ? Json(choice.heuristic_milliseconds) : Json()},
        {"tuned_milliseconds", choice.milliseconds},
        {"speed_up", speeds ? choice.heuristic_milliseconds / choice.milliseconds : 1.0},
        {"spread", choice.spread},
        {"evaluations", choice.evaluations}};
}

void print_space_notes(const UserKernel& kernel) {
    const autotune::UserKernelSpace& counts = kernel.counts();
    if (counts.counted) {
        print_line("{} of {} combinations are legal; {} break a constraint, {} are beyond the device", counts.legal,
                   counts.combinations, counts.against_constraints, counts.beyond_device);
    } else {
        print_line("{} combinations, of which a sample is searched", counts.combinations);
    }
    if (const std::string reference = kernel.reference(); !reference.empty())
        print_line("results are compared with {}", reference);
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

/// What the driver's compiler makes of the default and of what won, on a device of its own that keeps reports; nothing
/// where it has no statistics.
Result<std::vector<InspectedRow>> inspect_ends(const KernelTuning& flags, const UserKernel& kernel,
                                               const Configuration& winner, const DeviceInfo& info) {
    std::vector<InspectedRow> rows;
    if (!info.features.pipeline_statistics) return rows;
    CommonFlags untuned = flags.common;
    untuned.no_tuning = true;
    YOLK_TRY(const Context context, open_context(untuned, {.pipeline_capture = PipelineCapture::Statistics}));
    std::vector<Configuration> ends{kernel.default_configuration(info)};
    if (winner != ends.front()) ends.push_back(winner);
    for (std::size_t number = 0; number < ends.size(); ++number) {
        InspectedCandidate candidate = candidate_of(info, kernel, ends[number]);
        candidate.number = number;
        YOLK_TRY(autotune::InspectedPlan plan, autotune::inspect_plan(context.device(), kernel, ends[number]));
        std::ranges::move(rows_of(info, candidate, std::move(plan)), std::back_inserter(rows));
    }
    return rows;
}

/// `winner`: the file for an engine, which has every part of the configuration.
void print_winner(const TuneUserKernelOutcome& outcome, const Json& winner) {
    const auto text_of = [](const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); };
    const TuningChoice& choice = outcome.choice;
    const bool compared = choice.heuristic_milliseconds > 0.0;
    const std::size_t measured = outcome.search ? outcome.search->measured : 0;
    print_line(table({{"shape", "default ms", "tuned ms", "speed-up", "spread", "evaluations", "measured now"},
                      {shape_text(outcome.key.family, outcome.key.shape),
                       compared ? fmt::format("{:.4g}", choice.heuristic_milliseconds) : "-",
                       fmt::format("{:.4g}", choice.milliseconds),
                       compared ? fmt::format("{:.2f}x", choice.heuristic_milliseconds / choice.milliseconds) : "-",
                       fmt::format("{:.1f} %", 100.0 * choice.spread), fmt::format("{}", choice.evaluations),
                       fmt::format("{}", measured)}}));
    if (!outcome.untried.empty()) {
        print_line("of an earlier run; never measured, and searched with --again: {}{}",
                   fmt::join(outcome.untried | std::views::take(kMostUntried), ", "),
                   outcome.untried.size() > kMostUntried ? ", ..." : "");
    }
    for (const auto& [name, value] : winner["configuration"].items()) print_line("{} = {}", name, text_of(value));
    for (const Json& constant : winner["specialization"]) {
        print_line("layout(constant_id = {}) {} = {}", constant["constant_id"].get<std::uint32_t>(),
                   text_of(constant["name"]), text_of(constant["value"]));
    }
    for (const auto& [name, value] : winner["defines"].items()) print_line("-D{}={}", name, text_of(value));
    print_line("dispatch {}", fmt::join(winner["dispatch"].get<std::vector<std::uint32_t>>(), " x "));
    print_line("{} evaluations in {}, {} rejected; kept in {}", measured, duration_text(outcome.seconds),
               outcome.search ? outcome.search->rejected : 0, shown(outcome.table));
}

void print_kept(const TuneUserKernelOutcome& outcome) {
    print_line("{} measurements are kept; the next run continues from them.",
               outcome.search ? outcome.search->measured : 0);
}

/// The end where nothing that is right was measured.
Result<int> end_without_choice(const KernelTuning& flags, const TuneUserKernelOutcome& outcome, Json json) {
    std::vector<std::string> reasons = outcome.reasons;
    reasons.resize(std::min(reasons.size(), kMostReasons));
    if (flags.common.json) {
        json["configuration"] = Json();
        json["reasons"] = reasons;
        print_json(json);
    }
    if (outcome.search && outcome.search->interrupted) {
        if (!flags.common.json) print_kept(outcome);
        return 0;
    }
    return bad_input("No configuration of '{}' that was tried is right. Reasons:\n  {}", shown(flags.kernel),
                     fmt::join(reasons, "\n  "));
}

Result<int> end_kernel_tuning(const KernelTuning& flags, const UserKernel& kernel, const TuneUserKernelOutcome& outcome,
                              const DeviceInfo& info) {
    Json json = kernel_tuning_json(kernel, outcome);
    if (!outcome.configuration) return end_without_choice(flags, outcome, std::move(json));
    const Json winner = autotune::winner_json(kernel, outcome, flags.kernel);
    if (!flags.out.empty()) YOLK_TRY_VOID(write_file_atomically(flags.out, winner.dump(1) + "\n"));
    YOLK_TRY(const std::vector<InspectedRow> inspected, inspect_ends(flags, kernel, *outcome.configuration, info));
    if (!flags.common.json) {
        print_winner(outcome, winner);
        if (!outcome.decided) print_kept(outcome);
        if (!inspected.empty()) print_line(rows_table(inspected, true));
        return 0;
    }
    if (!inspected.empty()) {
        json["pipelines"] = Json::array();
        for (const InspectedRow& row : inspected) json["pipelines"].push_back(row_json(row));
    }
    for (const char* part : {"configuration", "specialization", "defines", "dispatch", "push_constants"})
        json[part] = winner[part];
    print_json(json);
    return 0;
}

Result<int> tune_own_kernel(const KernelTuning& flags) {
    YOLK_TRY_VOID(check_search_flags(flags.search));
    YOLK_TRY(const std::filesystem::path path, table_path());
    std::optional<Machine> machine;
    YOLK_TRY(machine, open_machine(flags));
    const std::vector<std::filesystem::path> includes(flags.includes.begin(), flags.includes.end());
    YOLK_TRY(const std::unique_ptr<UserKernel> kernel,
             UserKernel::create_to_tune(machine->device, machine->dispatcher, flags.kernel, flags.space, includes));
    warn_of_unchecked(*kernel);
    if (!flags.common.json && !flags.common.quiet) print_space_notes(*kernel);
    const SearchProgress progress(flags.common);
    const InterruptGuard interrupt;
    const EndsAtStop ends([&path] { return say_what_is_kept(path); });
    autotune::TuneUserKernelOptions options{
        .open_machine = [&flags] { return open_machine(flags); },
        .hang_limit = std::chrono::duration_cast<std::chrono::milliseconds>(hang_limit_of(flags.common))};
    take_search_flags(flags.search, progress, options);
    YOLK_TRY(const TuneUserKernelOutcome outcome, autotune::tune_user_kernel(machine, *kernel, path, options));
    return end_kernel_tuning(flags, *kernel, outcome, machine->device.info());
}

}  // namespace

Command add_tune_kernel(App& tune) {
    const auto flags = std::make_shared<KernelTuning>();
    App* const command = tune.add_subcommand("kernel", "Tune a GLSL compute shader of your own (docs/own_kernels.md)");
    command->add_option("shader", flags->kernel, "The shader")->required()->type_name("FILE");
    command->add_option("--space", flags->space, "Its parameters, buffers and dispatch")->required()->type_name("FILE");
    command
        ->add_repeatable("--include", flags->includes,
                         "The shaders may include files of this folder, too; may be given several times")
        ->type_name("FOLDER");
    command->add_option("--out", flags->out, "Write the winner as JSON, for an engine to load")->type_name("FILE");
    add_tuning_search_flags(*command, flags->search);
    add_device_choice(*command, flags->common);
    add_output_flags(*command, flags->common);
    return {command, [flags] { return tune_own_kernel(*flags); }};
}

}  // namespace yolk::cli
