// SPDX-License-Identifier: Apache-2.0
// What prompt searches report, as JSON.
#include "yolk/json.hpp"
#include "yolk/prompts.hpp"

namespace yolk::hyper {

Json to_json(const TextCost& cost) {
    return {{"metric_calls", cost.metric_calls},
            {"model_calls", cost.model_calls},
            {"prompt_tokens", cost.prompt_tokens},
            {"completion_tokens", cost.completion_tokens},
            {"cost", cost.cost}};
}

std::string_view to_string(TextStepKind kind) noexcept {
    switch (kind) {
        case TextStepKind::Start: return "start";
        case TextStepKind::Mutation: return "mutation";
        case TextStepKind::Merge: return "merge";
    }
    return "unknown";
}

Json to_json(const TextStep& step) {
    Json json{{"iteration", step.iteration}, {"kind", to_string(step.kind)}, {"accepted", step.accepted}};
    if (!step.why.empty()) json["why"] = step.why;
    if (!step.parents.empty()) json["parents"] = step.parents;
    if (step.ancestor) json["ancestor"] = *step.ancestor;
    if (!step.components.empty()) json["components"] = step.components;
    if (!step.ids.empty()) json["ids"] = step.ids;
    if (!step.parent_sums.empty()) json["parent_sums"] = step.parent_sums;
    if (step.sum) json["sum"] = *step.sum;
    if (step.candidate) json["candidate"] = *step.candidate;
    if (step.mean) json["mean"] = *step.mean;
    if (step.accepted) {
        json["scores"] = step.scores;
        json["texts"] = step.texts;
    }
    json["front"] = step.front_size;
    json["best"] = step.best;
    json["best_mean"] = step.best_mean;
    json.update(to_json(step.cost));
    return json;
}

Json to_json(const TextForecast& forecast) {
    const auto bound = [](const std::optional<std::uint64_t>& count) { return count ? Json(*count) : Json(); };
    return {{"start_metric_calls", forecast.start_metric_calls},
            {"metric_calls", bound(forecast.metric_calls)},
            {"reflection_calls", bound(forecast.reflection_calls)},
            {"model_calls", bound(forecast.model_calls)}};
}

}  // namespace yolk::hyper
