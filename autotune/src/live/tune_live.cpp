// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/tune_live.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "journal_entry.hpp"
#include "yolk/internal/autotune/user_kernel.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk::autotune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLeastEvaluations = 5;
constexpr std::size_t kFewestRounds = 5;
constexpr std::size_t kMostRounds = 15;
// What is measured of the portfolio before the strategy's first turn, and how often it has one after that; how many
// measurements the house strategy wants before it proposes.
constexpr std::size_t kPortfolioFirst = 3;
constexpr std::size_t kPortfolioEvery = 2;
constexpr std::size_t kFirstOfNaturalLive = 4;
constexpr double kFinalMilliseconds = 3000.0;        // about what the rounds may take
constexpr double kInterruptedMilliseconds = 1500.0;  // finals that are short enough for somebody who waits

/// One search, from what is known to what is written.
class LiveSearch {
   public:
    LiveSearch(const TuningFile& file, const TuneLiveOptions& options, TuningKey key)
        : file_(file), options_(options), key_(std::move(key)) {}

    Result<TuneLiveOutcome> run(const Device& device, Dispatcher& dispatcher, const oracle::Problem& problem,
                                RunJournal& journal);

   private:
    Result<void> begin(const Device& device, Dispatcher& dispatcher, const oracle::Problem& problem,
                       RunJournal& journal);
    Result<void> tell_known();
    Result<bool> measure(std::size_t candidate);  ///< false: somebody wants it to stop
    [[nodiscard]] bool is_time_over() const;
    [[nodiscard]] Clock::duration finals_duration() const;
    Result<void> search();
    [[nodiscard]] std::optional<std::size_t> next_of_portfolio();
    [[nodiscard]] std::optional<std::size_t> next_candidate();
    Result<void> add_sample(std::size_t candidate, double milliseconds, const std::string& reason, SampleStage stage);
    Result<void> quarantine(std::size_t candidate, const std::string& reason);
    [[nodiscard]] StoredConfiguration named(std::size_t candidate) const {
        return stored_configuration(surface_->space(), surface_->configuration(candidate));
    }
    [[nodiscard]] std::optional<std::size_t> find(const StoredConfiguration& configuration) const;
    [[nodiscard]] std::vector<std::size_t> finalists() const;
    [[nodiscard]] std::size_t rounds_of(const std::vector<std::size_t>& finalists, double milliseconds) const;
    Result<void> decide(const std::vector<std::size_t>& finalists, std::size_t rounds);
    Result<void> keep_finals(const std::vector<std::size_t>& finalists, const std::vector<LiveMeasurement>& results);
    [[nodiscard]] std::size_t incumbent_among(const std::vector<std::size_t>& finalists,
                                              const std::vector<LiveMeasurement>& results) const;
    void fill_choice(const std::vector<std::size_t>& finalists, const std::vector<LiveMeasurement>& results,
                     std::size_t winner);

    const TuningFile& file_;
    const TuneLiveOptions& options_;
    TuningKey key_;
    KnownChoices known_;
    std::vector<Quarantined> quarantined_;
    std::unique_ptr<LiveSurface> surface_;
    std::optional<Tuner> tuner_;
    TuneLiveOutcome outcome_;
    std::optional<std::size_t> plain_;
    Clock::duration longest_evaluation_{};
    std::vector<std::size_t> proposed_;  ///< by the strategy, in this run
    std::size_t next_in_portfolio_ = 0;
    std::size_t turns_ = 0;  ///< measurements since those that every search begins with
};

std::optional<std::size_t> LiveSearch::find(const StoredConfiguration& configuration) const {
    const std::optional<Configuration> values = configuration_in(surface_->space(), configuration);
    return values ? surface_->find(*values) : std::nullopt;
}

Result<void> LiveSearch::begin(const Device& device, Dispatcher& dispatcher, const oracle::Problem& problem,
                               RunJournal& journal) {
    YOLK_TRY(const std::vector<TuningChoice> choices, file_.choices());
    YOLK_TRY(quarantined_, file_.quarantined());
    std::erase_if(quarantined_, [this](const Quarantined& entry) { return entry.key != key_; });
    const TuningSpace space = problem.space(device.usable_info());
    known_ = known_choices(choices, key_, space);
    LiveOptions live{.candidate_limit = options_.candidate_limit,
                     .seed = options_.tuner.seed,
                     .included = {space.plain()},
                     .limit_of = options_.limit_of,
                     .cache_bytes = options_.cache_bytes,
                     .limit = options_.limit};
    YOLK_TRY(const std::vector<TuningSample> samples, file_.samples(key_));
    const auto include = [&](const StoredConfiguration& configuration) {
        if (auto values = configuration_in(space, configuration)) live.included.push_back(std::move(*values));
    };
    if (known_.exact) include(known_.exact->configuration);
    for (const StoredConfiguration& configuration : known_.to_validate) include(configuration);
    for (const TuningSample& sample : samples) include(sample.configuration);
    for (const StoredConfiguration& configuration : options_.portfolio) include(configuration);
    live.before = [this, &journal, space](const Configuration& configuration) {
        return journal.begin(journal_entry(key_, stored_configuration(space, configuration)).dump());
    };
    live.after = [&journal] { return journal.end(); };
    YOLK_TRY(surface_, LiveSurface::create(device, dispatcher, problem, std::move(live)));
    outcome_.heuristic = surface_->configuration(surface_->heuristic());
    plain_ = surface_->find(space.plain());
    TunerOptions options = options_.tuner;
    options.settings.natural_first = kFirstOfNaturalLive;
    YOLK_TRY(Tuner tuner, Tuner::create(surface_->shared_candidates(), std::move(options)));
    tuner_.emplace(std::move(tuner));
    return tell_known();
}

