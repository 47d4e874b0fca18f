// SPDX-License-Identifier: Apache-2.0
// A system under other texts, example by example: what a search for better prompts asks for.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "caught.hpp"
#include "example_view.hpp"
#include "models_in_force.hpp"
#include "pending_calls.hpp"
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
                  [&]() -> Result<std::string> {
                      YOLK_TRY(const Value part, scored_part(metric, prediction));
                      return metric.feedback(part, expected, score);
                  });
}

Value record_of(std::vector<std::pair<std::string, Value>> fields) {
    auto record = Record::create(std::move(fields));
    return record ? Value(*std::move(record)) : Value(Record());
}

std::vector<TextRecord> records_of(std::vector<Tracer::UsedText> used, const Example& example, const TextScore& score,
                                   const std::string& feedback) {
    const Value inputs = record_of({example.inputs.begin(), example.inputs.end()});
    std::vector<TextRecord> records;
    for (Tracer::UsedText& text : used) {
        TextRecord record{.component = std::move(text.group),
                          .inputs = inputs,
                          .output = score.error ? Value("") : score.prediction,
                          .score = score.score,
                          .feedback = feedback};
        for (Tracer::Call& call : text.calls)
            record.calls.push_back({std::move(call.name), record_of(std::move(call.operands)), std::move(call.result)});
        records.push_back(std::move(record));
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

/// What the metric says of one example, and in which words.
struct Judged {
    TextScore score{};
    std::string feedback{};
};
Judged judged(const Result<TracedExample>& traced, const Metric& metric, const Value& expected,
              const TextEvaluationOptions& options) {
    Result<TextScore> score = scored(traced, metric, expected);
    Result<std::string> feedback = std::string();
    if (score && options.capture) feedback = feedback_on(metric, score->prediction, expected, score->score);
    if (score && feedback) return {*std::move(score), *std::move(feedback)};
    const std::string why = score ? feedback.error().message : score.error().message;
    return {{.score = options.failed_score, .error = why}, fmt::format("It failed: {}", why)};
}

/// A metric that took so long for one example waits for something (a model that judges): the others then go on
/// together.
constexpr std::chrono::milliseconds kMetricWaits{2};
constexpr std::size_t kMostWaiting = 16;

/// In the examples' order, whichever is judged first.
std::vector<Judged> judge_all(std::span<const Result<TracedExample>> traced, std::span<const Example> examples,
                              const Metric& metric, const TextEvaluationOptions& options) {
    std::vector<Judged> all(traced.size());
    const auto judge = [&](std::size_t i) { all[i] = judged(traced[i], metric, examples[i].expected, options); };
    std::size_t done = 0;
    for (bool waits = false; done < all.size() && !(waits && metric.concurrent); ++done) {
        const auto begun = std::chrono::steady_clock::now();
        judge(done);
        waits = std::chrono::steady_clock::now() - begun > kMetricWaits;
    }
    const std::size_t left = all.size() - done;
    std::atomic<std::size_t> next{done};
    const auto work = [&, layers = models_in_force()] {
        const ModelScope scope(layers);
        for (std::size_t i = next++; i < all.size(); i = next++) judge(i);
    };
    std::vector<std::jthread> threads;
    for (std::size_t t = 1; t < std::min(left, kMostWaiting); ++t) threads.emplace_back(work);
    work();
    threads.clear();  // joins
    return all;
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
    std::vector<Result<TracedExample>> traced;
    for (Impl::Begun& run : runs) traced.push_back(Impl::finish(run));
    std::vector<Judged> all = judge_all(traced, examples, metric, options);
    std::vector<TextScore> scores;
    for (std::size_t i = 0; i < examples.size(); ++i) {
        if (options.capture)
            all[i].score.records =
                records_of(runs[i].tracer->take_used_texts(), examples[i], all[i].score, all[i].feedback);
        scores.push_back(std::move(all[i].score));
    }
    return scores;
}

}  // namespace yolk::hyper
