// SPDX-License-Identifier: Apache-2.0
#include "check_command.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "check_run.hpp"
#include "output.hpp"
#include "select_device.hpp"
#include "train_flags.hpp"
#include "yolk/oracle/check.hpp"
#include "yolk/oracle/family.hpp"
#include "yolk/runtime/dispatcher.hpp"
#include "yolk/runtime/probe.hpp"

namespace yolk::cli {
namespace {

struct Flags {
    CommonFlags common;
    std::string devices;
    std::vector<std::string> kernels;
    std::uint32_t configurations = 16;
    bool all = false;
    TrainFlags train;  ///< of --run; its seed is also that of the kernels' cases
};

/// One kernel's outcome on one device. `error` is set where the check could not run, which is a failure, too.
struct Outcome {
    oracle::CheckReport report;
    std::string error;
    [[nodiscard]] bool passed() const { return error.empty() && report.passed(); }
};

Result<std::vector<const oracle::Family*>> wanted_families(const std::vector<std::string>& names) {
    const auto all = oracle::families();
    if (names.empty()) return std::vector<const oracle::Family*>(all.begin(), all.end());
    std::vector<const oracle::Family*> wanted;
    for (const std::string& name : names) {
        const std::size_t before = wanted.size();
        std::string known;
        for (const oracle::Family* family : all) {
            if (name == family->name) wanted.push_back(family);
            known += known.empty() ? family->name : std::string(", ") + family->name;
        }
        if (wanted.size() == before)
            return bad_input(fmt::format("There is no kernel '{}' to check; there are {}.", name, known));
    }
    return wanted;
}

std::vector<Outcome> check_kernels(const std::vector<const oracle::Family*>& families,
                                   const oracle::CheckContext& context) {
    std::vector<Outcome> outcomes;
    for (const oracle::Family* family : families) {
        Result<oracle::CheckReport> report = oracle::check_family(context, *family);
        Outcome outcome;
        if (report) {
            outcome.report = *std::move(report);
        } else {
            outcome.error = report.error().message;
        }
        outcome.report.kernel = family->name;
        outcomes.push_back(std::move(outcome));
    }
    return outcomes;
}

/// One line of a terminal, rewritten.
void show_progress(const char* family, std::size_t problem, std::size_t problems, std::size_t configuration,
                   std::size_t configurations) {
    fmt::print("\r  {:<70}", fmt::format("{}: case {} of {}, configuration {} of {}", family, problem + 1, problems,
                                         configuration + 1, configurations));
    std::fflush(stdout);
}

void clear_progress() { fmt::print("\r{:<72}\r", ""); }

Json outcome_json(const Outcome& outcome) {
    const oracle::CheckReport& report = outcome.report;
    Json json{{"kernel", report.kernel},
              {"passed", outcome.passed()},
              {"exactness", report.exactness},
              {"cases", report.cases},
              {"worst_error", report.worst_error},
              {"worst_case", report.worst_case},
              {"twin_mismatches", report.twin_mismatches},
              {"output_hash", report.output_hash},
              {"failure_count", report.failure_count},
              {"failures", report.failures}};
    if (!outcome.error.empty()) json["error"] = outcome.error;
    return json;
}

void print_outcomes(const DeviceInfo& info, const std::vector<Outcome>& outcomes) {
    print_line(fmt::format("{} ({})", info.name, driver_text(info)));
    std::vector<std::vector<std::string>> rows{
        {"  kernel", "class", "cases", "worst error", "twin mismatches", "result"}};
    for (const Outcome& outcome : outcomes) {
        const oracle::CheckReport& report = outcome.report;
        rows.push_back({"  " + report.kernel, report.exactness, fmt::format("{}", report.cases),
                        fmt::format("{:.3g}", report.worst_error), fmt::format("{}", report.twin_mismatches),
                        outcome.passed() ? "good" : "FAILED"});
    }
    print_line(table(rows));
    for (const Outcome& outcome : outcomes) {
        if (outcome.passed()) continue;
        const oracle::CheckReport& report = outcome.report;
        if (!outcome.error.empty())
            print_line(fmt::format("  {} could not be checked: {}", report.kernel, outcome.error));
        for (const std::string& failure : report.failures) print_line(fmt::format("  {}: {}", report.kernel, failure));
        if (report.failure_count > report.failures.size()) {
            print_line(fmt::format("  {}: and {} more", report.kernel, report.failure_count - report.failures.size()));
        }
        if (outcome.error.empty() && report.cases == 0) print_line(fmt::format("  {}: no case was run", report.kernel));
    }
}

/// Returns how many kernels failed.
Result<std::uint64_t> check_device(const Device& device, const Flags& flags,
                                   const std::vector<const oracle::Family*>& families) {
    YOLK_TRY_VOID(probe(device));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    const bool live = !flags.common.json && !flags.common.quiet && output_is_terminal();
    const std::vector<Outcome> outcomes = check_kernels(families, {.device = device,
                                                                   .dispatcher = dispatcher,
                                                                   .seed = flags.train.options.evolution.seed,
                                                                   .configurations = flags.configurations,
                                                                   .all_configurations = flags.all,
                                                                   .progress = live ? &show_progress : nullptr});
    if (live) clear_progress();
    std::uint64_t failed = 0;
    for (const Outcome& outcome : outcomes) failed += outcome.passed() ? 0U : 1U;
    if (!flags.common.json) {
        print_outcomes(device.info(), outcomes);
        return failed;
    }
    Json kernels = Json::array();
    for (const Outcome& outcome : outcomes) kernels.push_back(outcome_json(outcome));
    print_json({{"device", device.info().name},
                {"driver", driver_text(device.info())},
                {"kernels", kernels},
                {"failed", failed}});
    return failed;
}

Result<int> run_check(const Flags& flags, bool whole_run) {
    if (flags.configurations == 0) return bad_input("--configurations is 0; at least 1 is needed.");
    if (whole_run) {
        YOLK_TRY(const train::TrainOptions options, resolve(flags.train));
        YOLK_TRY(const std::vector<Device> devices, open_devices(flags.devices, flags.common.device));
        return check_run(devices, options, flags.common.json, flags.common.quiet);
    }
    YOLK_TRY(const std::vector<const oracle::Family*> families, wanted_families(flags.kernels));
    YOLK_TRY(const std::vector<Device> devices, open_devices(flags.devices, flags.common.device));
    std::uint64_t failed = 0;
    for (const Device& device : devices) {
        Result<std::uint64_t> failed_here = check_device(device, flags, families);
        if (!failed_here)
            return std::move(failed_here).error().while_doing(fmt::format("checking '{}'", device.info().name));
        failed += *failed_here;
    }
    return failed == 0 ? 0 : 1;
}

}  // namespace

Command add_check_command(CLI::App& app) {
    const auto flags = std::make_shared<Flags>();
    flags->train.options.generations = 20;
    CLI::App* command =
        app.add_subcommand("check", "Hold the kernels against their oracles and exact twins on this machine's devices");
    add_device_flag(*command, flags->common);
    command->add_option("--devices", flags->devices, "Several devices: all, or a list such as 0,1")
        ->type_name("LIST")
        ->excludes("--device");
    command->add_option("--kernel", flags->kernels, "Only this kernel; may be given more than once")
        ->type_name("NAME")
        ->allow_extra_args(false);
    add_number(*command, "--configurations", flags->configurations, "Configurations drawn per kernel and case")
        ->default_str("16");
    command->add_flag("--all", flags->all, "Every configuration of every family's tuning space; hours")
        ->excludes("--configurations");
    CLI::Option* whole_run =
        command->add_option("--run", flags->train.options.task,
                            "Instead train this task on each device, with two tile configurations, and compare the "
                            "state after each generation with the exact twin");
    whole_run->type_name("TASK")->excludes("--kernel");
    add_train_flags(*command, flags->train);
    command->get_option("--generations")->default_str("20");
    add_output_flags(*command, flags->common);
    return {command, [flags, whole_run] { return run_check(*flags, whole_run->count() > 0); }};
}

}  // namespace yolk::cli
