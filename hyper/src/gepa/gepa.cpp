// SPDX-License-Identifier: Apache-2.0
// GEPA as a search, and the search that does nothing.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "gepa_run.hpp"
#include "yolk/prompts.hpp"

namespace yolk::hyper {
namespace {

using OptionalCount = std::optional<std::uint64_t>;

/// The lower one of two upper bounds, where there are any.
OptionalCount tighter(OptionalCount a, OptionalCount b) { return !a ? b : !b ? a : std::min(*a, *b); }

OptionalCount limit_of(std::uint64_t limit) { return limit == 0 ? OptionalCount() : OptionalCount(limit); }

class Gepa final : public TextSearch {
   public:
    explicit Gepa(GepaOptions options) : options_(std::move(options)) {}
    [[nodiscard]] std::string name() const override { return "gepa"; }

    [[nodiscard]] Result<TextForecast> forecast(const TextObjective& objective) const override {
        YOLK_TRY_VOID(validate(options_));
        YOLK_TRY_VOID(prompts::check_objective(objective));
        YOLK_TRY_VOID(prompts::check_budget(options_, objective));
        const TextBudget& budget = objective.options().budget;
        const std::uint64_t calls = objective.model_calls_per_example();
        const std::uint64_t dearest = prompts::most_metric_calls(options_, objective);
        const std::uint64_t reflections = prompts::most_reflections(options_, objective);
        TextForecast forecast{.start_metric_calls = objective.validation_size()};
        const auto after_start = [&](std::uint64_t limit, std::uint64_t of_example) {
            return limit - std::min(limit, forecast.start_metric_calls * of_example);
        };
        // An iteration that reflects scores the parent on a minibatch, and may come to nothing more.
        OptionalCount iterations = limit_of(options_.iterations);
        if (budget.metric_calls != 0)
            iterations = tighter(iterations, after_start(budget.metric_calls, 1) / options_.minibatch);
        if (budget.model_calls != 0) {
            iterations = tighter(iterations, after_start(budget.model_calls, calls) / (options_.minibatch * calls + 1));
        }
        forecast.metric_calls = limit_of(budget.metric_calls);
        if (options_.iterations != 0) {
            forecast.metric_calls =
                tighter(forecast.metric_calls, forecast.start_metric_calls + options_.iterations * dearest);
        }
        if (budget.model_calls != 0 && calls != 0)
            forecast.metric_calls = tighter(forecast.metric_calls, budget.model_calls / calls);
        if (iterations) forecast.reflection_calls = *iterations * reflections;
        if (budget.model_calls != 0)
            forecast.reflection_calls = tighter(forecast.reflection_calls, after_start(budget.model_calls, calls));
        if (forecast.metric_calls && forecast.reflection_calls)
            forecast.model_calls = *forecast.metric_calls * calls + *forecast.reflection_calls;
        forecast.model_calls = tighter(forecast.model_calls, limit_of(budget.model_calls));
        return forecast;
    }

    [[nodiscard]] Result<void> run(TextObjective& objective) override {
        return prompts::GepaRun(options_, objective).run();
    }

   private:
    GepaOptions options_;
};

class NoTextSearch final : public TextSearch {
   public:
    [[nodiscard]] std::string name() const override { return "none"; }
    [[nodiscard]] Result<TextForecast> forecast(const TextObjective& /*objective*/) const override {
        return TextForecast{.metric_calls = 0, .reflection_calls = 0, .model_calls = 0};
    }
    [[nodiscard]] Result<void> run(TextObjective& /*objective*/) override { return {}; }
};

}  // namespace

Result<void> validate(const GepaOptions& options) {
    if (options.minibatch == 0) return bad_input("The minibatch has 0 examples; it needs at least 1.");
    if (!(options.epsilon >= 0.0 && options.epsilon <= 1.0))
        return bad_input("epsilon is {}; it is a probability, from 0 to 1.", options.epsilon);
    if (options.top_k == 0) return bad_input("top_k is 0; parents are drawn from at least 1 candidate.");
    if (options.failed_reflections == 0)
        return bad_input("failed_reflections is 0; at least 1 must fail before a search ends for it.");
    if (std::isnan(options.perfect_score) || options.perfect_score == -std::numeric_limits<double>::infinity())
        return bad_input("perfect_score is {}; give a finite number, or infinity where no score is perfect.",
                         options.perfect_score);
    if (options.reflection.schema)
        return bad_input("The reflection has a schema; its reply is text with the new prompt between fences.");
    for (const std::string_view place : {"{text}", "{records}"}) {
        if (options.reflection_prompt.empty() || options.reflection_prompt.find(place) != std::string::npos) continue;
        return bad_input("The reflection prompt has no {} in it; it needs {{text}} and {{records}}.", place);
    }
    return {};
}

std::unique_ptr<TextSearch> gepa(GepaOptions options) { return std::make_unique<Gepa>(std::move(options)); }

std::unique_ptr<TextSearch> no_text_search() { return std::make_unique<NoTextSearch>(); }

}  // namespace yolk::hyper
