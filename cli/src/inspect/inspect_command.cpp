// SPDX-License-Identifier: Apache-2.0
#include "inspect_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "choose_configurations.hpp"
#include "inspected_rows.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "representation_files.hpp"
#include "select_device.hpp"
#include "yolk/internal/autotune/tuning_jobs.hpp"
#include "yolk/internal/autotune/user_kernel.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk::cli {
namespace {

using autotune::UserKernel;

struct InspectFlags {
    autotune::TuningJob job;  ///< its lines: the texts of the call
    bool cases = false;
    std::filesystem::path kernel;
    std::filesystem::path space;
    std::vector<std::string> includes;
    std::vector<std::string> where;
    bool all = false;
    std::uint32_t configurations = 0;  ///< drawn beside the default
    std::uint64_t seed = 1;
    double share = 1.0;           ///< of the configurations of --all
    std::filesystem::path known;  ///< identities of pipelines that are left out
    std::string sort;
    std::filesystem::path ir;
    CommonFlags common;
};

/// What is inspected, and how far it is.
struct Inspection {
    const InspectFlags& flags;
    const Device& device;
    std::optional<RepresentationFiles> files{};
    std::optional<TemporaryPipelines> kept{};  ///< of --cases: those of the family that is looked at
    std::string kept_family{};
    bool has_notes = false;  ///< what is to be known of the device was printed
    std::size_t configurations = 0;
    std::size_t pipelines = 0;
    std::size_t refused = 0;
    std::size_t wanted = 0;  ///< configurations of all shapes
    std::chrono::steady_clock::time_point told{};
};

/// A shape with what is inspected of its space.
struct WantedShape {
    std::unique_ptr<oracle::Problem> problem;
    std::vector<Configuration> configurations;
};

Result<double> parse_share(std::string_view text) {
    YOLK_TRY(const float share, parse_number<float>(text));
    if (share > 0.0F && share <= 1.0F) return share;
    return bad_input("'{}' is not above 0 and at most 1.", shown(text));
}

Condition with_either(const Option* one, const Option* other) {
    return {fmt::format("goes with {} or {}", one->name(), other->name()),
            [one, other] { return one->count() + other->count() > 0; }};
}

Result<Context> open_to_inspect(const InspectFlags& flags) {
    CommonFlags untuned = flags.common;
    untuned.no_tuning = true;  // configurations are named; what a plan inside takes is the same on each machine
    untuned.quiet = true;      // the notice of a long compilation speaks of a cache, which nothing here goes into
    return open_context(untuned, {.may_not_execute = true,
                                  .pipeline_capture = flags.ir.empty() ? PipelineCapture::Statistics
                                                                       : PipelineCapture::Representations});
}

Result<void> check_representations(const InspectFlags& flags, const DeviceInfo& info) {
    if (flags.ir.empty() || info.features.pipeline_statistics) return {};
    return unsupported(
        "--ir needs VK_KHR_pipeline_executable_properties, which the driver of '{}' ({}) does not have. Without --ir "
        "it shows whether each pipeline compiles, and its shared memory.",
        shown(info.name), driver_text(info));
}

/// What `yolk check` checks. Cases that differ in their inputs alone, which their names say after the shape, are one.
std::vector<std::unique_ptr<oracle::Problem>> check_cases() {
    std::vector<std::unique_ptr<oracle::Problem>> cases;
    std::set<std::string> shapes;
    for (const oracle::Family* family : oracle::families()) {
        for (std::unique_ptr<oracle::Problem>& problem : family->cases(0)) {
            const std::string name = problem->name();
            if (shapes.insert(name.substr(0, name.find(", "))).second) cases.push_back(std::move(problem));
        }
    }
    return cases;
}

Result<std::vector<std::unique_ptr<oracle::Problem>>> inspected_problems(const InspectFlags& flags,
                                                                         const Device& device) {
    std::vector<std::unique_ptr<oracle::Problem>> problems;
    if (!flags.kernel.empty()) {
        if (flags.space.empty())
            return bad_input("--kernel '{}' needs --space FILE, which says what its parameters and buffers are.",
                             shown(flags.kernel));
        const std::vector<std::filesystem::path> includes(flags.includes.begin(), flags.includes.end());
        YOLK_TRY(problems.emplace_back(), UserKernel::create_to_inspect(device, flags.kernel, flags.space, includes));
        return problems;
    }
    if (flags.cases) return check_cases();
    YOLK_TRY(autotune::WantedProblems wanted, autotune::wanted_problems(flags.job));
    for (const autotune::SkippedShape& skipped : wanted.skipped)
        log_warning(fmt::format("{} is left out: {}", skipped.shape, skipped.reason));
    return std::move(wanted.problems);
}

/// The default first, where it is among them.
Result<std::vector<Configuration>> inspected_configurations(const InspectFlags& flags, const TuningSpace& space,
                                                            const Configuration& fallback) {
    if (!flags.all && flags.where.empty() && flags.configurations == 0) return std::vector<Configuration>{fallback};
    YOLK_TRY(const Conditions conditions, parse_conditions(space, flags.where));
    std::vector<Configuration> chosen = choose_configurations(
        space, conditions,
        {.all = flags.all || flags.configurations == 0, .count = flags.configurations, .seed = flags.seed});
    if (chosen.empty()) return bad_input("No configuration of {} matches --where.", space.family());
    const bool is_drawn = conditions.empty() && !flags.all;
    if (std::erase(chosen, fallback) > 0 || is_drawn) chosen.insert(chosen.begin(), fallback);
    return chosen;
}

/// The default stays, so that each kernel is there however small the share.
void keep_share(const InspectFlags& flags, const DeviceInfo& info, const oracle::Problem& problem,
                std::vector<Configuration>& configurations) {
    if (flags.share >= 1.0) return;
    std::erase_if(configurations, [&](const Configuration& configuration) {
        const InspectedCandidate one = candidate_of(info, problem, configuration);
        return !one.is_default && !is_in_share(fmt::format("{} {}", one.shape, one.text), flags.seed, flags.share);
    });
}

/// A line is 16 hexadecimal digits, as "identity" of --json; others are of a writer that was cut off, say.
Result<std::set<std::uint64_t>> read_known(const std::filesystem::path& path) {
    constexpr std::size_t kMostBytes = std::size_t{1} << 30U;
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(path, kMostBytes));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    std::set<std::uint64_t> known;
    for (const auto line : std::views::split(text, '\n')) {
        std::uint64_t identity = 0;
        const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), identity, 16);
        if (line.size() == 16 && error == std::errc() && end == line.data() + line.size()) known.insert(identity);
    }
    return known;
}

