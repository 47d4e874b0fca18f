// SPDX-License-Identifier: Apache-2.0
#include "gepa_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <numeric>
#include <string>
#include <system_error>
#include <utility>

#include "fronts.hpp"
#include "yolk/internal/core/descriptor.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/utf8.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk::hyper::prompts {
namespace {

/// Iterations in a row without a model asked for a text, where only models' work is limited.
constexpr std::uint32_t kMostIdle = 1'000;
/// In a row, without one evaluation that succeeded: a service that has gone, as a rule.
constexpr std::uint32_t kMostFailedIterations = 3;

bool exceeds(std::uint64_t limit, std::uint64_t spent, std::uint64_t more) {
    return limit != 0 && (spent > limit || more > limit - spent);
}

Json json_of(const chat::Request& request) {
    Json messages = Json::array();
    for (const chat::Message& message : request.messages)
        messages.push_back({{"role", message.role}, {"content", message.content}});
    Json json{{"model", request.model}, {"messages", std::move(messages)}, {"stop", request.stop}};
    const auto set = [&](const char* name, const auto& value) {
        if (value) json[name] = *value;
    };
    set("temperature", request.temperature);
    set("top_p", request.top_p);
    set("presence_penalty", request.presence_penalty);
    set("frequency_penalty", request.frequency_penalty);
    set("max_tokens", request.max_tokens);
    set("seed", request.seed);
    json["sample"] = request.sample;
    return json;
}

}  // namespace

Result<void> check_objective(const TextObjective& objective) {
    const Texts start = objective.start();
    if (start.empty()) return bad_input("There is no text to make better. Mark a group of text as optimized.");
    for (const auto& [component, text] : start) {
        if (!is_utf8(component) || !is_utf8(text))
            return bad_input("The text '{}' is not UTF-8; models are given UTF-8.", component);
    }
    if (objective.train_size() == 0 || objective.validation_size() == 0) {
        return bad_input("There are {} train and {} validation examples; a prompt search needs one of each at least.",
                         objective.train_size(), objective.validation_size());
    }
    return {};
}

std::uint64_t most_metric_calls(const GepaOptions& options, const TextObjective& objective) {
    const std::uint64_t of_merge = std::min(kMergeExamples, objective.validation_size());
    return std::max(std::uint64_t{2} * options.minibatch, options.most_merges == 0 ? 0 : of_merge) +
           objective.validation_size();
}

std::uint64_t most_reflections(const GepaOptions& options, const TextObjective& objective) {
    return options.component == ComponentChoice::All ? objective.start().size() : 1;
}

Result<void> check_budget(const GepaOptions& options, const TextObjective& objective) {
    const TextBudget& budget = objective.options().budget;
    const std::uint64_t start = objective.validation_size();
    if (!(budget.cost >= 0.0)) return bad_input("The budget's cost is {}; it must not be negative.", budget.cost);
    if (budget.metric_calls == 0 && budget.model_calls == 0 && budget.tokens == 0 && budget.cost == 0.0 &&
        options.iterations == 0) {
        return bad_input(
            "Nothing ends the prompt search: give it a budget of metric calls, model calls, tokens or cost, or a "
            "number "
            "of iterations.");
    }
    const std::uint64_t iteration = most_metric_calls(options, objective);
    if (exceeds(budget.metric_calls, start, iteration)) {
        return bad_input(
            "The budget of {} metric calls does not cover one new text: scoring the start takes {}, and an iteration "
            "up "
            "to {} (twice the minibatch, or a merge's examples, and the validation examples). Give it {} at least, or "
            "fewer examples.",
            budget.metric_calls, start, iteration, start + iteration);
    }
    const std::uint64_t calls = objective.model_calls_per_example();
    const std::uint64_t iteration_calls = iteration * calls + most_reflections(options, objective);
    if (exceeds(budget.model_calls, start * calls, iteration_calls)) {
        return bad_input(
            "The budget of {} model calls does not cover one new text: scoring the start takes up to {}, and an "
            "iteration "
            "up to {}, reflection included. Give it {} at least, or fewer examples.",
            budget.model_calls, start * calls, iteration_calls, start * calls + iteration_calls);
    }
    return {};
}

namespace {

/// What a second new text needs, where the first was not taken.
void warn_of_one_proposal(const GepaOptions& options, const TextObjective& objective) {
    const TextBudget& budget = objective.options().budget;
    const std::uint64_t second = std::uint64_t{objective.validation_size()} + 2 * std::uint64_t{options.minibatch} +
                                 most_metric_calls(options, objective);
    const std::uint64_t second_calls =
        second * objective.model_calls_per_example() + 2 * most_reflections(options, objective);
    const auto warn = [](std::uint64_t limit, std::string_view what, std::uint64_t wanted) {
        if (limit == 0 || limit >= wanted) return;
        log_warning(
            fmt::format("The budget of {} {} lets the prompt search try one new text; a second takes {} at least.",
                        limit, what, wanted));
    };
    warn(budget.metric_calls, "metric calls", second);
    warn(budget.model_calls, "model calls", second_calls);
}

}  // namespace

