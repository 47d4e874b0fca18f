// SPDX-License-Identifier: Apache-2.0
#include "yolk/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "yolk/internal/autotune/algebra_choice.hpp"
#include "yolk/internal/autotune/portfolio.hpp"
#include "yolk/internal/autotune/race.hpp"
#include "yolk/internal/autotune/recording.hpp"
#include "yolk/internal/autotune/tune_live.hpp"
#include "yolk/internal/oracle/named_problem.hpp"
#include "yolk/log.hpp"

namespace yolk::autotune {
namespace {

using TuningClock = std::chrono::steady_clock;

constexpr int kLimitShare = 4;  // of the time, at most, to measure what the device's units can do at all
/// Candidates that a live search has at most, padded as the device's algebra pads them.
constexpr std::uint32_t kLiveCandidates = 2048;
constexpr double kShareForItself = 0.1;  ///< of the time, for the kernels that the tuner itself runs on

/// A shape that is to be tuned.
struct Turn {
    std::unique_ptr<oracle::Problem> problem;
    TunedShape shape{};
};

/// What the run shares over its shapes.
struct TuningRun {
    const TuneDeviceOptions& options;
    const Device& device;
    Dispatcher& dispatcher;
    const TuningFile& file;
    RunJournal& journal;
    TuningClock::time_point end;
    UnitLimits limits;
    StrategySettings settings{};  ///< with where the strategy's own work is done
    [[nodiscard]] TuningSpace space_of_problem(const oracle::Problem& problem) const {
        return problem.space(device.usable_info());
    }
};

TuningClock::duration clock_duration(std::chrono::duration<double> time) {
    return std::chrono::duration_cast<TuningClock::duration>(time);
}

Turn turn_of(const TuningRun& run, std::unique_ptr<oracle::Problem> problem, bool own) {
    const TuningSpace space = run.space_of_problem(*problem);
    return {.problem = std::move(problem), .shape = {.shape = shape_text(space.family(), space.shape()), .own = own}};
}

Result<void> find_known_choices(const TuningRun& run, std::vector<Turn>& turns) {
    YOLK_TRY(const std::vector<TuningChoice> choices, run.file.choices());
    for (Turn& turn : turns) {
        const TuningSpace space = run.space_of_problem(*turn.problem);
        turn.shape.choice = known_choices(choices, tuning_key(run.device.info(), space), space).exact;
    }
    return {};
}

/// The time that is left is shared by the shapes that are left.
TuningClock::time_point deadline_of(const TuningRun& run, std::size_t left) {
    const auto now = TuningClock::now();
    return now + (std::max(run.end, now) - now) / static_cast<int>(left);
}

Result<void> take_turn(TuningRun& run, Turn& turn, std::size_t left) {
    const TuneDeviceOptions& wanted = run.options;
    TuneLiveOptions options{
        .tuner = {.strategy = wanted.strategy, .budget = wanted.budget, .seed = wanted.seed, .settings = run.settings},
        .again = wanted.again,
        .deadline = deadline_of(run, left),
        .limit = run.end,
        .limit_of = [&run](ArithmeticUnit unit) { return run.limits.of(unit); },
        .portfolio = shipped_portfolio(run.space_of_problem(*turn.problem).family())};
    if (wanted.progress) {
        options.progress = [&](const LiveProgress& progress) { return wanted.progress(turn.shape.shape, progress); };
    }
    Result<TuneLiveOutcome> outcome =
        tune_live(run.device, run.dispatcher, *turn.problem, run.file, run.journal, options);
    if (wanted.ended) wanted.ended();
    if (outcome) {
        turn.shape.choice = outcome->choice;
        turn.shape.search = *std::move(outcome);
        return {};
    }
    // A lost device takes the rest of the run with it; the next run goes on, without what lost it.
    if (outcome.error().kind == ErrorKind::DeviceLost || outcome.error().kind == ErrorKind::Io)
        return std::move(outcome).error();
    turn.shape.error = outcome.error().message;
    turn.shape.choice.reset();
    return {};
}

Result<void> take_turns(TuningRun& run, std::vector<Turn>& turns) {
    const auto goes_on = [&run] { return !run.options.goes_on || run.options.goes_on(); };
    std::size_t left = turns.size();
    for (Turn& turn : turns) {
        const std::size_t sharing = left--;
        TunedShape& shape = turn.shape;
        const bool known = shape.choice && !run.options.again;
        if (!goes_on() || shape.search || !shape.error.empty() || known) continue;
        shape.too_late = TuningClock::now() >= run.end;
        if (shape.too_late) continue;
        if (run.options.begun) run.options.begun(shape.shape);
        YOLK_TRY_VOID(take_turn(run, turn, sharing));
    }
    return {};
}

/// The shapes that the strategy itself runs on the device.
std::vector<std::string> own_kernels(std::string_view strategy) {
    return strategy == "eggroll" ? oracle::policy_job(kLiveCandidates) : oracle::tuner_job(kLiveCandidates);
}

/// Where the algebra is done. On the device, its own kernels come first: they bootstrap from their defaults, with the
/// host's algebra, and the device's is made after them, with what was found.
Result<ChosenAlgebra> choose_algebra(TuningRun& run, std::vector<Turn>& turns, bool any_new) {
    const TuneDeviceOptions& options = run.options;
    const auto choose = [&](AlgebraPlace place) {
        return ChosenAlgebra::choose(place, options.strategy, kLiveCandidates, options.open_for_algebra);
    };
    if (!any_new) return choose(AlgebraPlace::Host);
    // What a CPU driver computes on are the host's own cores: not worth the seconds that trying takes. eggroll is there
    // to run on the device that it tunes.
    const bool on_host = run.device.info().kind == DeviceKind::Cpu && options.strategy != "eggroll";
    YOLK_TRY(ChosenAlgebra first, choose(options.algebra.value_or(on_host ? AlgebraPlace::Host : AlgebraPlace::Auto)));
    if (!first.on_device() || options.job.name == "tuner") return first;
    std::vector<Turn> own;
    for (const std::string& line : own_kernels(options.strategy)) {
        YOLK_TRY(std::unique_ptr<oracle::Problem> problem, oracle::make_named_problem(line));
        own.push_back(turn_of(run, std::move(problem), true));
    }
    YOLK_TRY_VOID(find_known_choices(run, own));
    std::erase_if(own, [](const Turn& turn) { return turn.shape.choice.has_value(); });
    if (own.empty()) return first;
    const TuningClock::time_point end = run.end;
    run.end = TuningClock::now() + clock_duration((end - TuningClock::now()) * kShareForItself);
    const Result<void> tuned = take_turns(run, own);
    run.end = end;
    YOLK_TRY_VOID(tuned);
    turns.insert(turns.begin(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
    return choose(AlgebraPlace::Device);
}

/// FILE for one shape; FILE with -1, -2, ... before its first dot for several.
std::filesystem::path numbered(const std::filesystem::path& path, std::size_t number) {
    const std::string name = path.filename().string();
    const std::size_t dot = std::min(name.find('.', 1), name.size());
    return path.parent_path() / fmt::format("{}-{}{}", name.substr(0, dot), number, name.substr(dot));
}

Result<void> write_recordings(const TuningRun& run, const std::vector<Turn>& turns) {
    if (run.options.record.empty()) return {};
    std::size_t number = 0;
    for (const Turn& turn : turns) {
        const TuningSpace space = run.space_of_problem(*turn.problem);
        YOLK_TRY(const std::vector<TuningSample> samples, run.file.samples(tuning_key(run.device.info(), space)));
        const std::filesystem::path path =
            turns.size() == 1 ? run.options.record : numbered(run.options.record, ++number);
        YOLK_TRY(const std::string text,
                 recording_text(space, samples, run.device.info().name, recording_format(path)));
        YOLK_TRY_VOID(write_recording(path, text));
    }
    return {};
}

void add_means(TuneDeviceOutcome& outcome) {
    std::vector<double> speed_ups;
    double heuristic = 0.0;
    double tuned = 0.0;
    for (const TunedShape& shape : outcome.shapes) {
        if (shape.search) outcome.measured += shape.search->measured;
        if (!shape.choice || !(shape.choice->milliseconds > 0.0)) continue;
        if (shape.search && !shape.search->choice.configuration.empty()) {
            ++outcome.searched;
            outcome.found += shape.search->found ? 1U : 0U;
        }
        const double speed_up = shape.choice->heuristic_milliseconds / shape.choice->milliseconds;
        if (!(speed_up > 0.0)) continue;
        speed_ups.push_back(speed_up);
        heuristic += shape.choice->heuristic_milliseconds;
        tuned += shape.choice->milliseconds;
    }
    outcome.compared = speed_ups.size();
    if (speed_ups.empty()) return;
    double logs = 0.0;
    double reached = 0.0;
    for (const double speed_up : speed_ups) {
        logs += std::log(speed_up);
        reached += 1.0 / speed_up;
    }
    outcome.speed_up = std::exp(logs / static_cast<double>(speed_ups.size()));
    outcome.heuristic_of_tuned = reached / static_cast<double>(speed_ups.size());
    outcome.median_speed_up = median_of(speed_ups);
    outcome.summed_speed_up = heuristic / tuned;
}

}  // namespace

Result<TuneDeviceOutcome> tune_device(const Device& device, Dispatcher& dispatcher, const std::filesystem::path& table,
                                      const TuneDeviceOptions& options) {
    const auto begin = TuningClock::now();
    YOLK_TRY(WantedProblems wanted, wanted_problems(options.job));
    if (wanted.problems.size() == 1 && !options.record.empty()) YOLK_TRY_VOID(check_recording_place(options.record));
    YOLK_TRY(const TuningFile file, TuningFile::open(table));
    YOLK_TRY_VOID(recover_journals(file));
    YOLK_TRY(RunJournal journal, RunJournal::create(journal_folder(table)));
    TuningRun run{.options = options,
                  .device = device,
                  .dispatcher = dispatcher,
                  .file = file,
                  .journal = journal,
                  .end = begin + clock_duration(options.time),
                  // On a busy machine that takes long; a short run does without them.
                  .limits = UnitLimits(device, dispatcher, clock_duration(options.time) / kLimitShare)};
    std::vector<Turn> turns;
    for (std::unique_ptr<oracle::Problem>& problem : wanted.problems)
        turns.push_back(turn_of(run, std::move(problem), false));
    YOLK_TRY_VOID(find_known_choices(run, turns));
    const bool any_new =
        std::ranges::any_of(turns, [&](const Turn& turn) { return options.again || !turn.shape.choice; });
    YOLK_TRY(const ChosenAlgebra algebra, choose_algebra(run, turns, any_new));
    algebra.set(run.settings);
    const Result<void> tuned = take_turns(run, turns);
    YOLK_TRY_VOID(write_recordings(run, turns));
    TuneDeviceOutcome outcome{.table = file.path(),
                              .skipped = std::move(wanted.skipped),
                              .seconds = std::chrono::duration<double>(TuningClock::now() - begin).count(),
                              .algebra = algebra.report()};
    for (Turn& turn : turns) outcome.shapes.push_back(std::move(turn.shape));
    add_means(outcome);
    if (!tuned) outcome.ended_by = tuned.error();
    return outcome;
}

}  // namespace yolk::autotune
