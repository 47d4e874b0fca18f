// SPDX-License-Identifier: Apache-2.0
#include "bench_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench_kernel.hpp"
#include "bench_rollout.hpp"
#include "bench_step.hpp"
#include "bench_tuner.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "select_device.hpp"
#include "suite_json.hpp"
#include "suite_row.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {
namespace {

constexpr RunBudget kWholeBudget{.seconds = 1.0, .fewest = 7, .most_seconds = 20.0};
constexpr RunBudget kQuickBudget{.seconds = 0.1, .fewest = 5, .most_seconds = 2.0};
/// Limits are the best that simple kernels reached in this run; what is further above one than this is a mistake of a
/// figure, not a fast kernel.
constexpr double kMostOfLimit = 1.1;

struct SuiteFlags {
    CommonFlags common;
    bool quick = false;
    std::vector<std::string> only;  ///< parts of groups or names
    std::string compare;
};

std::vector<SuiteJob> chosen_jobs(const SuiteFlags& flags, SuiteLimits& limits) {
    std::vector<SuiteJob> chosen;
    for (std::vector<SuiteJob> jobs :
         {dispatch_jobs(), training_jobs(), system_jobs(), text_jobs(), kernel_jobs(limits)}) {
        for (SuiteJob& job : jobs) {
            const bool is_named = std::ranges::any_of(flags.only, [&](const std::string& part) {
                return job.group.find(part) != std::string::npos || job.name.find(part) != std::string::npos;
            });
            if ((job.quick || !flags.quick) && (flags.only.empty() || is_named)) chosen.push_back(std::move(job));
        }
    }
    return chosen;
}

/// "12.3 G operations/s", "4.56 M candidates/s".
std::string rate_of(const SuiteRow& row) {
    const double rate = row.rate();
    return row.unit.starts_with('G') ? fmt::format("{:.3g} {}", rate, row.unit)
                                     : fmt::format("{} {}", rate_text(rate), row.unit);
}

std::string milliseconds(double seconds) { return fmt::format("{:.4g}", seconds * 1e3); }

bool is_above_limit(const SuiteRow& row) {
    return row.error.empty() && row.limit > 0.0 && row.rate() > kMostOfLimit * row.limit;
}

void print_rows(const std::vector<SuiteRow>& rows) {
    std::vector<std::vector<std::string>> cells{
        {"group", "what", "rate", "median ms", "quartiles ms", "wall ms", "runs", "of limit"}};
    for (const SuiteRow& row : rows) {
        if (!row.error.empty()) {
            cells.push_back({row.group, row.name, "none: " + row.error, "", "", "", "", ""});
            continue;
        }
        const Spread best(row.runs.best_known());
        cells.push_back({row.group, row.name, rate_of(row), milliseconds(best.median),
                         fmt::format("{} to {}", milliseconds(best.low), milliseconds(best.high)),
                         milliseconds(Spread(row.runs.wall).median), std::to_string(row.runs.wall.size()),
                         row.limit > 0.0 ? fmt::format("{:.2f} of {}", row.rate() / row.limit, row.limit_of) : ""});
    }
    print_text(table(std::move(cells)) + "\n");
}

void print_comparison(const SuiteComparison& compared, const std::string& file) {
    print_line("beside {} (version {}): above 1 is faster now", file, compared.version_then);
    std::vector<std::vector<std::string>> cells{{"group", "what", "ratio", "spread", ""}};
    for (const ComparedRow& row : compared.rows) {
        cells.push_back({row.group, row.name, fmt::format("{:.3f}", row.ratio), fmt::format("{:.3f}", row.error),
                         row.is_slower() ? "slower" : ""});
    }
    print_text(table(std::move(cells)) + "\n");
    if (!compared.only_now.empty()) print_line("not in the file: {}", fmt::join(compared.only_now, "; "));
    if (!compared.only_then.empty()) print_line("{} rows of the file were not measured now", compared.only_then.size());
}

Json comparison_json(const SuiteComparison& compared) {
    Json json{{"version", compared.version_then}, {"only_now", compared.only_now}, {"only_then", compared.only_then}};
    json["rows"] = Json::array();
    for (const ComparedRow& row : compared.rows) {
        json["rows"].push_back({{"group", row.group},
                                {"name", row.name},
                                {"ratio", row.ratio},
                                {"spread", row.error},
                                {"slower", row.is_slower()}});
    }
    return json;
}

/// What could not be measured is a row that says why; a lost device ends everything.
Result<std::vector<SuiteRow>> measure_all(const SuiteFlags& flags, const Context& context,
                                          const std::vector<SuiteJob>& jobs) {
    const StatusLine status(!flags.common.quiet && !flags.common.json && output_is_terminal());
    std::vector<SuiteRow> rows;
    for (const SuiteJob& job : jobs) {
        if (InterruptGuard::requested()) break;
        status.show(fmt::format("{}/{} {}: {}", rows.size() + 1, jobs.size(), job.group, job.name));
        Result<SuiteRow> measured = job.measure(context, flags.quick ? kQuickBudget : kWholeBudget);
        if (!measured && measured.error().kind == ErrorKind::DeviceLost) return std::move(measured).error();
        SuiteRow row;
        if (measured) {
            row = *std::move(measured);
        } else {
            row.error = measured.error().message;
        }
        if (measured && row.runs.wall.empty()) row.error = "nothing was timed before the end was asked for";
        row.group = job.group;
        row.name = job.name;
        rows.push_back(std::move(row));
    }
    status.finish();
    return rows;
}

Result<int> run_suite(const SuiteFlags& flags) {
    SuiteLimits limits;
    const std::vector<SuiteJob> jobs = chosen_jobs(flags, limits);
    if (jobs.empty())
        return bad_input("No row has '{}' in its group or name; `yolk bench` without --only shows all of them.",
                         fmt::join(flags.only, "' or '"));
    YOLK_TRY(const Context context, open_context(flags.common));
    std::optional<tasks::BenchOutcome> then;
    if (!flags.compare.empty()) {
        YOLK_TRY(then, read_suite(flags.compare, context.device()));
    }
    const InterruptGuard interrupt;
    YOLK_TRY(const std::vector<SuiteRow> rows, measure_all(flags, context, jobs));
    std::optional<SuiteComparison> compared;
    if (then) compared = compare_suites(rows, *then);
    Json json = suite_json(context.device(), rows, limits);
    json["interrupted"] = InterruptGuard::requested();
    if (compared) json["compared"] = comparison_json(*compared);
    print_outcome(flags.common.json, json, [&] {
        print_line("{} ({})", context.device().info().name, driver_text(context.device().info()));
        for (const SuiteLimits::Known& limit : limits.known())
            print_line("limit: {:.4g} {}, {}", limit.rate, limit.unit, limit.name);
        print_rows(rows);
        if (compared) print_comparison(*compared, flags.compare);
    });
    for (const SuiteRow& row : rows) {
        if (is_above_limit(row))
            print_error(fmt::format("{}: {} is {:.2f} of the limit of {}; one of the two figures is wrong.", row.group,
                                    row.name, row.rate() / row.limit, row.limit_of));
    }
    const bool is_bad = InterruptGuard::requested() || std::ranges::any_of(rows, &is_above_limit) ||
                        (compared && std::ranges::any_of(compared->rows, &ComparedRow::is_slower));
    return is_bad ? 1 : 0;
}

}  // namespace

Command add_bench_command(App& app) {
    App* group = app.add_subcommand("bench", "Time Yolk on a device: a suite, or one part of the work");
    const auto flags = std::make_shared<SuiteFlags>();
    group->group(group->without_subcommand(), [&] {
        group->add_flag("--quick", flags->quick, "Fewer rows and runs: two minutes on a CPU driver");
        group->add_repeatable("--only", flags->only, "Rows with this in their group or name; may be repeated")
            ->type_name("TEXT");
        group
            ->add_option(
                "--compare", flags->compare,
                "What --json printed earlier on this machine; exit code 1 if a row is slower beyond both spreads")
            ->type_name("FILE");
        add_device_flag(*group, flags->common);
        add_output_flags(*group, flags->common);
    });
    const std::array<Command, 4> commands{add_rollout_bench(*group), add_kernel_bench(*group), add_step_bench(*group),
                                          add_tuner_bench(*group)};
    return {group, [commands, flags]() -> Result<int> {
                const auto named = std::ranges::find_if(commands, [](const Command& one) { return one.app->parsed(); });
                return named == commands.end() ? run_suite(*flags) : named->run();
            }};
}

}  // namespace yolk::cli