/// Samples of earlier runs, and what must not be run.
Result<void> LiveSearch::tell_known() {
    YOLK_TRY(const std::vector<TuningSample> samples, file_.samples(key_));
    for (const TuningSample& sample : samples) {
        const std::optional<std::size_t> candidate = find(sample.configuration);
        if (candidate && *candidate != surface_->heuristic() && !options_.again)
            YOLK_TRY_VOID(tuner_->tell(*candidate, sample.milliseconds));
    }
    outcome_.known = tuner_->history().size();
    for (const Quarantined& entry : quarantined_) {
        const std::optional<std::size_t> candidate = find(entry.configuration);
        // What an untuned plan takes runs anyway, whoever ended a process while it did; of a user's kernel nothing
        // does.
        const bool runs_anyway = candidate && *candidate == surface_->heuristic() && key_.family != kUserKernelFamily;
        if (candidate && !runs_anyway) YOLK_TRY_VOID(tuner_->tell(*candidate, kInvalidCost));
    }
    return {};
}

Result<void> LiveSearch::add_sample(std::size_t candidate, double milliseconds, const std::string& reason,
                                    SampleStage stage) {
    return file_.add(
        key_, {.configuration = named(candidate), .milliseconds = milliseconds, .reason = reason, .stage = stage});
}

Result<void> LiveSearch::quarantine(std::size_t candidate, const std::string& reason) {
    log(LogLevel::Info, fmt::format("Quarantined for {}: {}; {}", shape_text(key_.family, key_.shape),
                                    surface_->space().text(surface_->configuration(candidate)), reason));
    return file_.quarantine({key_, named(candidate), reason});
}

Result<bool> LiveSearch::measure(std::size_t candidate) {
    const auto begun = Clock::now();
    Result<LiveMeasurement> ran = surface_->run(candidate);
    longest_evaluation_ = std::max(longest_evaluation_, Clock::now() - begun);
    if (!ran) {
        if (ran.error().kind == ErrorKind::DeviceLost) YOLK_TRY_VOID(quarantine(candidate, ran.error().message));
        return std::move(ran).error();
    }
    ++outcome_.measured;
    if (ran->milliseconds.empty()) {
        ++outcome_.rejected;
        YOLK_TRY_VOID(add_sample(candidate, kInvalidCost, ran->reason, SampleStage::Search));
        if (ran->quarantine) YOLK_TRY_VOID(quarantine(candidate, ran->reason));
        YOLK_TRY_VOID(tuner_->tell(candidate, kInvalidCost));
    }
    for (const double milliseconds : ran->milliseconds) {
        YOLK_TRY_VOID(add_sample(candidate, milliseconds, {}, SampleStage::Search));
        YOLK_TRY_VOID(tuner_->tell(candidate, milliseconds));
    }
    const History& history = tuner_->history();
    const std::size_t heuristic = surface_->heuristic();
    LiveProgress progress{
        .evaluations = history.size(), .rejected = outcome_.rejected, .budget = options_.tuner.budget};
    if (const auto best = tuner_->best()) progress.best_milliseconds = best->cost;
    if (history.known(heuristic)) progress.heuristic_milliseconds = history.cost(heuristic);
    const bool goes_on = !options_.progress || options_.progress(progress);
    outcome_.interrupted = outcome_.interrupted || !goes_on;
    return goes_on && !is_time_over();
}

/// Whether to go on to the finals, or to end where there is no time for any.
bool LiveSearch::is_time_over() const {
    const auto now = Clock::now();
    if (now >= options_.limit) return true;
    return tuner_->history().size() >= kLeastEvaluations &&
           finals_duration() >= std::min(options_.deadline, options_.limit) - now;
}

