// SPDX-License-Identifier: Apache-2.0
#include "tune_live.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>

#include "interrupt.hpp"
#include "output.hpp"
#include "select_device.hpp"
#include "tune_algebra.hpp"
#include "tune_jobs.hpp"
#include "tune_prior.hpp"
#include "tune_progress.hpp"
#include "yolk/autotune/portfolio.hpp"
#include "yolk/autotune/recording.hpp"
#include "yolk/autotune/tune_live.hpp"
#include "yolk/core/log.hpp"
#include "yolk/oracle/named_problem.hpp"
#include "yolk/primitives/limits.hpp"
#include "yolk/runtime/probe.hpp"

namespace yolk::cli {
namespace {

using autotune::TuneLiveOutcome;
using Clock = std::chrono::steady_clock;

constexpr int kLimitShare = 4;  // of the time, at most, to measure what the device can do at all
/// Candidates that a live search has at most, padded as the device's algebra pads them.
constexpr std::uint32_t kLiveCandidates = 2048;
constexpr double kShareForItself = 0.1;  ///< of the time, for the kernels that the tuner itself runs on

/// A shape that is to be tuned, and what came of it.
struct Job {
    std::unique_ptr<oracle::Problem> problem;
    std::string shape;  ///< as a table's key has it
    std::optional<autotune::TuningChoice> known{};
    std::optional<TuneLiveOutcome> outcome{};
    std::string error{};
    bool own = false;       ///< one of the tuner's own kernels, tuned first
    bool too_late = false;  ///< no time was left for it
};

std::vector<Job> jobs_of(std::vector<std::unique_ptr<oracle::Problem>> problems, const Device& device) {
    std::vector<Job> jobs;
    for (std::unique_ptr<oracle::Problem>& problem : problems) {
        const TuningSpace space = problem->space(device.usable_info());
        jobs.push_back({.problem = std::move(problem), .shape = autotune::shape_text(space.family(), space.shape())});
    }
    return jobs;
}

/// What the run shares over its shapes.
struct Tuning {
    const LiveFlags& flags;
    const CommonFlags& common;
    const Device& device;
    Dispatcher& dispatcher;
    const autotune::TuningFile& file;
    autotune::RunJournal& journal;
    double multiply_adds_per_second = 0.0;
    Clock::time_point end;
    SearchProgress progress;
    std::optional<autotune::PriorFile> prior{};
    std::function<std::unique_ptr<autotune::LinearAlgebra>()> algebra{};
};

/// The time that is left is shared by the shapes that are left.
Clock::time_point deadline_of(const Tuning& tuning, std::size_t left) {
    const auto now = Clock::now();
    return now + (std::max(tuning.end, now) - now) / static_cast<int>(left);
}

Result<void> tune_job(Tuning& tuning, Job& job, std::size_t left) {
    const LiveFlags& flags = tuning.flags;
    autotune::TuneLiveOptions options{
        .tuner = {.strategy = flags.strategy,
                  .budget = flags.budget == 0 ? kDefaultBudget : flags.budget,
                  .seed = flags.seed,
                  .settings = {.linear_algebra = tuning.algebra}},
        .again = flags.again,
        .deadline = deadline_of(tuning, left),
        .limit = tuning.end,
        .multiply_adds_per_second = tuning.multiply_adds_per_second,
        .prior = tuning.prior ? &*tuning.prior : nullptr,
        .portfolio = autotune::portfolio_of(autotune::shipped_portfolio(),
                                            job.problem->space(tuning.device.usable_info()).family()),
        .progress =
            [&](const autotune::LiveProgress& progress) {
                tuning.progress.show(job.shape, progress);
                return !InterruptGuard::requested();
            },
    };
    Result<TuneLiveOutcome> outcome =
        autotune::tune_live(tuning.device, tuning.dispatcher, *job.problem, tuning.file, tuning.journal, options);
    tuning.progress.finish();
    if (outcome) {
        job.outcome = *std::move(outcome);
        return {};
    }
    // A lost device takes the rest of the run with it; the next run goes on, without what lost it.
    if (outcome.error().kind == ErrorKind::DeviceLost || outcome.error().kind == ErrorKind::Io)
        return std::move(outcome).error();
    job.error = outcome.error().message;
    return {};
}

Result<void> find_known(const Tuning& tuning, std::vector<Job>& jobs) {
    YOLK_TRY(const std::vector<autotune::TuningChoice> choices, tuning.file.choices());
    for (Job& job : jobs) {
        const autotune::TuningKey key =
            autotune::tuning_key(tuning.device.info(), job.problem->space(tuning.device.usable_info()));
        job.known = autotune::known_choices(choices, key).exact;
    }
    return {};
}

Json choice_json(const Job& job, const autotune::TuningChoice& choice) {
    Json configuration = Json::object();
    for (const auto& [name, value] : choice.configuration) configuration[name] = value;
    const double tuned = choice.milliseconds;
    return {{"shape", job.shape},
            {"family", choice.key.family},
            {"default_milliseconds", choice.plain_milliseconds > 0.0 ? Json(choice.plain_milliseconds) : Json()},
            {"heuristic_milliseconds", choice.heuristic_milliseconds},
            {"tuned_milliseconds", tuned},
            {"speed_up", tuned > 0.0 ? choice.heuristic_milliseconds / tuned : 1.0},
            {"spread", choice.spread},
            {"evaluations", choice.evaluations},
            {"configuration", std::move(configuration)}};
}

Json live_outcome_json(const Tuning& tuning, const std::vector<Job>& jobs, const std::vector<SkippedShape>& skipped,
                       double seconds) {
    Json shapes = Json::array();
    std::size_t measured = 0;
    double logs = 0.0;
    double reached = 0.0;
    std::size_t count = 0;
    for (const Job& job : jobs) {
        Json json;
        if (job.outcome) {
            json = choice_json(job, job.outcome->choice);
            json["measured"] = job.outcome->measured;
            json["rejected"] = job.outcome->rejected;
            json["replaced"] = job.outcome->replaced;
            json["interrupted"] = job.outcome->interrupted;
            measured += job.outcome->measured;
        } else if (job.known) {
            json = choice_json(job, *job.known);
            json["measured"] = 0;
        } else {
            json = {{"shape", job.shape}, {"measured", 0}, {"error", job.error}, {"too_late", job.too_late}};
        }
        const double speed_up = json.value("speed_up", 0.0);
        if (speed_up > 0.0 && json.value("tuned_milliseconds", 0.0) > 0.0) {
            logs += std::log(speed_up);
            reached += 1.0 / speed_up;
            ++count;
        }
        shapes.push_back(std::move(json));
    }
    Json left_out = Json::array();
    for (const SkippedShape& entry : skipped) left_out.push_back({{"shape", entry.shape}, {"reason", entry.reason}});
    const auto of_count = [count](double sum) { return count == 0 ? 0.0 : sum / static_cast<double>(count); };
    return {{"tune", "live"},
            {"device", tuning.device.info().name},
            {"driver", driver_text(tuning.device.info())},
            {"table", tuning.file.path().string()},
            {"measured", measured},
            {"seconds", seconds},
            {"speed_up", count == 0 ? 1.0 : std::exp(of_count(logs))},
            {"heuristic_of_tuned", of_count(reached)},
            {"skipped", std::move(left_out)},
            {"shapes", std::move(shapes)}};
}

std::string milliseconds_text(const Json& json, const char* name) {
    const Json value = json.value(name, Json());
    return value.is_number() && value.get<double>() > 0.0 ? fmt::format("{:.4g}", value.get<double>()) : "-";
}

void print_live_outcome(const Json& json) {
    std::vector<std::vector<std::string>> rows{
        {"shape", "default ms", "heuristic ms", "tuned ms", "speed-up", "spread", "evaluations", "measured now"}};
    for (const Json& shape : json["shapes"]) {
        const bool there = shape.value("tuned_milliseconds", 0.0) > 0.0;
        rows.push_back({shape["shape"].get<std::string>(), milliseconds_text(shape, "default_milliseconds"),
                        milliseconds_text(shape, "heuristic_milliseconds"),
                        milliseconds_text(shape, "tuned_milliseconds"),
                        there ? fmt::format("{:.2f}x", shape["speed_up"].get<double>()) : "-",
                        there ? fmt::format("{:.1f} %", 100.0 * shape["spread"].get<double>()) : "-",
                        fmt::format("{}", shape.value("evaluations", std::uint64_t{0})),
                        fmt::format("{}", shape["measured"].get<std::size_t>())});
    }
    print_line(table(rows));
    for (const Json& shape : json["shapes"]) {
        if (const std::string error = shape.value("error", std::string()); !error.empty())
            print_line(fmt::format("{}: {}", shape["shape"].get<std::string>(), error));
        if (shape.value("too_late", false))
            print_line(fmt::format("{}: no time was left; the next run goes on", shape["shape"].get<std::string>()));
    }
    for (const Json& entry : json["skipped"])
        print_line(
            fmt::format("skipped {}: {}", entry["shape"].get<std::string>(), entry["reason"].get<std::string>()));
    print_line(fmt::format("{} evaluations in {}; {:.2f}x over the heuristic on average; kept in {}",
                           json["measured"].get<std::size_t>(), duration_text(json["seconds"].get<double>()),
                           json["speed_up"].get<double>(), json["table"].get<std::string>()));
}

/// FILE for one shape; FILE with -1, -2, ... before its first dot for several.
std::filesystem::path numbered(const std::filesystem::path& path, std::size_t number) {
    const std::string name = path.filename().string();
    const std::size_t dot = std::min(name.find('.', 1), name.size());
    return path.parent_path() / fmt::format("{}-{}{}", name.substr(0, dot), number, name.substr(dot));
}

Result<void> write_recordings(const Tuning& tuning, const std::vector<Job>& jobs) {
    if (tuning.flags.record.empty()) return {};
    std::size_t number = 0;
    for (const Job& job : jobs) {
        const TuningSpace space = job.problem->space(tuning.device.usable_info());
        YOLK_TRY(const std::vector<autotune::TuningSample> samples,
                 tuning.file.samples(autotune::tuning_key(tuning.device.info(), space)));
        const std::filesystem::path path =
            jobs.size() == 1 ? std::filesystem::path(tuning.flags.record) : numbered(tuning.flags.record, ++number);
        YOLK_TRY_VOID(autotune::write_recording(
            path,
            autotune::recording_text(space, samples, tuning.device.info().name, autotune::recording_format(path))));
    }
    return {};
}

Result<void> check_live_flags(const LiveFlags& flags) {
    YOLK_TRY_VOID(check_search_flags(flags));
    YOLK_TRY_VOID(check_algebra(flags.algebra, flags.strategy));
    if (!flags.job.empty() && !flags.shapes.empty())
        return bad_input("--job and --shapes both say what to tune; give one of them.");
    if (!flags.record.empty()) YOLK_TRY_VOID(autotune::check_recording_place(flags.record));
    return {};
}

Result<void> tune_all(Tuning& tuning, std::vector<Job>& jobs) {
    const bool human = !tuning.common.json && !tuning.common.quiet;
    std::size_t left = jobs.size();
    for (Job& job : jobs) {
        const std::size_t sharing = left--;
        if (InterruptGuard::requested() || job.outcome || !job.error.empty() || (job.known && !tuning.flags.again))
            continue;
        job.too_late = Clock::now() >= tuning.end;
        if (job.too_late) continue;
        if (human && !output_is_terminal()) print_line(fmt::format("tuning {}", job.shape));
        YOLK_TRY_VOID(tune_job(tuning, job, sharing));
    }
    return {};
}

/// Where the algebra is done. On the device, its own kernels come first: they bootstrap from their defaults, with the
/// host's algebra, and the device's is made after them, with what was found.
Result<ChosenAlgebra> choose_algebra(Tuning& tuning, std::vector<Job>& jobs, bool any_new) {
    const LiveFlags& flags = tuning.flags;
    // What a CPU driver computes on are the host's own cores: not worth the seconds that trying takes.
    const bool own_cores = tuning.device.info().kind == DeviceKind::Cpu;
    const std::string wanted = !flags.algebra.empty() ? flags.algebra : own_cores ? "host" : "auto";
    if (!any_new) return ChosenAlgebra::choose("host", flags.strategy, kLiveCandidates, tuning.common);
    YOLK_TRY(ChosenAlgebra first, ChosenAlgebra::choose(wanted, flags.strategy, kLiveCandidates, tuning.common));
    if (!first.on_device() || flags.job == "tuner") return first;
    std::vector<Job> own;
    for (const std::string& line : oracle::tuner_job(kLiveCandidates)) {
        YOLK_TRY(std::unique_ptr<oracle::Problem> problem, oracle::make_named_problem(line));
        const TuningSpace space = problem->space(tuning.device.usable_info());
        own.push_back(
            {.problem = std::move(problem), .shape = autotune::shape_text(space.family(), space.shape()), .own = true});
    }
    YOLK_TRY_VOID(find_known(tuning, own));
    std::erase_if(own, [](const Job& job) { return job.known.has_value(); });
    if (own.empty()) return first;
    const Clock::time_point end = tuning.end;
    const auto share = std::chrono::duration<double>(end - Clock::now()) * kShareForItself;
    tuning.end = Clock::now() + std::chrono::duration_cast<Clock::duration>(share);
    const Result<void> tuned = tune_all(tuning, own);
    tuning.end = end;
    YOLK_TRY_VOID(tuned);
    jobs.insert(jobs.begin(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
    return ChosenAlgebra::choose("device", flags.strategy, kLiveCandidates, tuning.common);
}

}  // namespace

void add_live_flags(CLI::App& app, LiveFlags& flags) {
    app.add_option("--job", flags.job,
                   "Tune the kernels of a job: cartpole, tuner, or last for what the last train, eval, bench or system "
                   "used (default: "
                   "a set of shapes of all kinds)")
        ->type_name("NAME");
    app.add_option("--shapes", flags.shapes, "Tune the shapes of a file, one a line: matmul m=512 n=512 k=512")
        ->type_name("FILE");
    add_number(app, "--seconds", flags.seconds,
               "Time for the whole run, but for an evaluation that is under way (default 540)")
        ->type_name("SECONDS");
    app.add_flag("--again", flags.again, "Tune what is tuned already, too");
    app.add_option("--record", flags.record,
                   "Write what was measured: T4 where the name ends in .t4.json, else a Kernel Tuner cache; numbered "
                   "where there are several shapes")
        ->type_name("FILE");
}

Result<int> tune_live(const LiveFlags& flags, const CommonFlags& common) {
    const auto begin = Clock::now();
    YOLK_TRY_VOID(check_live_flags(flags));
    const std::filesystem::path path = autotune::default_table_path();
    if (path.empty()) return bad_input("There is no place for a tuning table; name one in $YOLK_TABLE.");
    CommonFlags untuned = common;
    untuned.no_tuning =
        true;  // candidates name their configurations; what a plan inside takes must not change meanwhile
    YOLK_TRY(const Device device, open_device(untuned));
    YOLK_TRY_VOID(probe(device));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    YOLK_TRY(WantedProblems wanted, wanted_problems(flags, device));
    std::vector<Job> jobs = jobs_of(std::move(wanted.problems), device);
    YOLK_TRY(const autotune::TuningFile file, autotune::TuningFile::open(path));
    YOLK_TRY_VOID(autotune::recover_journals(file));
    YOLK_TRY(autotune::RunJournal journal, autotune::RunJournal::create(autotune::journal_folder(path)));
    const double seconds = flags.seconds > 0.0F ? static_cast<double>(flags.seconds) : kDefaultSeconds;
    Tuning tuning{.flags = flags,
                  .common = common,
                  .device = device,
                  .dispatcher = dispatcher,
                  .file = file,
                  .journal = journal,
                  .end = begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)),
                  .progress = SearchProgress(common)};
    YOLK_TRY(tuning.prior, find_prior(flags.prior));
    const InterruptGuard interrupt;
    YOLK_TRY_VOID(find_known(tuning, jobs));
    const bool any_new = std::ranges::any_of(jobs, [&](const Job& job) { return flags.again || !job.known; });
    if (any_new) {
        // On a busy machine that takes long; a short run does without it.
        const auto until = begin + (tuning.end - begin) / kLimitShare;
        YOLK_TRY(tuning.multiply_adds_per_second, measure_multiply_adds_per_second(device, dispatcher, until));
        if (tuning.multiply_adds_per_second <= 0.0)
            log(LogLevel::Info, "The device's limit is not known in so short a time: no time is refused as too short.");
    }
    YOLK_TRY(const ChosenAlgebra algebra, choose_algebra(tuning, jobs, any_new));
    tuning.algebra = algebra.factory();
    const Result<void> tuned = tune_all(tuning, jobs);
    YOLK_TRY_VOID(write_recordings(tuning, jobs));
    Json json =
        live_outcome_json(tuning, jobs, wanted.skipped, std::chrono::duration<double>(Clock::now() - begin).count());
    algebra.add_to(json);
    if (common.json) {
        print_json(json);
    } else {
        print_live_outcome(json);
        if (!algebra.line().empty()) print_line(algebra.line());
    }
    if (!tuned) return tuned.error();
    return std::ranges::any_of(jobs, [](const Job& job) { return !job.error.empty(); }) ? 1 : 0;
}

}  // namespace yolk::cli