TextCost GepaRun::spent() const {
    const TextCost now = objective_->cost();
    return {.metric_calls = before_.metric_calls + now.metric_calls - already_.metric_calls,
            .model_calls = before_.model_calls + now.model_calls - already_.model_calls,
            .prompt_tokens = before_.prompt_tokens + now.prompt_tokens - already_.prompt_tokens,
            .completion_tokens = before_.completion_tokens + now.completion_tokens - already_.completion_tokens,
            // To a billionth, so that a run that was interrupted does not differ by a rounding.
            .cost = std::round((before_.cost + (now.cost - already_.cost)) * 1e9) / 1e9};
}

Json GepaRun::settings() const {
    const Texts start = objective_->start();
    const std::string texts = to_line(Json(start));
    return {{"objective", objective_->identity()},
            {"hash of the texts", Hasher().add(std::as_bytes(std::span(texts))).hex()},
            {"train examples", objective_->train_size()},
            {"validation examples", objective_->validation_size()},
            {"minibatch", options_.minibatch},
            {"most_merges", options_.most_merges},
            {"seed", options_.seed},
            {"perfect_score", options_.perfect_score},
            {"skip_perfect", options_.skip_perfect},
            {"parent", static_cast<int>(options_.parent)},
            {"epsilon", options_.epsilon},
            {"top_k", options_.top_k},
            {"component", static_cast<int>(options_.component)},
            {"reflection_prompt", options_.reflection_prompt},
            {"reflection", json_of(options_.reflection)}};
}

Result<void> GepaRun::open_log(std::uint64_t kept_bytes) {
    const std::filesystem::path& path = objective_->options().log;
    if (path.empty()) return {};
    std::error_code code;
    const std::uint64_t there = std::filesystem::exists(path, code) ? std::filesystem::file_size(path, code) : 0;
    state_.log_bytes = code ? 0 : std::min<std::uint64_t>(kept_bytes, there);
    if (state_.log_bytes < kept_bytes)
        log_warning(fmt::format("'{}' is shorter than the search has written it; earlier iterations are missing.",
                                shown(path)));
    YOLK_TRY(log_, LineLog::create(path, state_.log_bytes));
    return {};
}

Result<void> GepaRun::log_line(const Json& line) {
    if (!log_) return {};
    std::string text = to_line(line);
    state_.log_bytes += text.size() + 1;
    return log_->append(std::move(text));
}

Result<void> GepaRun::save() const {
    const std::filesystem::path& path = objective_->options().checkpoint;
    return path.empty() ? Result<void>() : write_state(path, kGepaKind, gepa_file(state_, settings()));
}

Result<bool> GepaRun::resume() {
    const TextRunOptions& run = objective_->options();
    std::error_code code;
    if (!run.checkpoint.empty()) {
        const std::filesystem::path folder = run.checkpoint.parent_path();
        if (!folder.empty() && !std::filesystem::is_directory(folder, code))
            return file_error("write", run.checkpoint, ENOENT);
        YOLK_TRY_VOID(check_regular_file(run.checkpoint));
    }
    if (!run.resume) return false;
    if (run.checkpoint.empty()) return bad_input("There is no checkpoint to resume from; name one.");
    if (!std::filesystem::exists(run.checkpoint, code)) {
        log_info(fmt::format("There is no '{}' to go on from; the prompt search begins anew.", shown(run.checkpoint)));
        return false;
    }
    YOLK_TRY(const StateFile file, read_state(run.checkpoint, kGepaKind));
    YOLK_TRY(state_, gepa_state_from(file, settings(), objective_->validation_size(),
                                     fmt::format("'{}'", shown(run.checkpoint))));
    if (state_.candidates.front().texts != objective_->start()) {
        return bad_input("'{}' starts from other texts than the objective; search anew without resuming.",
                         shown(run.checkpoint));
    }
    if (state_.failed >= options_.failed_reflections) state_.failed = 0;
    before_ = state_.cost;
    const std::vector<double> means = state_.means();
    for (std::size_t i = 0; i < means.size(); ++i) objective_->offer(state_.candidates[i].texts, means[i]);
    TextStep last{.iteration = state_.iteration};
    take_stock(last);
    objective_->resumed(last);
    YOLK_TRY_VOID(open_log(state_.log_bytes));
    return true;
}

Result<void> GepaRun::score_start() {
    YOLK_TRY_VOID(open_log(objective_->options().kept_log_bytes));
    const Texts start = objective_->start();
    std::vector<std::string> components;
    for (const auto& component : start) components.push_back(component.first);
    YOLK_TRY_VOID(log_line({{"search", "gepa"},
                            {"components", components},
                            {"train", objective_->train_size()},
                            {"validation", objective_->validation_size()},
                            {"seed", options_.seed},
                            {"perfect_score", options_.perfect_score}}));
    TextStep step;
    YOLK_TRY_VOID(add(step, start));
    const TextBudget& budget = objective_->options().budget;
    const TextCost cost = spent();
    if (succeeded_ &&
        ((budget.tokens != 0 && cost.tokens() >= budget.tokens) || (budget.cost > 0.0 && cost.cost >= budget.cost))) {
        return bad_input(
            "Scoring the start took {} tokens at a cost of {}, and the budget is {} tokens and {} (0: no limit), so "
            "that "
            "nothing is left for a new text. Give it twice that at least.",
            cost.tokens(), cost.cost, budget.tokens, budget.cost);
    }
    return finish(std::move(step));
}

