// SPDX-License-Identifier: Apache-2.0
#include "rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "objective.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/writer_lock.hpp"
#include "yolk/log.hpp"

namespace yolk::hyper::prompts {
namespace {

bool has_numbers_to_search(const ParameterSet& set, const evolve::EvolutionOptions& evolution) {
    const Result<ParameterSet> working = working_set(set, evolution);
    return working && !optimized_groups(*working).empty();
}

/// An equal share of what is left, for one of `rounds` that are left; 0 stays no limit.
std::uint64_t share_of(std::uint64_t limit, std::uint64_t spent, std::uint32_t rounds) {
    if (limit == 0) return 0;
    // 0 would be no limit; with 1 there is no round.
    return std::max<std::uint64_t>(1, (limit - std::min(limit, spent)) / rounds);
}

class Rounds {
   public:
    Rounds(const SystemTask& task, const OptimizeOptions& options, const SearchNumbers& numbers)
        : task_(task), options_(options), text_(*options.text), numbers_(numbers) {
        with_numbers_ = text_.numbers && has_numbers_to_search(task.system->parameters(), options.evolution);
        house_ = gepa(text_.gepa);
        search_ = text_.search != nullptr ? text_.search : house_.get();
    }
    [[nodiscard]] Result<OptimizeOutcome> expected();
    [[nodiscard]] Result<OptimizeOutcome> run();

   private:
    [[nodiscard]] std::uint32_t phases() const noexcept { return 2 * text_.rounds; }
    [[nodiscard]] TextCost spent_on_texts() const;
    [[nodiscard]] TextBudget budget() const;
    /// Whether a round after the first can score its start and go on from there.
    [[nodiscard]] bool affords_texts(const TextBudget& share) const;
    [[nodiscard]] std::filesystem::path phase_file() const;
    [[nodiscard]] Json settings() const;
    /// Whether there was a checkpoint to go on from.
    [[nodiscard]] Result<bool> go_on();
    [[nodiscard]] Result<void> save();
    [[nodiscard]] Result<void> search_texts(bool resumes);
    [[nodiscard]] Result<void> search_numbers(bool resumes);
    [[nodiscard]] Result<void> begin_log();
    void end_phase();

