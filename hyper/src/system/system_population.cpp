// SPDX-License-Identifier: Apache-2.0
// Whole populations of a system's parameters, and their rewards.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>
#include <thread>

#include "models_in_force.hpp"
#include "numbers_reward.hpp"
#include "output_space.hpp"
#include "scored_example.hpp"
#include "system_impl.hpp"
#include "valid_graph.hpp"
#include "yolk/log.hpp"

namespace yolk::hyper {
namespace {

/// Threads are worth their start where the metric has been running for so long and is not done.
constexpr std::chrono::microseconds kWorthThreads{500};
/// A metric that takes so long waits for something else (a program, a service): more threads than cores.
constexpr std::chrono::milliseconds kWaits{2};
constexpr std::uint32_t kWaitingThreads = 16;
constexpr std::uint32_t kBetweenLooks = 64;
/// Each holds a chunk's buffers on the device.
constexpr std::size_t kKeptPopulations = 2;

class Scoring {
   public:
    Scoring(PopulationEvaluation& evaluation, std::span<const Value> expected, const Metric& metric)
        : evaluation_(evaluation), expected_(expected), metric_(metric) {
        if (evaluation.outputs.plain.empty() || metric.whole || !metric.field.empty()) return;
        numbers_ = metric.per_example.target<NumbersReward>();
        if (numbers_ != nullptr) wanted_ = WantedNumbers::of(expected);
        if (wanted_) step_ = kBetweenLooks;
    }

    void run() {
        const std::uint32_t count = evaluation_.outputs.candidates;
        const auto start = std::chrono::steady_clock::now();
        auto elapsed = std::chrono::steady_clock::duration::zero();
        std::uint32_t done = 0;
        while (done < count && (!metric_.concurrent || elapsed < kWorthThreads)) {
            score_some(done);
            done = std::min(count, done + step_);
            // Fast metrics take less than a look at the clock.
            if (std::has_single_bit(done) || done % kBetweenLooks == 0)
                elapsed = std::chrono::steady_clock::now() - start;
        }
        next_ = done;
        const std::uint32_t cores = std::max(1U, std::thread::hardware_concurrency());
        const std::uint32_t wanted = done > 0 && elapsed / done > kWaits ? std::max(cores, kWaitingThreads) : cores;
        std::vector<std::jthread> threads;
        for (std::uint32_t t = 1; t < std::min(wanted, (count - done + step_ - 1) / step_); ++t)
            threads.emplace_back([this, models = models_in_force()] {
                const ModelScope scope(models);
                work();
            });
        work();
    }

   private:
    void work() {
        for (std::uint32_t c = next_.fetch_add(step_); c < evaluation_.outputs.candidates; c = next_.fetch_add(step_))
            score_some(c);
    }
    /// step_ candidates, or those that are left.
    void score_some(std::uint32_t first) {
        const std::uint32_t count = std::min(step_, evaluation_.outputs.candidates - first);
        const std::span<double> rewards = std::span(evaluation_.rewards).subspan(first, count);
        if (wanted_) numbers_->of_plain(evaluation_.outputs.plain, first, *wanted_, rewards);
        for (std::uint32_t i = 0; i < count; ++i) {
            std::optional<Error>& error = evaluation_.errors[first + i];
            const bool failed = error.has_value();  // its host functions did
            if (!failed && std::isfinite(rewards[i])) continue;
            rewards[i] = std::numeric_limits<double>::quiet_NaN();
            if (failed) continue;
            auto scores = score_values(first + i);
            if (scores) {
                rewards[i] = scores->reward;
            } else {
                error = std::move(scores).error().while_doing(fmt::format("scoring candidate {}", first + i));
            }
        }
    }
    [[nodiscard]] Result<Scores> score_values(std::uint32_t candidate) const {
        const PopulationOutputs& outputs = evaluation_.outputs;
        if (outputs.plain.empty()) {
            return score_strided(
                metric_,
                {.first = outputs.values.data() + candidate, .count = outputs.examples, .stride = outputs.candidates},
                expected_);
        }
        std::vector<Value> predictions;
        const std::span<const float> elements = outputs.plain.of(candidate);
        for (std::uint32_t e = 0; e < outputs.examples; ++e) {
            const auto from = elements.begin() + static_cast<std::ptrdiff_t>(outputs.plain.first[e]);
            YOLK_TRY(const std::uint64_t count, outputs.plain.shapes[e].element_count());
            YOLK_TRY(Tensor tensor,
                     Tensor::create(outputs.plain.shapes[e], {from, from + static_cast<std::ptrdiff_t>(count)}));
            predictions.emplace_back(std::move(tensor));
        }
        return score(metric_, predictions, expected_);
    }