/// What is asked for is judged as a whole, before anything is compiled.
Result<std::vector<WantedShape>> wanted_shapes(const InspectFlags& flags, const Device& device) {
    const DeviceInfo info = device.usable_info();
    YOLK_TRY(auto problems, inspected_problems(flags, device));
    std::vector<WantedShape> shapes;
    for (std::unique_ptr<oracle::Problem>& problem : problems) {
        YOLK_TRY(std::vector<Configuration> configurations,
                 inspected_configurations(flags, problem->space(info), problem->default_configuration(info)));
        keep_share(flags, info, *problem, configurations);
        shapes.push_back({std::move(problem), std::move(configurations)});
    }
    return shapes;
}

/// Before the first table, so that an error stands alone.
void print_device_notes(Inspection& run) {
    if (std::exchange(run.has_notes, true)) return;
    const DeviceInfo& info = run.device.info();
    print_line("{} ({})", info.name, driver_text(info));
    if (const std::string& reason = run.device.findings().not_executing_reason; !reason.empty())
        print_line("Nothing can be run here: {}.", reason);
    if (info.features.pipeline_statistics) return;
    print_line(
        "The driver has no statistics (VK_KHR_pipeline_executable_properties). What is told without it: whether a "
        "pipeline compiles, how long that takes, and the shared memory that its kernel declares.");
}