    SystemTask task_;
    const OptimizeOptions& options_;
    const TextOptions& text_;
    const SearchNumbers& numbers_;
    bool with_numbers_ = false;
    std::unique_ptr<TextSearch> house_;
    TextSearch* search_ = nullptr;
    RoundsState state_{};
    bool stopped_by_caller_ = false;
};

TextCost Rounds::spent_on_texts() const {
    TextCost spent;
    for (const TextRound& round : state_.outcome.text_rounds) {
        spent.metric_calls += round.cost.metric_calls;
        spent.model_calls += round.cost.model_calls;
        spent.prompt_tokens += round.cost.prompt_tokens;
        spent.completion_tokens += round.cost.completion_tokens;
        spent.cost += round.cost.cost;
    }
    return spent;
}

bool Rounds::affords_texts(const TextBudget& share) const {
    const TextCost spent = spent_on_texts();
    const std::uint64_t start = task_.validation.size();
    if (!search_->forecast(SystemTexts(task_, text_, {.budget = share}))) return false;  // it did with the first share
    // What tokens and cost the start will take is not known: about what other evaluations took, and as much again.
    const double starts =
        2.0 * static_cast<double>(start) / static_cast<double>(std::max<std::uint64_t>(1, spent.metric_calls));
    if (share.tokens != 0 && static_cast<double>(share.tokens) < starts * static_cast<double>(spent.tokens()))
        return false;
    return share.cost == 0.0 || share.cost >= starts * spent.cost;
}

TextBudget Rounds::budget() const {
    const TextCost spent = spent_on_texts();
    const std::uint32_t left = text_.rounds - state_.phase / 2;
    const TextBudget& all = text_.budget;
    return {.metric_calls = share_of(all.metric_calls, spent.metric_calls, left),
            .model_calls = share_of(all.model_calls, spent.model_calls, left),
            .tokens = share_of(all.tokens, spent.tokens(), left),
            .cost = all.cost == 0.0 ? 0.0 : std::max(1e-9, (all.cost - spent.cost) / left)};
}

std::filesystem::path Rounds::phase_file() const {
    if (options_.checkpoint.empty()) return {};
    return path_beside(options_.checkpoint, fmt::format(".{}", state_.phase));
}

Json Rounds::settings() const {
    return {{"system", task_.system->name()},
            {"metric", task_.metric->name},
            {"hash of the examples", hash_of(task_.train)},
            {"hash of the validation examples", hash_of(task_.validation)},
            {"rounds", text_.rounds},
            {"numbers", with_numbers_},
            {"search", search_->name()},
            {"steps", options_.generations}};
}

Result<bool> Rounds::go_on() {
    state_.log_bytes = options_.kept_log_bytes;
    if (!options_.resume) return false;
    std::error_code code;
    if (!std::filesystem::exists(options_.checkpoint, code)) {
        log_info(
            fmt::format("There is no '{}' to go on from; the optimization begins anew.", shown(options_.checkpoint)));
        return false;
    }
    YOLK_TRY(const StateFile file, read_state(options_.checkpoint, kRoundsKind));
    YOLK_TRY(state_, rounds_state_from(file, settings(), task_.system->parameters(),
                                       fmt::format("'{}'", shown(options_.checkpoint))));
    return true;
}

Result<void> Rounds::save() {
    if (options_.checkpoint.empty()) return {};
    YOLK_TRY(StateFile file, rounds_file(state_, settings(), task_.system->parameters()));
    return write_state(options_.checkpoint, kRoundsKind, std::move(file));
}

/// Says whose log it is; each search goes on behind that.
Result<void> Rounds::begin_log() {
    if (options_.log.empty()) return {};
    YOLK_TRY(LineLog log, LineLog::create(options_.log, options_.kept_log_bytes));
    std::string line = to_line(Json{{"system", task_.system->name()},
                                    {"prompts", search_->name()},
                                    {"rounds", text_.rounds},
                                    {"numbers", with_numbers_}});
    state_.log_bytes = options_.kept_log_bytes + line.size() + 1;
    return log.append(std::move(line));
}

void Rounds::end_phase() {
    ++state_.phase;
    std::error_code code;
    if (!options_.log.empty()) state_.log_bytes = std::filesystem::file_size(options_.log, code);
}

Result<void> Rounds::search_texts(bool resumes) {
    const TextBudget share = budget();
    OptimizeOutcome& outcome = state_.outcome;
    if (state_.phase > 0 && !affords_texts(share)) {
        outcome.text_rounds.push_back(
            {.start_mean = outcome.best_reward, .best_mean = outcome.best_reward, .stopped_by = "budget"});
        outcome.notes.push_back(
            fmt::format("Round {} searched no prompts: its share of the budget does not cover one new text.",
                        state_.phase / 2 + 1));
        return {};
    }
    TextRunOptions run{.budget = share,
                       .checkpoint = phase_file(),
                       .resume = resumes,
                       .log = options_.log,
                       .kept_log_bytes = state_.log_bytes};
    SystemTexts objective(task_, text_, std::move(run));
    if (text_.rounds > 1 && state_.phase == 0) {
        if (const auto covered = search_->forecast(objective); !covered)
            return Error(covered.error()).while_doing(fmt::format("sharing the budget out to {} rounds", text_.rounds));
    }
    YOLK_TRY_VOID(search_->run(objective));
    if (!objective.best() && objective.cost().metric_calls > 0) {
        return failed_work(
            "The prompt search '{}' scored {} examples and offered no texts with a finite mean, so there is nothing to "
            "keep.",
            shown(search_->name()), objective.cost().metric_calls);
    }
    stopped_by_caller_ = objective.stopped_by_caller();
    const TextStep& last = objective.last_step();
    TextRound round{.start_mean = outcome.best_reward,
                    .best_mean = outcome.best_reward,
                    .iterations = last.iteration,
                    .stopped_by = objective.stopped_by()};
    round.cost = last.cost == TextCost() ? objective.cost() : last.cost;  // that of a run that went on has all of it
    if (objective.best()) {
        round.best_mean = objective.best()->second;
        round.start_mean = objective.start_mean().value_or(round.best_mean);
        for (const auto& [name, text] : objective.best()->first)
            YOLK_TRY_VOID(task_.system->parameters().set_text(name, text));
        if (state_.phase == 0) outcome.start_reward = round.start_mean;
        outcome.best_reward = round.best_mean;
        if (!options_.held_out.empty()) {
            if (state_.phase == 0) outcome.held_out_start = round.start_mean;
            outcome.held_out_best = round.best_mean;
        }
    }
    outcome.cost.metric_calls += round.cost.metric_calls;
    outcome.cost.model_calls += round.cost.model_calls;
    outcome.cost.tokens += round.cost.tokens();
    outcome.cost.cost += round.cost.cost;
    outcome.stopped_by = round.stopped_by;
    outcome.text_rounds.push_back(std::move(round));
    return {};
}

Result<void> Rounds::search_numbers(bool resumes) {
    OptimizeOptions options = options_;
    options.text.reset();
    options.checkpoint = phase_file();
    options.resume = resumes;
    options.kept_log_bytes = state_.log_bytes;
    options.evolution.seed += state_.phase / 2;  // other noise in each round
    YOLK_TRY(OptimizeOutcome made, numbers_(options));
    OptimizeOutcome& outcome = state_.outcome;
    if (std::isnan(outcome.start_reward)) {  // no texts were scored
        outcome.start_reward = made.held_out_start.value_or(made.start_reward);
        outcome.held_out_start = made.held_out_start;
    }
    outcome.best_reward = made.held_out_best.value_or(made.best_reward);
    if (made.held_out_best) outcome.held_out_best = made.held_out_best;
    outcome.generations += made.generations;
    outcome.failed_candidates += made.failed_candidates;
    outcome.cost.metric_calls += made.cost.metric_calls;
    outcome.cost.host_calls += made.cost.host_calls;
    outcome.cost.dispatches += made.cost.dispatches;
    outcome.cost.numbers = made.cost.numbers;
    outcome.cost.model_calls += made.cost.model_calls;
    outcome.cost.tokens += made.cost.tokens;
    outcome.cost.cost += made.cost.cost;
    outcome.stopped_by = made.stopped_by;
    outcome.state_hash = made.state_hash;
    outcome.history.insert(outcome.history.end(), made.history.begin(), made.history.end());
    outcome.fallbacks = std::move(made.fallbacks);
    outcome.shares = std::move(made.shares);
    outcome.depends_on_placement = outcome.depends_on_placement || made.depends_on_placement;
    outcome.notes.insert(outcome.notes.end(), made.notes.begin(), made.notes.end());
    stopped_by_caller_ = made.stopped_by == "caller";
    return {};
}

Result<OptimizeOutcome> Rounds::run() {
    YOLK_TRY(bool resumes, go_on());
    if (!resumes) {
        state_.outcome.start_reward = state_.outcome.best_reward = std::numeric_limits<double>::quiet_NaN();
        YOLK_TRY_VOID(begin_log());
        YOLK_TRY_VOID(save());
    }
    while (state_.phase < phases() && !stopped_by_caller_) {
        const std::filesystem::path file = phase_file();
        if (state_.phase % 2 == 0) {
            YOLK_TRY_VOID(search_texts(resumes));
        } else if (with_numbers_) {
            YOLK_TRY_VOID(search_numbers(resumes));
        }
        resumes = false;
        if (stopped_by_caller_) break;  // its own checkpoint is what to go on from
        end_phase();
        YOLK_TRY_VOID(save());
        std::error_code code;
        if (!file.empty()) std::filesystem::remove(file, code);
    }
    if (std::isnan(state_.outcome.best_reward))
        state_.outcome.notes.emplace_back("Nothing was scored, so there is no reward.");
    return std::move(state_.outcome);
}

Result<OptimizeOutcome> Rounds::expected() {
    OptimizeOutcome outcome;
    if (with_numbers_) {
        OptimizeOptions options = options_;
        options.text.reset();
        options.checkpoint.clear();
        options.resume = false;
        YOLK_TRY(outcome, numbers_(options));
        outcome.cost.metric_calls *= text_.rounds;
        outcome.cost.host_calls *= text_.rounds;
        outcome.cost.dispatches *= text_.rounds;
        outcome.cost.model_calls *= text_.rounds;
    }
    const SystemTexts objective(task_, text_, {.budget = budget()});
    YOLK_TRY(TextForecast forecast, search_->forecast(objective));
    const auto times = [&](std::optional<std::uint64_t>& count) {
        if (count) count = *count * text_.rounds;
    };
    forecast.start_metric_calls *= text_.rounds;
    times(forecast.metric_calls);
    times(forecast.reflection_calls);
    times(forecast.model_calls);
    outcome.cost.metric_calls += forecast.metric_calls.value_or(0);
    outcome.cost.model_calls += forecast.model_calls.value_or(0);
    outcome.text_forecast = forecast;
    outcome.stopped_by = "dry run";
    return outcome;
}

}  // namespace

Result<void> check_text_options(const OptimizeOptions& options) {
    if (!std::isfinite(options.text->failed_score)) {
        return bad_input("The score of an example that failed is {}; it must be finite. Give the worst there is.",
                         options.text->failed_score);
    }
    if (options.text->rounds == 0)
        return bad_input("The rounds of prompts and numbers are 0; there must be 1 at least.");
    return {};
}

Result<OptimizeOutcome> optimize_by_rounds(const SystemTask& task, const OptimizeOptions& options,
                                           const SearchNumbers& numbers) {
    Rounds rounds(task, options, numbers);
    return options.dry_run ? rounds.expected() : rounds.run();
}

}  // namespace yolk::hyper::prompts
