// SPDX-License-Identifier: Apache-2.0
// The two kinds of an iteration.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "fronts.hpp"
#include "gepa_run.hpp"
#include "minibatches.hpp"
#include "parents.hpp"
#include "reflection.hpp"

namespace yolk::hyper::prompts {
namespace {

std::vector<double> scores_of(std::span<const TextScore> scores) {
    std::vector<double> numbers;
    for (const TextScore& score : scores) numbers.push_back(score.score);
    return numbers;
}

/// What reflection on a component reads. An example that failed without a record of it says at least why.
std::vector<TextRecord> records_of(std::span<const TextScore> scores, const std::string& component) {
    std::vector<TextRecord> records;
    for (const TextScore& score : scores) {
        const std::size_t before = records.size();
        for (const TextRecord& record : score.records) {
            if (record.component.empty() || record.component == component) records.push_back(record);
        }
        if (records.size() == before && score.error)
            records.push_back(
                {.inputs = Record(), .output = score.prediction, .feedback = "This example failed: " + *score.error});
    }
    return records;
}

std::string_view name_of(TextSplit split) { return split == TextSplit::Train ? "train" : "validation"; }

}  // namespace

Result<std::vector<TextScore>> GepaRun::evaluate(TextSplit split, std::span<const std::uint32_t> ids,
                                                 const Texts& texts, bool capture) {
    YOLK_TRY(std::vector<TextScore> scores, objective_->evaluate(split, ids, texts, capture));
    if (scores.size() != ids.size()) {
        return bad_input("The objective gave {} scores of {} examples; it has to give one of each, in their order.",
                         scores.size(), ids.size());
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (std::isfinite(scores[i].score)) continue;
        return bad_input(
            "The score of {} example {} is {}; scores have to be finite. Give an example that fails the worst score, "
            "and the reason as its error.",
            name_of(split), ids[i], scores[i].score);
    }
    if (!std::isfinite(sum_of(scores_of(scores))))
        return bad_input("The sum of the scores of {} {} examples is not finite; give smaller ones.", ids.size(),
                         name_of(split));
    for (const TextScore& score : scores) {
        evaluated_now_ = true;
        if (!score.error) {
            succeeded_ = succeeded_now_ = true;
            continue;
        }
        if (!first_failure_) first_failure_ = score.error;
        last_failure_ = *score.error;
    }
    return scores;
}

Result<void> GepaRun::add(TextStep& step, const Texts& texts) {
    std::vector<std::uint32_t> all(objective_->validation_size());
    std::iota(all.begin(), all.end(), 0U);
    YOLK_TRY(const std::vector<TextScore> scores, evaluate(TextSplit::Validation, all, texts, false));
    Candidate made{.texts = texts, .parents = step.parents, .scores = scores_of(scores)};
    for (const std::uint32_t parent : made.parents)
        made.next_component = std::max(made.next_component, state_.candidates[parent].next_component);
    step.accepted = true;
    step.candidate = static_cast<std::uint32_t>(state_.candidates.size());
    step.mean = mean_of(made.scores);
    step.scores = made.scores;
    step.texts = texts;
    state_.candidates.push_back(std::move(made));
    objective_->offer(texts, *step.mean);
    return {};
}

std::vector<std::string> GepaRun::components_to_change(std::uint32_t parent) {
    Candidate& candidate = state_.candidates[parent];
    std::vector<std::string> names;
    for (const auto& component : candidate.texts) names.push_back(component.first);
    if (options_.component == ComponentChoice::All) return names;
    const std::uint32_t turn = candidate.next_component;
    candidate.next_component = (turn + 1) % static_cast<std::uint32_t>(names.size());
    return {names[turn]};
}

Result<std::optional<Texts>> GepaRun::reflect(TextStep& step, std::span<const TextScore> scores) {
    using Child = Result<std::optional<Texts>>;
    Texts texts = state_.candidates[step.parents.front()].texts;
    std::vector<std::string> asked;
    std::vector<chat::Request> requests;
    for (const std::string& component : step.components) {
        const std::vector<TextRecord> records = records_of(scores, component);
        if (records.empty()) continue;
        asked.push_back(component);
        requests.push_back(reflection_request(options_, component, texts.at(component), records, step.iteration));
    }
    if (requests.empty()) {
        step.why = fmt::format("no example of the minibatch has a record of '{}'", step.components.front());
        return Child(std::nullopt);
    }
    state_.idle = 0;
    const Texts before = texts;
    const std::vector<Result<chat::Answer>> answers = objective_->reflect(requests);
    if (answers.size() != requests.size())
        return bad_input("The objective gave {} answers to {} reflections.", answers.size(), requests.size());
    for (std::size_t i = 0; i < asked.size(); ++i) {
        if (!answers[i] && answers[i].error().kind == ErrorKind::Cancelled) return answers[i].error();
        const Result<std::string> text =
            answers[i] ? new_text_in(*answers[i]) : Result<std::string>(answers[i].error());
        const Result<void> fits = text ? objective_->check(asked[i], *text) : Result<void>(text.error());
        if (!fits) {
            step.why = fmt::format("no new text for '{}': {}", asked[i], fits.error().message);
            // A text that is not in a reply, or does not fit, may be there the next time, if ever one was.
            state_.failed = answers[i] && reflected_ ? 0 : state_.failed + 1;
            return Child(std::nullopt);
        }
        texts[asked[i]] = *text;
    }
    state_.failed = 0;
    reflected_ = true;
    if (texts == before) {
        step.why = "the new text is the old one";
        return Child(std::nullopt);
    }
    return Child(std::move(texts));
}

Result<void> GepaRun::judge_child(TextStep& step, const Texts& texts) {
    YOLK_TRY(const std::vector<TextScore> scores, evaluate(TextSplit::Train, step.ids, texts, false));
    step.sum = sum_of(scores_of(scores));
    if (*step.sum > step.parent_sums.front()) return add(step, texts);
    step.why = "not better than its parent on the minibatch";
    return {};
}

Result<void> GepaRun::mutate(TextStep& step) {
    step.kind = TextStepKind::Mutation;
    const std::uint32_t parent = choose_parent(options_, step.iteration, state_.scores());
    step.parents = {parent};
    step.ids = minibatch_ids(options_.seed, state_.minibatches++, objective_->train_size(), options_.minibatch);
    ++state_.idle;
    YOLK_TRY(const std::vector<TextScore> scores,
             evaluate(TextSplit::Train, step.ids, state_.candidates[parent].texts, true));
    step.parent_sums = {sum_of(scores_of(scores))};
    const bool perfect =
        std::ranges::all_of(scores, [&](const TextScore& score) { return score.score >= options_.perfect_score; });
    if (options_.skip_perfect && perfect) {
        step.why = "its parent is perfect on the minibatch";
        return {};
    }
    step.components = components_to_change(parent);
    YOLK_TRY(const std::optional<Texts> texts, reflect(step, scores));
    if (!texts) return {};
    YOLK_TRY_VOID(judge_child(step, *texts));
    if (!step.accepted) return {};
    state_.added_by_mutation = true;
    if (state_.merges_accepted < options_.most_merges) ++state_.merges_due;
    return {};
}

Result<void> GepaRun::merge(TextStep& step, const MergeProposal& proposal) {
    const Merged& merged = proposal.merged;
    const std::vector<double>& first = state_.candidates[merged.first].scores;
    const std::vector<double>& second = state_.candidates[merged.second].scores;
    step.kind = TextStepKind::Merge;
    step.parents = {merged.first, merged.second};
    step.ancestor = merged.ancestor;
    step.ids = merge_examples(first, second, options_.seed, step.iteration);
    std::uint32_t number = 0;
    for (const auto& component : proposal.texts) {
        if (merged.taken[number++] != merged.first) step.components.push_back(component.first);
    }
    step.parent_sums = {0.0, 0.0};
    for (const std::uint32_t id : step.ids) {
        step.parent_sums[0] += first[id];
        step.parent_sums[1] += second[id];
    }
    state_.merged.push_back(merged);
    state_.idle = 0;
    YOLK_TRY(const std::vector<TextScore> scores, evaluate(TextSplit::Validation, step.ids, proposal.texts, false));
    step.sum = sum_of(scores_of(scores));
    if (*step.sum < std::max(step.parent_sums[0], step.parent_sums[1])) {
        step.why = "worse than one of its parents on some validation examples";
        return {};
    }
    --state_.merges_due;
    ++state_.merges_accepted;
    return add(step, proposal.texts);
}

}  // namespace yolk::hyper::prompts
