// SPDX-License-Identifier: Apache-2.0
#include "system_texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <thread>

#include "counts_in_force.hpp"
#include "models_in_force.hpp"
#include "objective.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/json.hpp"
#include "yolk/log.hpp"

namespace yolk::hyper::prompts {
namespace {

constexpr std::size_t kMostReflections = 16;  // at the same time
const std::array<std::string, 1>& reflection_tags() {
    static const std::array<std::string, 1> tags{"reflection"};
    return tags;
}

Result<chat::Answer> ask(const TextOptions& text, const chat::Request& request) {
    if (text.reflector) return text.reflector->call(reflection_tags(), request);
    return ask_models(reflection_tags(), request, {});
}

/// Of everything but these texts.
std::string hash_of_rest(const ParameterSet& set, const Texts& searched) {
    Json json = Json::array();
    Hasher hasher;
    for (const ParameterGroup& group : set.groups()) {
        json.push_back({group.spec.name, searched.contains(group.spec.name) ? "" : group.text});
        hasher.add_values(group.values.values());
    }
    const std::string names = to_line(json);
    return hasher.add(std::as_bytes(std::span(names))).hex();
}

}  // namespace

Texts optimized_texts(const ParameterSet& set, std::span<const std::string> frozen) {
    Texts texts;
    for (const ParameterGroup& group : set.groups()) {
        const bool is_frozen = std::ranges::find(frozen, group.spec.name) != frozen.end();
        if (group.spec.is_text && group.spec.optimize && !is_frozen) texts.emplace(group.spec.name, group.text);
    }
    return texts;
}

SystemTexts::SystemTexts(const SystemTask& task, const TextOptions& text, TextRunOptions run)
    : task_(task),
      text_(&text),
      run_(std::move(run)),
      start_(optimized_texts(task.system->parameters(), task.frozen)) {}

std::string SystemTexts::identity() const {
    return fmt::format("system {}, metric {}, train {}, validation {}, other parameters {}, samples {}, failed {}",
                       task_.system->name(), task_.metric->name, hash_of(task_.train), hash_of(task_.validation),
                       hash_of_rest(task_.system->parameters(), start_), task_.samples_per_example,
                       text_->failed_score);
}

Result<std::vector<TextScore>> SystemTexts::evaluate(TextSplit split, std::span<const std::uint32_t> ids,
                                                     const Texts& candidate, bool capture) {
    const std::span<const Example> from = split == TextSplit::Train ? task_.train : task_.validation;
    std::vector<Example> examples;
    for (const std::uint32_t id : ids) examples.push_back(from[id]);
    const ModelCounts before = counts_in_force();
    std::vector<TextScore> scores;
    for (std::uint32_t sample = 0; sample < task_.samples_per_example; ++sample) {
        YOLK_TRY(std::vector<TextScore> drawn,
                 task_.system->evaluate_with(candidate, examples, *task_.metric,
                                             {.capture = capture && sample == 0, .failed_score = text_->failed_score}));
        cost_.metric_calls += ids.size();
        if (sample == 0) {
            scores = std::move(drawn);
            continue;
        }
        for (std::size_t i = 0; i < scores.size(); ++i) scores[i].score += drawn[i].score;
    }
    for (TextScore& score : scores) score.score /= task_.samples_per_example;
    const ModelCounts spent = counts_in_force() - before;
    cost_.model_calls += spent.calls;
    cost_.prompt_tokens += spent.prompt_tokens;
    cost_.completion_tokens += spent.completion_tokens;
    cost_.cost += spent.cost;
    return scores;
}

std::vector<Result<chat::Answer>> SystemTexts::reflect(std::span<const chat::Request> requests) {
    std::vector<std::optional<Result<chat::Answer>>> made(requests.size());
    std::atomic<std::size_t> next = 0;
    const auto work = [&, layers = models_in_force()] {
        const ModelScope scope(layers);
        for (std::size_t i = next++; i < requests.size(); i = next++) made[i] = ask(*text_, requests[i]);
    };
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 1; t < std::min(requests.size(), kMostReflections); ++t) threads.emplace_back(work);
        work();
    }
    std::vector<Result<chat::Answer>> answers;
    for (std::optional<Result<chat::Answer>>& each : made) {
        ++cost_.model_calls;
        answers.push_back(*std::move(each));
        if (!answers.back()) continue;
        const chat::Answer& answer = *answers.back();
        cost_.prompt_tokens += answer.usage.prompt_tokens;
        cost_.completion_tokens += answer.usage.completion_tokens;
        cost_.cost += answer.cost;
    }
    return answers;
}

Result<void> SystemTexts::check(const std::string& component, const std::string& text) const {
    ParameterSet set = task_.system->parameters();
    return set.set_text(component, text);
}

void SystemTexts::offer(const Texts& candidate, double mean) {
    if (!std::isfinite(mean)) {
        log_warning(fmt::format("A candidate was offered with a mean of {}, and is not kept.", mean));
        return;
    }
    if (!start_mean_ && candidate == start_) start_mean_ = mean;
    if (!best_ || mean > best_->second) best_.emplace(candidate, mean);
}

bool SystemTexts::report(const TextStep& step) {
    last_step_ = step;
    stopped_by_caller_ = text_->on_step && !text_->on_step(step);
    return !stopped_by_caller_;
}

}  // namespace yolk::hyper::prompts