void print_shape(Inspection& run, const WantedShape& shape, const std::vector<InspectedRow>& rows) {
    print_device_notes(run);
    if (rows.empty() && run.flags.cases) return;
    if (rows.empty()) {
        print_line("{}: no pipeline; there is nothing to do", shape.problem->name());
        return;
    }
    print_line(rows.front().of.shape);
    const bool several = shape.configurations.size() > 1;
    print_line(rows_table(rows, several));
    for (const InspectedRow& row : rows) {
        const std::string others = several ? std::string() : other_statistics_text(row);
        if (!others.empty()) print_line("  {}: {}", row.pipeline.kernel, others);
    }
    if (!several && !rows.front().of.text.empty()) print_line("  {}", rows.front().of.text);
}

/// Of --cases, where many configurations need no new pipeline and say nothing: a line each second.
void tell_progress(Inspection& run) {
    if (!run.flags.cases || !run.flags.common.json) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - run.told < std::chrono::seconds(1)) return;
    run.told = now;
    print_json({{"event", "progress"},
                {"configurations", run.configurations},
                {"of", run.wanted},
                {"pipelines", run.pipelines}});
}

/// JSON leaves in the order in which it is made, unless it is to be sorted.
Result<void> inspect_shape(Inspection& run, const WantedShape& shape) {
    const InspectFlags& flags = run.flags;
    const DeviceInfo info = run.device.usable_info();
    const StatusLine status(!flags.common.json && !flags.common.quiet);
    std::vector<InspectedRow> rows;
    std::size_t looked_at = 0;
    for (const Configuration& configuration : shape.configurations) {
        if (InterruptGuard::requested()) break;
        status.show(fmt::format("{} of {}  {}", ++looked_at, shape.configurations.size(), shape.problem->name()));
        InspectedCandidate candidate = candidate_of(info, *shape.problem, configuration);
        candidate.number = run.configurations++;
        const auto inspect = flags.cases ? &autotune::inspect_new_pipelines : &autotune::inspect_plan;
        YOLK_TRY(autotune::InspectedPlan plan, inspect(run.device, *shape.problem, configuration));
        for (InspectedRow& row : rows_of(info, candidate, std::move(plan))) {
            if (run.files) YOLK_TRY_VOID(run.files->write(row));
            ++run.pipelines;
            run.refused += row.refused() ? 1U : 0U;
            if (flags.common.json && flags.sort.empty()) print_json(row_json(row));
            rows.push_back(std::move(row));
        }
        tell_progress(run);
        if (looked_at == 1 && !flags.sort.empty()) YOLK_TRY_VOID(check_sort_column(flags.sort, rows));
    }
    status.finish();
    if (!flags.sort.empty()) sort_rows(flags.sort, rows);
    if (!flags.common.json) {
        print_shape(run, shape, rows);
    } else if (!flags.sort.empty()) {
        for (const InspectedRow& row : rows) print_json(row_json(row));
    }
    return {};
}

/// Cases of a family need the same pipelines time and again; of all families there are too many to keep.
Result<void> keep_pipelines(Inspection& run, const std::string& family) {
    if (run.kept && run.kept_family == family) return {};
    run.kept.reset();
    YOLK_TRY(run.kept, TemporaryPipelines::begin(run.device));
    run.kept_family = family;
    return {};
}

int finish_inspection(const Inspection& run) {
    const DeviceInfo& info = run.device.info();
    const Json summary{{"event", "summary"},
                       {"configurations", run.configurations},
                       {"pipelines", run.pipelines},
                       {"refused", run.refused},
                       {"interrupted", InterruptGuard::requested()},
                       {"device",
                        {{"name", info.name},
                         {"driver", driver_text(info)},
                         {"runs", run.device.findings().not_executing_reason.empty()},
                         {"statistics", info.features.pipeline_statistics}}}};
    print_outcome(run.flags.common.json, summary,
                  fmt::format("{} pipelines of {} configurations, {} refused{}", run.pipelines, run.configurations,
                              run.refused, InterruptGuard::requested() ? "; interrupted" : ""));
    return run.refused == 0 ? 0 : 1;
}