/// A proof for each finalist, whose pipelines are there already, and the fewest rounds. An evaluation was a pipeline, a
/// proof and some samples; half of the longest one stands for the proof.
Clock::duration LiveSearch::finals_duration() const {
    double milliseconds = 0.0;
    std::size_t count = 0;
    for (const std::size_t candidate : finalists()) {
        milliseconds += tuner_->history().cost(candidate) * surface_->repeats();
        ++count;
    }
    const std::chrono::duration<double, std::milli> rounds(milliseconds * static_cast<double>(kFewestRounds + 1));
    return std::chrono::duration_cast<Clock::duration>(rounds) + longest_evaluation_ / 2 * static_cast<int>(count);
}

Result<void> LiveSearch::search() {
    if (is_time_over()) return {};
    std::vector<std::size_t> first{surface_->heuristic()};
    if (plain_) first.push_back(*plain_);
    if (known_.exact) {
        if (const auto candidate = find(known_.exact->configuration)) first.push_back(*candidate);
    }
    for (const StoredConfiguration& configuration : known_.to_validate) {
        if (const auto candidate = find(configuration)) first.push_back(*candidate);
    }
    for (const std::size_t candidate : first) {
        if (tuner_->history().known(candidate)) continue;
        YOLK_TRY(const bool goes_on, measure(candidate));
        if (!goes_on) return {};
    }
    while (const std::optional<std::size_t> candidate = next_candidate()) {
        YOLK_TRY(const bool goes_on, measure(*candidate));
        if (!goes_on) return {};
    }
    return {};
}

/// The portfolio's next that is not known, if it has any.
std::optional<std::size_t> LiveSearch::next_of_portfolio() {
    while (next_in_portfolio_ < options_.portfolio.size()) {
        const std::optional<std::size_t> candidate = find(options_.portfolio[next_in_portfolio_++]);
        if (candidate && !tuner_->history().known(*candidate)) return candidate;
    }
    return std::nullopt;
}

/// Some of the portfolio, and then it and the strategy by turns: a small budget is neither of them alone.
std::optional<std::size_t> LiveSearch::next_candidate() {
    if (tuner_->history().size() >= options_.tuner.budget) return std::nullopt;
    const std::size_t turn = turns_++;
    if (turn < kPortfolioFirst || (turn - kPortfolioFirst) % kPortfolioEvery == kPortfolioEvery - 1) {
        if (const auto candidate = next_of_portfolio()) return candidate;
    }
    const std::optional<std::size_t> candidate = tuner_->ask();
    if (candidate) proposed_.push_back(*candidate);
    return candidate;
}

/// The heuristic, the choice so far, the cheapest of the search, the plain one, and the next cheapest: where the time
/// is short, the last are left out.
std::vector<std::size_t> LiveSearch::finalists() const {
    const History& history = tuner_->history();
    std::vector<std::size_t> chosen;
    const auto add = [&](std::optional<std::size_t> candidate) {
        if (candidate && history.known(*candidate) && std::isfinite(history.cost(*candidate)) &&
            std::ranges::find(chosen, *candidate) == chosen.end())
            chosen.push_back(*candidate);
    };
    add(surface_->heuristic());
    if (known_.exact) add(find(known_.exact->configuration));
    if (const std::optional<std::size_t> best = history.best()) add(best);
    add(plain_);
    std::vector<std::size_t> order = history.order().empty()
                                         ? std::vector<std::size_t>()
                                         : std::vector<std::size_t>(history.order().begin(), history.order().end());
    std::ranges::stable_sort(order, {}, [&](std::size_t candidate) { return history.cost(candidate); });
    for (std::size_t i = 0; i < std::min(order.size(), options_.finalists); ++i) add(order[i]);
    return chosen;
}

std::size_t LiveSearch::rounds_of(const std::vector<std::size_t>& finalists, double milliseconds) const {
    double round = 1e-3;
    for (const std::size_t candidate : finalists) round += tuner_->history().cost(candidate);
    return static_cast<std::size_t>(std::clamp(milliseconds / round, double{kFewestRounds}, double{kMostRounds}));
}

Result<void> LiveSearch::keep_finals(const std::vector<std::size_t>& finalists,
                                     const std::vector<LiveMeasurement>& results) {
    for (std::size_t f = 0; f < finalists.size(); ++f) {
        for (const double milliseconds : results[f].milliseconds)
            YOLK_TRY_VOID(add_sample(finalists[f], milliseconds, {}, SampleStage::Final));
        if (results[f].quarantine) YOLK_TRY_VOID(quarantine(finalists[f], results[f].reason));
    }
    return {};
}

/// What a plan takes now: the choice in the table, else the heuristic, the first of the finalists.
std::size_t LiveSearch::incumbent_among(const std::vector<std::size_t>& finalists,
                                        const std::vector<LiveMeasurement>& results) const {
    const std::optional<std::size_t> earlier = known_.exact ? find(known_.exact->configuration) : std::nullopt;
    for (std::size_t f = 0; earlier && f < finalists.size(); ++f) {
        if (finalists[f] == *earlier && !results[f].milliseconds.empty()) return f;
    }
    return 0;
}

