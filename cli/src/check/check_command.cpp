// SPDX-License-Identifier: Apache-2.0
#include "check_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "check_progress.hpp"
#include "check_run.hpp"
#include "closed_paths.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "select_device.hpp"
#include "train_flags.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/core/host_work.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/oracle/named_problem.hpp"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {
namespace {

struct CheckFlags {
    CommonFlags common;
    std::string devices;
    std::vector<std::string> kernels;
    std::vector<std::string> shapes;  ///< as make_named_problem reads them
    bool list = false;
    std::uint32_t configurations = 16;
    bool all = false;
    Part part;
    TrainFlags train;  ///< of --run; its seed is also that of the kernels' cases
};

/// One kernel's outcome on one device. `error` is set where the check could not run, which is a failure, too.
struct Outcome {
    oracle::CheckReport report;
    std::string error;
    [[nodiscard]] bool passed() const { return error.empty() && report.passed(); }
};

/// A family with its cases, or with the problem of a shape.
struct Wanted {
    const oracle::Family* family = nullptr;
    oracle::Problems problems{};  ///< empty: the family's cases
};

Result<std::vector<Wanted>> wanted_checks(const CheckFlags& flags) {
    std::vector<Wanted> wanted;
    for (const std::string& name : flags.kernels) {
        YOLK_TRY(const oracle::Family* const family, oracle::require_family(name));
        wanted.push_back({.family = family});
    }
    for (const std::string& shape : flags.shapes) {
        YOLK_TRY(oracle::NamedProblem named, oracle::parse_problem(shape));
        wanted.push_back({.family = named.family});
        wanted.back().problems.push_back(std::move(named.problem));
    }
    if (!wanted.empty()) return wanted;
    for (const oracle::Family* family : oracle::families()) wanted.push_back({.family = family});
    return wanted;
}

Json fields_json(const oracle::Family& family) {
    Json fields = Json::array();
    if (family.operation == nullptr) return fields;
    for (const FieldInfo& field : family.operation->fields()) {
        Json json{{"name", field.name}, {"allowed", field.allowed}};
        if (!field.fallback.empty()) json["default"] = field.fallback;
        fields.push_back(std::move(json));
    }
    return fields;
}

/// What --shape takes.
int list_kernels(bool as_json) {
    if (as_json) {
        Json all = Json::array();
        for (const oracle::Family* family : oracle::families())
            all.push_back(
                {{"kernel", family->name}, {"exactness", family->exactness}, {"fields", fields_json(*family)}});
        print_json(all);
        return 0;
    }
    std::vector<std::vector<std::string>> rows{{"class", "kernel and fields, with their defaults"}};
    for (const oracle::Family* family : oracle::families())
        rows.push_back({family->exactness, oracle::usage_of(*family)});
    print_line(table(rows));
    return 0;
}

std::string result_text(const Outcome& outcome) {
    if (outcome.passed()) return "good";
    const bool failed = !outcome.error.empty() || outcome.report.failure_count > 0 || outcome.report.finished();
    return failed ? "FAILED" : "interrupted";
}

Json closed_paths_json(const std::string& kernel, const Device& device) {
    Json paths = Json::array();
    for (const ClosedPath& path : closed_paths(kernel, device.info(), device.findings().wrong_paths))
        paths.push_back({{"path", path.name}, {"reason", path.reason}});
    return paths;
}

Json kernel_check_json(const Outcome& outcome, const Device& device) {
    const oracle::CheckReport& report = outcome.report;
    Json json{{"kernel", report.kernel},
              {"passed", outcome.passed()},
              {"exactness", report.exactness},
              {"cases", report.cases},
              {"runs", report.runs},
              {"runs_of_part", report.runs_of_part},
              {"configurations", report.configurations},
              {"configurations_of_all", report.configurations_of_all},
              {"worst_error", report.worst_error},
              {"worst_case", report.worst_case},
              {"twin_mismatches", report.twin_mismatches},
              {"output_hash", report.output_hash},
              {"failure_count", report.failure_count},
              {"failures", report.failures},
              {"closed_paths", closed_paths_json(report.kernel, device)}};
    if (!outcome.error.empty()) json["error"] = outcome.error;
    return json;
}

void print_outcomes(const Device& device, const std::vector<Outcome>& outcomes) {
    print_line("{} ({})", device.info().name, driver_text(device.info()));
    std::vector<std::vector<std::string>> rows{
        {"  kernel", "class", "cases", "configurations", "worst error", "twin mismatches", "result"}};
    for (const Outcome& outcome : outcomes) {
        const oracle::CheckReport& report = outcome.report;
        rows.push_back({"  " + report.kernel, report.exactness, fmt::format("{}", report.cases),
                        fmt::format("{} of {}", report.configurations, report.configurations_of_all),
                        fmt::format("{:.3g}", report.worst_error), fmt::format("{}", report.twin_mismatches),
                        result_text(outcome)});
    }
    print_line(table(rows));
    for (const Outcome& outcome : outcomes) {
        const std::string& kernel = outcome.report.kernel;
        for (const ClosedPath& path : closed_paths(kernel, device.info(), device.findings().wrong_paths))
            print_line("  {} was not checked on the path {}, which is closed: it {}", kernel, path.name, path.reason);
        if (outcome.passed()) continue;
        const oracle::CheckReport& report = outcome.report;
        if (!outcome.error.empty()) print_line("  {} could not be checked: {}", report.kernel, outcome.error);
        for (const std::string& failure : report.failures) print_line("  {}: {}", report.kernel, failure);
        if (report.failure_count > report.failures.size()) {
            print_line("  {}: and {} more", report.kernel, report.failure_count - report.failures.size());
        }
        if (!outcome.error.empty()) continue;
        if (report.configurations_of_all == 0) print_line("  {}: there is no case", report.kernel);
        if (!report.finished()) {
            print_line("  {}: interrupted after {} of {} runs", report.kernel, report.runs, report.runs_of_part);
        }
    }
}

oracle::CheckContext context_of(const Device& device, Dispatcher& dispatcher, const CheckFlags& flags,
                                CheckDisplay& display) {
    oracle::CheckContext context{.device = device,
                                 .dispatcher = dispatcher,
                                 .seed = flags.train.options.evolution.seed,
                                 .configurations = flags.configurations,
                                 .all_configurations = flags.all,
                                 .part = flags.part.number,
                                 .parts = flags.part.count,
                                 .stop = [] { return InterruptGuard::requested(); }};
    if (flags.common.quiet) return context;
    context.progress = [&display](const oracle::CheckProgress& progress) { display.show(progress); };
    context.on_failure = [&display](const char* family, const std::string& failure) {
        display.show_failure(family, failure);
    };
    return context;
}

/// CPU drivers compile a kernel when it first runs: the largest tiles take seconds there, and minutes where a long
/// check is the least of a machine's work.
std::chrono::nanoseconds hang_limit(const Device& device, const CommonFlags& flags) {
    if (flags.hang_seconds > 0.0) return hang_limit_of(flags);
    constexpr std::chrono::minutes kOnCpus{30};
    return device.info().kind == DeviceKind::Cpu ? kOnCpus : DispatcherOptions{}.hang_limit;
}

/// Ends behind the family in which the check was stopped, or the device failed for good: it would say so of each.
void check_kernels(const std::vector<Wanted>& wanted, const oracle::CheckContext& context,
                   std::vector<Outcome>& outcomes) {
    for (const auto& [family, problems] : wanted) {
        if (context.stop()) break;
        Result<oracle::CheckReport> report = problems.empty() ? oracle::check_family(context, *family)
                                                              : oracle::check_problems(context, *family, problems);
        Outcome outcome;
        if (report) {
            outcome.report = *std::move(report);
        } else {
            outcome.error = report.error().message;
        }
        outcome.report.kernel = family->name;
        outcomes.push_back(std::move(outcome));
        if (!report && report.error().kind == ErrorKind::DeviceLost) break;
    }
}

/// Returns how many kernels did not pass, those that were not begun included.
std::uint64_t tell_outcomes(const Device& device, const CheckFlags& flags, std::size_t wanted,
                            const std::vector<Outcome>& outcomes) {
    const auto passed = static_cast<std::uint64_t>(std::ranges::count_if(outcomes, &Outcome::passed));
    const std::uint64_t failed = wanted - passed;
    if (!flags.common.json) {
        print_outcomes(device, outcomes);
        if (outcomes.size() < wanted)
            print_line("{}{} kernels were not begun", InterruptGuard::requested() ? "interrupted: " : "",
                       wanted - outcomes.size());
        return failed;
    }
    Json kernels = Json::array();
    for (const Outcome& outcome : outcomes) kernels.push_back(kernel_check_json(outcome, device));
    print_json({{"device", device.info().name},
                {"driver", driver_text(device.info())},
                {"part", flags.part.number},
                {"parts", flags.part.count},
                {"interrupted", InterruptGuard::requested()},
                {"kernels", kernels},
                {"failed", failed}});
    return failed;
}

Result<std::uint64_t> check_device(const Device& device, const CheckFlags& flags, const std::vector<Wanted>& wanted) {
    if (InterruptGuard::requested()) return tell_outcomes(device, flags, wanted.size(), {});
    YOLK_TRY_VOID(probe(device));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device, {.hang_limit = hang_limit(device, flags.common)}));
    CheckDisplay display;
    std::vector<Outcome> outcomes;
    // A request to end that comes while the host computes what to expect; the kernel counts as not begun.
    const EndsAtStop ends([&] {
        display.finish();
        return tell_outcomes(device, flags, wanted.size(), outcomes) == 0 ? 0 : 1;
    });
    check_kernels(wanted, context_of(device, dispatcher, flags, display), outcomes);
    display.finish();
    return tell_outcomes(device, flags, wanted.size(), outcomes);
}

