// SPDX-License-Identifier: Apache-2.0
#include "tune_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "yolk/internal/autotune/strategy.hpp"
#include "yolk/internal/context/tuning_file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {
namespace {

constexpr std::uint32_t kLargestSearchBudget = 100'000;

}  // namespace

void add_tuning_search_flags(App& app, SearchFlags& flags) {
    add_strategy_flag(app, flags.strategy);
    add_number(app, "--budget", flags.budget, "Measurements of a shape, those of earlier runs counted")
        ->default_str("60");
    add_number(app, "--seed", flags.seed, "Of the search")->default_str("1");
    add_number(app, "--seconds", flags.seconds,
               "Time for the whole run; only a measurement that is under way may exceed it")
        ->type_name("SECONDS")
        ->default_str("540");
    app.add_flag("--again", flags.again, "Also tune shapes that are tuned already");
    app.add_option("--record", flags.record,
                   "Write what was measured: T4 where the name ends in .t4.json, else a Kernel Tuner cache; numbered "
                   "where there are several shapes")
        ->type_name("FILE");
}

Result<void> check_search_flags(const SearchFlags& flags) {
    if (flags.budget == 0) return bad_input("--budget is 0; at least 1 measurement is needed.");
    if (flags.budget > kLargestSearchBudget)
        return bad_input("--budget is {}; 1 to {} are allowed.", flags.budget, kLargestSearchBudget);
    if (!(flags.seconds > 0.0F && flags.seconds < 1e7F))
        return bad_input("--seconds is {}; it is above 0 and below 10,000,000.", flags.seconds);
    return {};
}

void add_recording_flags(App& app, autotune::RecordingOptions& options) {
    app.add_list("--parameters", options.parameters, "Which names of a flat list or a CSV file are parameters")
        ->type_name("NAMES...");
    const auto read = [&options](const std::string& text) -> Result<void> {
        if (text.empty() || text == "max:" || text == "min:")
            return bad_input("--objective is '{}', which names nothing; NAME, max:NAME or min:NAME is expected.",
                             shown(text));
        options.objective = text;
        return {};
    };
    app.add_value("--objective", read,
                  "What was measured and is searched for; max:NAME or min:NAME where it is not known which is better")
        ->type_name("NAME")
        ->default_str("what the recording names, else time");
}

Option* add_strategy_flag(App& app, std::string& strategy) {
    return add_parsed(app, "--strategy", strategy, fmt::format("{}", fmt::join(autotune::strategy_names(), ", ")),
                      &parse_strategy)
        ->type_name("NAME")
        ->default_str("natural");
}

Result<std::string> parse_strategy(std::string_view text) {
    const auto names = autotune::strategy_names();
    if (std::ranges::find(names, text) != names.end()) return std::string(text);
    return bad_input("There is no strategy '{}'; there are {}.", shown(text), fmt::join(names, ", "));
}

Condition with_strategy(const std::string& strategy, std::vector<std::string> names) {
    const std::string text = fmt::format("goes with --strategy {}", fmt::join(names, " or "));
    return {text, [&strategy, names = std::move(names)] { return std::ranges::find(names, strategy) != names.end(); }};
}

void add_algebra_flags(App& app, AlgebraFlags& flags, const std::string& strategy, const std::string& otherwise,
                       CommonFlags& common, bool with_device) {
    add_parsed(app, "--algebra", flags.place,
               "Where natural, bayes and eggroll compute: host, device (with the host's bits), or auto: natural and "
               "bayes wherever a step is faster, eggroll on the device",
               &autotune::parse_algebra_place)
        ->type_name("WHERE")
        ->default_str(otherwise)
        ->only(with_strategy(strategy, {"natural", "bayes", "eggroll"}));
    const auto on_device = [&flags] { return flags.place && *flags.place != autotune::AlgebraPlace::Host; };
    app.group({"goes with --algebra device or auto", on_device}, [&] {
        if (with_device) add_device_choice(app, common);
        app.add_flag("--no-tuning", common.no_tuning, "The algebra's kernels take their defaults");
    });
}

