// SPDX-License-Identifier: Apache-2.0
// Whole populations of a system's parameters, and their rewards.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <thread>

#include "models_in_force.hpp"
#include "scored_example.hpp"
#include "system_impl.hpp"
#include "yolk/core/log.hpp"

namespace yolk::hyper {
namespace {

/// Threads are worth their start where the metric has been running for so long and is not done.
constexpr std::chrono::microseconds kWorthThreads{500};
/// A metric that takes so long waits for something else (a program, a service): more threads than cores.
constexpr std::chrono::milliseconds kWaits{2};
constexpr std::uint32_t kWaitingThreads = 16;
/// Each holds a chunk's buffers on the device.
constexpr std::size_t kKeptPopulations = 2;

class Scoring {
   public:
    Scoring(PopulationEvaluation& evaluation, std::span<const Value> expected, const Metric& metric)
        : evaluation_(evaluation), expected_(expected), metric_(metric) {}

    void run() {
        const std::uint32_t count = evaluation_.outputs.candidates;
        const auto start = std::chrono::steady_clock::now();
        auto elapsed = std::chrono::steady_clock::duration::zero();
        std::uint32_t done = 0;
        std::vector<Value> predictions;
        while (done < count && (!metric_.concurrent || elapsed < kWorthThreads)) {
            score_one(done++, predictions);
            elapsed = std::chrono::steady_clock::now() - start;
        }
        next_ = done;
        const std::uint32_t cores = std::max(1U, std::thread::hardware_concurrency());
        const std::uint32_t wanted = done > 0 && elapsed / done > kWaits ? std::max(cores, kWaitingThreads) : cores;
        std::vector<std::jthread> threads;
        for (std::uint32_t t = 1; t < std::min(wanted, count - done); ++t)
            threads.emplace_back([this, models = models_in_force()] {
                const ModelScope scope(models);
                work();
            });
        work();
    }

   private:
    void work() {
        std::vector<Value> predictions;
        for (std::uint32_t c = next_++; c < evaluation_.outputs.candidates; c = next_++) score_one(c, predictions);
    }
    /// `predictions` is room that a thread uses again.
    void score_one(std::uint32_t candidate, std::vector<Value>& predictions) {
        double& reward = evaluation_.rewards[candidate];
        std::optional<Error>& error = evaluation_.errors[candidate];
        if (error) return;  // its host functions failed
        const PopulationOutputs& outputs = evaluation_.outputs;
        predictions.resize(outputs.examples);
        for (std::uint32_t e = 0; e < outputs.examples; ++e)
            predictions[e] = outputs.values[std::size_t{e} * outputs.candidates + candidate];
        auto scores = score(metric_, predictions, expected_);
        if (scores) {
            reward = scores->reward;
        } else {
            error = std::move(scores).error().while_doing(fmt::format("scoring candidate {}", candidate));
        }
    }

    PopulationEvaluation& evaluation_;
    std::span<const Value> expected_;
    const Metric& metric_;
    std::atomic<std::uint32_t> next_{0};
};

}  // namespace

Result<PopulationEvaluation> score_population(PopulationOutputs outputs, std::span<const Value> expected,
                                              const Metric& metric) {
    if (outputs.examples != expected.size() ||
        outputs.values.size() != std::size_t{outputs.examples} * outputs.candidates) {
        return bad_input("{} outputs of {} candidates beside {} expected values; they must be as many.",
                         outputs.values.size(), outputs.candidates, expected.size());
    }
    PopulationEvaluation evaluation;
    evaluation.rewards.assign(outputs.candidates, std::numeric_limits<double>::quiet_NaN());
    evaluation.errors = outputs.errors;
    evaluation.errors.resize(outputs.candidates);
    evaluation.outputs = std::move(outputs);
    Scoring(evaluation, expected, metric).run();
    return evaluation;
}

Result<KeptPopulation*> System::Impl::population_for(const PopulationEvaluator::Resources& resources,
                                                     std::vector<TracedExample> traced,
                                                     const PopulationOptions& options) {
    std::string key = fmt::format("{} {} {} {} {}", options.max_batch_size, options.memory_budget_bytes,
                                  options.examples_change, to_string(options.determinism), options.most_unrolled);
    for (const TracedExample& example : traced) key += ' ' + signature(example.graph);
    const auto found = std::ranges::find(populations, key, [](const auto& kept) { return kept->key; });
    if (found != populations.end()) {
        std::rotate(found, found + 1, populations.end());
        KeptPopulation& kept = *populations.back();
        if (kept.evaluator->set_examples(traced)) {
            kept.traced = std::move(traced);  // where the evaluator has been told they are
            return &kept;
        }
        populations.pop_back();  // what happened to be equal in all examples is not any more
    }
    auto made = std::make_unique<KeptPopulation>();
    made->key = std::move(key);
    made->traced = std::move(traced);
    YOLK_TRY(made->evaluator, PopulationEvaluator::create(resources, made->traced, parameters, options));
    if (populations.size() == kKeptPopulations) populations.erase(populations.begin());
    populations.push_back(std::move(made));
    return populations.back().get();
}

Result<PopulationEvaluation> System::evaluate_population(std::span<const Candidate> candidates,
                                                         std::span<const Example> examples, const Metric& metric,
                                                         const PopulationOptions& options) {
    if (candidates.empty()) return PopulationEvaluation{};
    const ModelScope models(in_force_with(impl_->models));
    YOLK_TRY(std::vector<TracedExample> traces, trace_all(examples));
    if (metric.on_device) {
        for (std::size_t i = 0; i < traces.size(); ++i) {
            auto scored = scored_example(traces[i], metric, examples[i].expected);
            if (!scored) return std::move(scored).error().while_doing(fmt::format("scoring example {}", i));
            traces[i] = *std::move(scored);
        }
    }
    YOLK_TRY(Dispatcher * device, dispatcher());
    YOLK_TRY(KeptPopulation* const kept,
             impl_->population_for({device, &pool(), devices()}, std::move(traces), options));
    auto evaluated = kept->evaluator->evaluate(candidates);
    if (!evaluated) {
        impl_->populations.clear();  // a device that is lost spoils all that was made on it
        return std::move(evaluated).error();
    }
    PopulationOutputs outputs = *std::move(evaluated);
    const std::vector<std::string> fallbacks = kept->evaluator->fallbacks();
    if (outputs.pooled.suspect_since) {
        log_warning(fmt::format(
            "Rewards of system '{}' that were evaluated before these, from evaluation {} on, may be wrong. {}",
            impl_->name, *outputs.pooled.suspect_since, outputs.pooled.lost));
    }
    std::vector<Value> expected;
    for (const Example& example : examples) expected.push_back(example.expected);
    YOLK_TRY(PopulationEvaluation scored,
             score_population(std::move(outputs), expected, metric.on_device ? output_as_reward(metric.name) : metric));
    scored.fallbacks = fallbacks;
    return scored;
}

}  // namespace yolk::hyper