    PopulationEvaluation& evaluation_;
    std::span<const Value> expected_;
    const Metric& metric_;
    const NumbersReward* numbers_ = nullptr;  ///< the metric's, where outputs are plain
    std::optional<WantedNumbers> wanted_;
    std::uint32_t step_ = 1;  ///< candidates that are scored together
    std::atomic<std::uint32_t> next_{0};
};

PopulationEvaluation rewards_of_means(PopulationOutputs outputs, const Metric& metric) {
    PopulationEvaluation evaluation;
    evaluation.rewards.assign(outputs.means.begin(), outputs.means.end());
    evaluation.errors = std::move(outputs.errors);
    for (std::size_t c = 0; c < evaluation.rewards.size(); ++c) {
        if (std::isfinite(evaluation.rewards[c]) || evaluation.errors[c]) continue;
        evaluation.errors[c] = bad_input("Metric '{}' gave candidate {} a reward that is not finite.", metric.name, c);
    }
    evaluation.outputs = std::move(outputs);
    return evaluation;
}

/// That some candidate has values of.
std::vector<std::string> groups_of(std::span<const Candidate> candidates) {
    std::set<std::string> names;
    for (const Candidate& candidate : candidates) {
        for (const auto& [name, values] : candidate.values) names.insert(name);
    }
    return {names.begin(), names.end()};
}

}  // namespace

Result<PopulationEvaluation> score_population(PopulationOutputs outputs, std::span<const Value> expected,
                                              const Metric& metric) {
    if (!outputs.means.empty()) return rewards_of_means(std::move(outputs), metric);
    const std::size_t given =
        outputs.plain.empty() ? outputs.values.size() : outputs.plain.shapes.size() * std::size_t{outputs.candidates};
    if (outputs.examples != expected.size() || given != std::size_t{outputs.examples} * outputs.candidates) {
        return bad_input("There are {} outputs of {} candidates but {} expected values; give one for each example.",
                         given, outputs.candidates, expected.size());
    }
    PopulationEvaluation evaluation;
    evaluation.rewards.assign(outputs.candidates, std::numeric_limits<double>::quiet_NaN());
    evaluation.errors = std::move(outputs.errors);
    evaluation.errors.resize(outputs.candidates);
    evaluation.outputs = std::move(outputs);
    Scoring(evaluation, expected, metric).run();
    return evaluation;
}

Result<KeptPopulation*> System::Impl::population_for(const PopulationEvaluator::Resources& resources,
                                                     std::vector<TracedExample> traced,
                                                     const PopulationOptions& options) {
    std::string key =
        fmt::format("{} {} {} {} {} {}", options.max_batch_size, options.memory_budget_bytes, options.examples_change,
                    to_string(options.determinism), options.most_unrolled, options.plain_outputs);
    for (const TracedExample& example : traced) key += ' ' + signature_of(example.graph);
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
    const LeftOut changed = [&] { return Result<std::vector<std::string>>(groups_of(candidates)); };
    YOLK_TRY(std::vector<TracedExample> traces, trace_all(examples, impl_->leaves_values_out ? changed : LeftOut()));
    if (metric.on_device) {
        for (std::size_t i = 0; i < traces.size(); ++i) {
            auto scored = scored_example(traces[i], metric, examples[i].expected, std::span<const std::string>());
            if (!scored) return std::move(scored).error().while_doing(fmt::format("scoring example {}", i));
            traces[i] = *std::move(scored);
        }
    }
    YOLK_TRY(const MaybeDevice device, device_of(*this));
    auto found = impl_->population_for({device.devices, &pool()}, std::move(traces), options);
    if (!found) return device.why ? *device.why : std::move(found).error();
    KeptPopulation* const kept = *found;
    auto evaluated = kept->evaluator->evaluate(candidates);
    if (!evaluated) {
        impl_->populations.clear();  // a device that is lost spoils all that was made on it
        return std::move(evaluated).error();
    }
    PopulationOutputs outputs = *std::move(evaluated);
    if (metric.on_device) YOLK_TRY_VOID(population::average(outputs));
    const std::vector<std::string> fallbacks = kept->evaluator->fallbacks();
    if (outputs.pooled.suspect_since) {
        log_warning(fmt::format(
            "Rewards of system '{}' that were evaluated before these, from evaluation {} on, may be wrong. {}",
            impl_->name, *outputs.pooled.suspect_since, outputs.pooled.lost));
    }
    std::vector<Value> expected;
    for (const Example& example : examples) expected.push_back(example.expected);
    YOLK_TRY(PopulationEvaluation scored, score_population(std::move(outputs), expected, metric));
    scored.fallbacks = fallbacks;
    return scored;
}

}  // namespace yolk::hyper