Result<void> GepaRun::begin() {
    YOLK_TRY_VOID(validate(options_));
    YOLK_TRY_VOID(check_objective(*objective_));
    YOLK_TRY_VOID(check_budget(options_, *objective_));
    already_ = objective_->cost();
    YOLK_TRY(const bool resumed, resume());
    succeeded_ = resumed;  // a checkpoint is written after the first success
    reflected_ = state_.candidates.size() > 1;
    if (resumed) return {};
    warn_of_one_proposal(options_, *objective_);
    return score_start();
}

bool GepaRun::affords_iteration() const {
    const TextBudget& budget = objective_->options().budget;
    const TextCost cost = spent();
    const std::uint64_t metric_calls = most_metric_calls(options_, *objective_);
    const std::uint64_t model_calls =
        metric_calls * objective_->model_calls_per_example() + most_reflections(options_, *objective_);
    if (exceeds(budget.metric_calls, cost.metric_calls, metric_calls)) return false;
    if (exceeds(budget.model_calls, cost.model_calls, model_calls)) return false;
    if (budget.tokens != 0 && cost.tokens() >= budget.tokens) return false;
    return budget.cost == 0.0 || cost.cost < budget.cost;
}

std::optional<std::string_view> GepaRun::ended() const {
    if (stopped_by_caller_) return "caller";
    const std::vector<double>& best = state_.candidates[state_.best()].scores;
    if (options_.stop_when_perfect &&
        std::ranges::all_of(best, [&](double score) { return score >= options_.perfect_score; }))
        return "perfect";
    if (options_.iterations != 0 && state_.iteration >= options_.iterations) return "iterations";
    if (!affords_iteration()) return "budget";
    if (objective_->options().budget.metric_calls == 0 && options_.iterations == 0 && state_.idle >= kMostIdle)
        return "idle";
    return std::nullopt;
}

Result<void> GepaRun::iterate() {
    TextStep step;
    step.iteration = state_.iteration + 1;
    const bool merges = state_.merges_due > 0 && state_.added_by_mutation;
    state_.added_by_mutation = false;
    const std::optional<MergeProposal> proposal =
        merges ? propose_merge(state_, options_.seed, step.iteration) : std::nullopt;
    succeeded_now_ = evaluated_now_ = false;
    YOLK_TRY_VOID(proposal ? merge(step, *proposal) : mutate(step));
    state_.iteration = step.iteration;
    failed_iterations_ = succeeded_now_ ? 0 : failed_iterations_ + (evaluated_now_ ? 1 : 0);
    return finish(std::move(step));
}

Result<void> GepaRun::check_success() const {
    if (!succeeded_) {
        return failed_work(
            "Not one of the {} evaluations of examples succeeded, so there is nothing to make better. The first "
            "failed: "
            "{}",
            spent().metric_calls, first_failure_.value_or("no reason was given."));
    }
    if (failed_iterations_ < kMostFailedIterations) return {};
    return failed_work(
        "All evaluations of the last {} iterations failed, the last one: {} What was found so far is kept where there "
        "is "
        "a checkpoint.",
        failed_iterations_, last_failure_);
}

void GepaRun::take_stock(TextStep& step) const {
    const std::vector<double> means = state_.means();
    step.front_size =
        static_cast<std::uint32_t>(members_of(without_dominated(fronts_of(state_.scores()), means)).size());
    step.best = state_.best();
    step.best_mean = means[step.best];
    step.cost = state_.cost;
}

Result<void> GepaRun::finish(TextStep step) {
    state_.cost = spent();
    take_stock(step);
    YOLK_TRY_VOID(log_line(to_json(step)));
    if (succeeded_) YOLK_TRY_VOID(save());
    stopped_by_caller_ = !objective_->report(step);
    if (state_.failed < options_.failed_reflections) return {};
    return failed_work(
        "{} reflections in a row gave no new text, the last one: {} What was found so far is kept where there is "
        "a checkpoint.",
        state_.failed, step.why);
}

Result<void> GepaRun::run() {
    YOLK_TRY_VOID(begin());
    std::optional<std::string_view> why = ended();
    for (; !why; why = ended()) {
        YOLK_TRY_VOID(iterate());
        YOLK_TRY_VOID(check_success());
    }
    YOLK_TRY_VOID(check_success());
    objective_->stopped(*why);
    const std::uint64_t logged = state_.log_bytes;
    YOLK_TRY_VOID(log_line({{"stopped_by", *why}, {"best", state_.best()}, {"cost", to_json(state_.cost)}}));
    state_.log_bytes = logged;  // a run that goes on writes over that line
    return {};
}

}  // namespace yolk::hyper::prompts
