// SPDX-License-Identifier: Apache-2.0
// A system under other texts, example by example: what a search for better prompts asks for.
#include <fmt/format.h>

#include "caught.hpp"
#include "models_in_force.hpp"
#include "pending_calls.hpp"
#include "population_place.hpp"
#include "system_impl.hpp"
#include "tracer.hpp"

namespace yolk::hyper {
namespace {

/// In place of a set's texts while it lives.
class ReplacedTexts {
   public:
    explicit ReplacedTexts(ParameterSet& set) : set_(&set) {}
    ~ReplacedTexts() {
        for (auto& [name, text] : before_) static_cast<void>(set_->set_text(name, std::move(text)));
    }
    ReplacedTexts(const ReplacedTexts&) = delete;
    ReplacedTexts& operator=(const ReplacedTexts&) = delete;

    [[nodiscard]] Result<void> replace(const Texts& texts) {
        for (const auto& [name, text] : texts) {
            const ParameterGroup* const group = set_->find(name);
            std::string before = group != nullptr ? group->text : std::string();
            YOLK_TRY_VOID(set_->set_text(name, text));
            before_.emplace_back(name, std::move(before));
        }
        return {};
    }

   private:
    ParameterSet* set_;
    std::vector<std::pair<std::string, std::string>> before_{};
};

Result<std::string> feedback_on(const Metric& metric, const Value& prediction, const Value& expected, double score) {
    if (!metric.feedback) return fmt::format("This got a score of {}.", score);
    return caught([&] { return fmt::format("The feedback of metric '{}'", metric.name); },
                  [&] { return metric.feedback(prediction, expected, score); });
}

std::vector<TextRecord> records_of(std::vector<Tracer::Call> calls, const std::string& feedback) {
    std::vector<TextRecord> records;
    for (Tracer::Call& call : calls) {
        auto inputs = Record::create(std::move(call.operands));
        records.push_back({.component = std::move(call.hyperfunction),
                           .inputs = inputs ? Value(*std::move(inputs)) : Value(Record()),
                           .output = call.result ? *std::move(call.result) : Value(""),
                           .feedback = feedback});
    }
    return records;
}

/// Score and prediction. Errors: the system's, the metric's.
Result<TextScore> scored(const Result<TracedExample>& traced, const Metric& metric, const Value& expected) {
    if (!traced) return traced.error();
    TextScore made{.prediction = population::output_of(*traced)};
    YOLK_TRY(const Scores scores, score(metric, std::span(&made.prediction, 1), std::span(&expected, 1)));
    made.score = scores.reward;
    return made;
}

}  // namespace

Result<std::vector<TextScore>> System::evaluate_with(const Texts& texts, std::span<const Example> examples,
                                                     const Metric& metric, const TextEvaluationOptions& options) {
    if (examples.empty()) return bad_input("System '{}' was given no examples; give it at least one.", impl_->name);
    YOLK_TRY_VOID(check_keys(examples));
    if (!metric.per_example) {
        return bad_input(
            "Metric '{}' sees all predictions at once, so single examples have no score; give a metric of one "
            "prediction and one expected value.",
            metric.name);
    }
    const ModelScope models(in_force_with(impl_->models));  // for the metric as well
    ReplacedTexts replaced(impl_->parameters);
    YOLK_TRY_VOID(replaced.replace(texts));
    const auto calls = impl_->pending_calls();
    std::vector<Impl::Begun> runs;
    for (std::size_t i = 0; i < examples.size(); ++i) {
        YOLK_TRY(Impl::Begun begun, impl_->begin(examples[i], i, calls, options.capture));
        runs.push_back(std::move(begun));
    }
    std::vector<TextScore> scores;
    for (std::size_t i = 0; i < examples.size(); ++i) {
        const Result<TracedExample> traced = Impl::finish(runs[i]);
        Result<TextScore> score = scored(traced, metric, examples[i].expected);
        Result<std::string> feedback = std::string();
        if (score && options.capture)
            feedback = feedback_on(metric, score->prediction, examples[i].expected, score->score);
        if (score && !feedback) score = std::move(feedback).error();
        if (!score) {
            feedback = fmt::format("It failed: {}", score.error().message);
            score = TextScore{.score = options.failed_score, .error = score.error().message};
        }
        if (options.capture) score->records = records_of(runs[i].tracer->take_calls(), *feedback);
        scores.push_back(*std::move(score));
    }
    return scores;
}

}  // namespace yolk::hyper