Result<int> run_inspect(const InspectFlags& flags) {
    YOLK_TRY(const Context context, open_to_inspect(flags));
    const Device& device = context.device();
    YOLK_TRY_VOID(check_representations(flags, device.info()));
    YOLK_TRY(const std::vector<WantedShape> shapes, wanted_shapes(flags, device));
    if (!flags.known.empty()) {
        YOLK_TRY(std::set<std::uint64_t> known, read_known(flags.known));
        device.leave_out_pipelines(
            [known = std::move(known)](std::uint64_t identity) { return known.contains(identity); });
    }
    const InterruptGuard interrupt;
    Inspection run{.flags = flags, .device = device};
    if (!flags.ir.empty()) {
        YOLK_TRY(run.files, RepresentationFiles::in(flags.ir));
    }
    for (const WantedShape& shape : shapes) run.wanted += shape.configurations.size();
    for (const WantedShape& shape : shapes) {
        if (InterruptGuard::requested()) break;
        if (flags.cases) YOLK_TRY_VOID(keep_pipelines(run, shape.problem->space(device.usable_info()).family()));
        YOLK_TRY_VOID(inspect_shape(run, shape));
    }
    return finish_inspection(run);
}

}  // namespace

Command add_inspect_command(App& app) {
    const auto flags = std::make_shared<InspectFlags>();
    App* const command = app.add_subcommand(
        "inspect",
        "Show what the driver's compiler makes of kernels: registers, spills, occupancy, code; nothing runs");
    const Option* const shapes =
        command->add_list("shape", flags->job.lines, "Such as \"matmul m=512 n=512 k=512\" (default: what tune tunes)")
            ->type_name("TEXT");
    const Option* const own =
        command->add_option("--kernel", flags->kernel, "Instead a compute shader of your own (docs/own_kernels.md)")
            ->type_name("FILE")
            ->only(without(shapes));
    command->add_option("--space", flags->space, "Of --kernel: its parameters, buffers and dispatch")
        ->type_name("FILE")
        ->only(with(own));
    command
        ->add_repeatable("--include", flags->includes, "Of --kernel: its shaders may include files of this folder, too")
        ->type_name("FOLDER")
        ->only(with(own));
    const Option* const job =
        command->add_option("--job", flags->job.name, "Instead the kernels of a job: cartpole, tuner or last")
            ->type_name("NAME")
            ->only(without(shapes))
            ->only(without(own));
    const Option* const file =
        command->add_option("--shapes", flags->job.file, "Instead the shapes of a file, one a line")
            ->type_name("FILE")
            ->only(without(shapes))
            ->only(without(own))
            ->only(without(job));
    command->add_flag("--cases", flags->cases, "Instead the shapes that `yolk check` checks, each pipeline once")
        ->only(without(shapes))
        ->only(without(own))
        ->only(without(job))
        ->only(without(file));
    const Option* const all = command->add_flag("--all", flags->all, "Every configuration, not only the default");
    command->add_repeatable("--where", flags->where, "The configurations with this value of a knob; may be repeated")
        ->type_name("KNOB=VALUE");
    const Option* const drawn = add_number(*command, "--configurations", flags->configurations,
                                           "N drawn configurations beside the default, or N of those of --where")
                                    ->only(without(all));
    const Option* const share =
        add_parsed(*command, "--share", flags->share,
                   "Of the configurations of --all, drawn by hash; the defaults stay (default: 1, all)", parse_share)
            ->type_name("SHARE")
            ->only(with(all));
    add_number(*command, "--seed", flags->seed, "Of the draw")->default_str("1")->only(with_either(drawn, share));
    command->add_option("--known", flags->known, "Leave out the pipelines whose \"identity\" is a line of this file")
        ->type_name("FILE");
    command
        ->add_option("--sort", flags->sort,
                     fmt::format("The best first by {}, or by a statistic of the driver's", sort_columns_text()))
        ->type_name("COLUMN");
    command->add_option("--ir", flags->ir, "Write the compiler's forms of each kernel, assembly among them, as files")
        ->type_name("FOLDER");
    add_device_choice(*command, flags->common);
    add_output_flags(*command, flags->common);
    return {command, [flags] { return run_inspect(*flags); }};
}

}  // namespace yolk::cli