Result<int> run_check(const CheckFlags& flags, bool whole_run) {
    if (flags.configurations == 0) return bad_input("--configurations is 0; at least 1 is needed.");
    const InterruptGuard interrupt;  // before devices are opened, which may take its time
    if (whole_run) {
        YOLK_TRY(const train::TrainOptions options, resolve(flags.train));
        YOLK_TRY(const std::vector<Device> devices, open_devices(flags.devices, flags.common));
        return check_run(devices, options, flags.common.json, flags.common.quiet);
    }
    if (flags.list) return list_kernels(flags.common.json);
    YOLK_TRY(const std::vector<Wanted> wanted, wanted_checks(flags));
    YOLK_TRY(const std::vector<Device> devices, open_devices(flags.devices, flags.common));
    std::uint64_t failed = 0;
    for (const Device& device : devices) {
        Result<std::uint64_t> failed_here = check_device(device, flags, wanted);
        if (!failed_here)
            return std::move(failed_here).error().while_doing(fmt::format("checking '{}'", device.info().name));
        failed += *failed_here;
    }
    return failed == 0 ? 0 : 1;
}

void add_kernel_check_flags(App& app, CheckFlags& flags) {
    app.add_repeatable("--kernel", flags.kernels, "Only this kernel; may be given more than once")->type_name("NAME");
    app.add_repeatable("--shape", flags.shapes,
                       "Instead of a kernel's cases a problem of this shape, such as \"softmax rows=64 columns=100\"; "
                       "may be given more than once")
        ->type_name("TEXT");
    app.add_flag("--list", flags.list, "Print the kernels with the fields that a shape may have, and check nothing");
    const Option* const all =
        app.add_flag("--all", flags.all, "Every configuration of every family's tuning space; hours");
    add_number(app, "--configurations", flags.configurations, "Configurations drawn per kernel and case")
        ->default_str("16")
        ->only(without(all));
    add_parsed(app, "--part", flags.part,
               "Only the K-th of N parts of the runs: share a check among several runs or machines, or continue an "
               "interrupted one with the next part",
               &parse_part)
        ->type_name("K/N");
}

}  // namespace

Command add_check_command(App& app) {
    const auto flags = std::make_shared<CheckFlags>();
    flags->train.options.generations = 20;
    App* command = app.add_subcommand(
        "check", "Check the kernels against their oracles and exact twins on this machine's devices");
    add_device_flag(*command, flags->common);
    const Option* const devices =
        command->add_option("--devices", flags->devices, "Several devices: all, or a list such as 0,1")
            ->type_name("LIST");
    command->option("--device")->only(without(devices));
    const Option* const whole_run =
        command
            ->add_option("--run", flags->train.options.task,
                         "Instead train this task on each device, with two tile configurations, and compare the state "
                         "after each generation with the exact twin")
            ->type_name("TASK");
    command->group(without(whole_run), [&] { add_kernel_check_flags(*command, *flags); });
    command->group(with(whole_run), [&] { add_train_flags(*command, flags->train); });
    command->option("--seed")->always();  // of the kernels' cases, too
    command->option("--generations")->default_str("20");
    add_output_flags(*command, flags->common);
    return {command, [flags, whole_run] { return run_check(*flags, whole_run->count() > 0); }};
}

}  // namespace yolk::cli