void add_algebra_to(Json& json, const autotune::AlgebraReport& report) {
    json["algebra"] = !report.on_device ? "host" : "device";
    if (report.host_milliseconds)
        json["algebra_step_milliseconds"] = {{"host", *report.host_milliseconds},
                                             {"device", *report.device_milliseconds}};
    if (!report.on_device) return;
    if (report.policy) {
        json["algebra_counts"] = {{"searches", report.policy->searches},
                                  {"generations", report.policy->generations},
                                  {"scored", report.policy->scored},
                                  {"take_overs", report.policy->take_overs},
                                  {"reason", report.policy->reason}};
        return;
    }
    const autotune::DeviceAlgebraCounts& counts = report.counts;
    json["algebra_counts"] = {{"proposals", counts.proposals},
                              {"near", counts.near},
                              {"worked_out", counts.worked_out},
                              {"closer", counts.closer},
                              {"agreed", counts.agreed},
                              {"regressions", counts.regressions},
                              {"inversions", counts.inversions},
                              {"plans", counts.plans},
                              {"audits", counts.audits},
                              {"take_overs", counts.take_overs()},
                              {"disagreements", counts.disagreements},
                              {"failures", counts.failures},
                              {"reason", counts.reason},
                              {"residual", counts.residual},
                              {"mean_error", counts.mean_error},
                              {"variance_error", counts.variance_error}};
}

void print_algebra(const autotune::AlgebraReport& report) {
    const std::string steps = report.host_milliseconds
                                  ? fmt::format(" (a step takes {:.2f} ms on the host, {:.2f} ms on the device)",
                                                *report.host_milliseconds, *report.device_milliseconds)
                                  : std::string();
    if (!report.on_device) {
        if (!report.why.empty()) print_line("algebra on the host: {}{}", report.why, steps);
        return;
    }
    if (report.policy) {
        const autotune::DevicePolicyCounts& counts = *report.policy;
        print_line("eggroll on {}: {} generations of {} searches, the host took over {} times{}{}", report.device,
                   counts.generations, counts.searches, counts.take_overs, counts.reason.empty() ? "" : ", last since ",
                   counts.reason);
        return;
    }
    const autotune::DeviceAlgebraCounts& counts = report.counts;
    std::string line = fmt::format("algebra on {}{}: {} proposals, the host took over {} times", report.device, steps,
                                   counts.proposals, counts.take_overs());
    if (!counts.reason.empty()) line += fmt::format(", last since {}", counts.reason);
    print_line(line);
}

Result<std::filesystem::path> table_path() {
    std::filesystem::path path = default_table_path();
    if (path.empty()) return bad_input("There is no folder for a tuning table; name a file in $YOLK_TABLE.");
    return path;
}

int say_what_is_kept(const std::filesystem::path& table) {
    print_error(
        fmt::format("Ended by a signal while the host computed what a kernel must give. What was measured before is in "
                    "'{}'.",
                    shown(table)));
    return 1;
}

SearchProgress::SearchProgress(const CommonFlags& common)
    : line_(!common.json && !common.quiet), json_(common.json && !common.quiet) {}

void SearchProgress::show(const std::string& shape, const autotune::LiveProgress& progress) const {
    if (json_) {
        print_json({{"shape", shape},
                    {"evaluations", progress.evaluations},
                    {"rejected", progress.rejected},
                    {"best_milliseconds", progress.best_milliseconds},
                    {"heuristic_milliseconds", progress.heuristic_milliseconds}});
    }
    const double speed_up = progress.heuristic_milliseconds / progress.best_milliseconds;
    std::string line = fmt::format("{} of {}, {} rejected, best {:.4g} ms against {:.4g} ms ({:.2f}x)  {}",
                                   progress.evaluations, progress.budget, progress.rejected, progress.best_milliseconds,
                                   progress.heuristic_milliseconds, speed_up, shape);
    line.resize(std::min<std::size_t>(line.size(), terminal_columns() - 1));
    line_.show(line);
}

}  // namespace yolk::cli