/// Everything about the winner but whether the table takes it.
void LiveSearch::fill_choice(const std::vector<std::size_t>& finalists, const std::vector<LiveMeasurement>& results,
                             std::size_t winner) {
    const std::size_t heuristic = surface_->heuristic();
    TuningChoice& choice = outcome_.choice;
    choice.configuration = named(finalists[winner]);
    choice.milliseconds = median_of(results[winner].milliseconds);
    choice.spread = spread_of(results[winner].milliseconds);
    for (std::size_t f = 0; f < finalists.size(); ++f) {
        if (results[f].milliseconds.empty()) continue;
        if (finalists[f] == heuristic) choice.heuristic_milliseconds = median_of(results[f].milliseconds);
        if (plain_ && finalists[f] == *plain_) choice.plain_milliseconds = median_of(results[f].milliseconds);
    }
    choice.evaluations = tuner_->history().size();
    outcome_.replaced = finalists[winner] != heuristic;
    outcome_.found = outcome_.replaced && std::ranges::find(proposed_, finalists[winner]) != proposed_.end();
}

Result<void> LiveSearch::decide(const std::vector<std::size_t>& finalists, std::size_t rounds) {
    YOLK_TRY(const std::vector<LiveMeasurement> results, surface_->final_rounds(finalists, rounds, kFewestRounds));
    YOLK_TRY_VOID(keep_finals(finalists, results));
    std::size_t best = 0;
    for (std::size_t f = 1; f < finalists.size(); ++f) {
        if (results[f].milliseconds.empty()) continue;
        if (results[best].milliseconds.empty() ||
            median_of(results[f].milliseconds) < median_of(results[best].milliseconds))
            best = f;
    }
    const std::size_t found = tuner_->history().best().value_or(surface_->heuristic());
    // Rounds that the time cut short, or without the one that the search found, say too little; the next run goes on
    // from the samples.
    if (results[best].milliseconds.size() < std::min(rounds, kFewestRounds)) return {};
    for (std::size_t f = 0; f < finalists.size(); ++f) {
        if (finalists[f] == found && results[f].milliseconds.empty() && results[f].reason.empty()) return {};
    }
    const std::size_t incumbent = incumbent_among(finalists, results);
    const bool replace = results[incumbent].milliseconds.empty() ||
                         replaces(compare(results[best].milliseconds, results[incumbent].milliseconds));
    fill_choice(finalists, results, replace ? best : incumbent);
    const std::optional<TuningChoice>& before = known_.exact ? known_.exact : known_.outdated;
    const auto expected = before ? std::optional(before->configuration) : std::optional<StoredConfiguration>();
    YOLK_TRY(const bool written, file_.put(outcome_.choice, expected));
    if (!written)
        log(LogLevel::Info,
            fmt::format("The table keeps a better or pinned choice for {}.", shape_text(key_.family, key_.shape)));
    return {};
}

Result<TuneLiveOutcome> LiveSearch::run(const Device& device, Dispatcher& dispatcher, const oracle::Problem& problem,
                                        RunJournal& journal) {
    YOLK_TRY_VOID(begin(device, dispatcher, problem, journal));
    outcome_.choice.key = key_;
    YOLK_TRY_VOID(search());
    const std::vector<std::size_t> last = finalists();
    // A choice ends the tuning of a shape; a search that somebody stopped this early has chosen nothing.
    const std::size_t least = std::min({kLeastEvaluations, options_.tuner.budget, surface_->candidates().size()});
    if (last.empty() || tuner_->history().size() < least) return std::move(outcome_);
    double round = 0.0;
    for (const std::size_t candidate : last) round += tuner_->history().cost(candidate);
    // Somebody who waits does not wait for long finals; the samples are kept, and the next run goes on from them.
    if (outcome_.interrupted && round * static_cast<double>(kFewestRounds) > kInterruptedMilliseconds)
        return std::move(outcome_);
    YOLK_TRY_VOID(decide(last, rounds_of(last, outcome_.interrupted ? kInterruptedMilliseconds : kFinalMilliseconds)));
    return std::move(outcome_);
}

}  // namespace

Result<TuneLiveOutcome> tune_live(const Device& device, Dispatcher& dispatcher, const oracle::Problem& problem,
                                  const TuningFile& file, RunJournal& journal, const TuneLiveOptions& options) {
    LiveSearch search(file, options, tuning_key(device.info(), problem.space(device.usable_info())));
    return search.run(device, dispatcher, problem, journal);
}

}  // namespace yolk::autotune
