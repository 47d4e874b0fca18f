// SPDX-License-Identifier: Apache-2.0
// The mean of a search stays on the device: the same bits as with a mean that the host sends in every step, and
// without what that costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "learning_systems.hpp"
#include "population_fixtures.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/evolve/schedule.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

using ::testing::ElementsAre;
using ::yolk::testing::expect_error;

/// EGGROLL with its mean on the host: downloaded, clamped and uploaded in every step.
class HostMean final : public Search {
   public:
    [[nodiscard]] std::string name() const override { return "host-centred"; }
    [[nodiscard]] std::uint64_t candidates_per_generation(const OptimizeOptions& options) const override {
        return std::uint64_t{options.evolution.population} + 1;
    }
    [[nodiscard]] Result<void> run(Objective& objective) override {
        const evolve::EvolutionOptions& options = objective.options().evolution;
        const Device& device = objective.dispatcher().device();
        evolve::EvolutionParts parts{.parameters = objective.space().table, .initial = objective.space().mean};
        YOLK_TRY(auto scores, evolve::host_scores_evaluator(device, options.population));
        const std::span<float> returns = scores->returns();
        parts.evaluator = std::move(scores);
        YOLK_TRY(evolve::Evolution evolution,
                 evolve::Evolution::create(device, objective.dispatcher(), std::move(parts), options));
        evolve::Schedule schedule(options);
        std::vector<float> mean = objective.space().mean;
        Perturbations candidates{.table = objective.space().table,
                                 .mean = mean,
                                 .rank = options.rank,
                                 .first_member = -1,
                                 .members = options.population + 1,
                                 .antithetic = options.antithetic};
        for (std::uint32_t step = 0; step < objective.options().generations; ++step) {
            candidates.mean = mean;
            candidates.when = schedule.noise_time();
            YOLK_TRY(const std::vector<double> rewards, objective.evaluate(candidates));
            if (rewards.empty()) return {};
            std::ranges::transform(std::span(rewards).subspan(1), returns.begin(),
                                   [](double reward) { return static_cast<float>(reward); });
            if (!objective.report({.generation = step, .unperturbed = rewards.front()}, mean)) return {};
            YOLK_TRY_VOID(evolution.step());
            mean.assign(evolution.parameters().begin(), evolution.parameters().end());
            if (evolve::move_into_bounds(objective.bounds(), mean)) YOLK_TRY_VOID(evolution.set_parameters(mean));
            schedule.advance();
        }
        candidates.mean = mean;
        candidates.members = 1;
        YOLK_TRY_VOID(objective.evaluate(candidates));
        return {};
    }
};

/// A bounded struct and a matrix that host functions read, two matrices that the device multiplies, one of them of a
/// larger rank; `idle` is optimized, but no example uses it.
Task mixed_task(std::uint64_t seed) {
    const auto first =
        hyperfunction("first", MatrixWeight{.out = 3, .in = 2},
                      [](const Traced& w, const Traced& x) { return tanh(linear(w, x)); }, {.optimize = true});
    const auto shift = hyperfunction("shift", LmParam{.temperature = 1.9},
                                     [](const LmParam& p, const Tensor& h) {
                                         std::vector<float> values(h.values().begin(), h.values().end());
                                         for (float& value : values) value += static_cast<float>(p.temperature);
                                         return Tensor::vector(std::move(values));
                                     },
                                     {.optimize = true});
    const auto scale = hyperfunction("scale", MatrixWeight{.out = 1, .in = 3},
                                     [](const MatrixWeight& w, const Tensor& h) {
                                         std::vector<float> values(h.values().begin(), h.values().end());
                                         for (std::size_t i = 0; i < values.size(); ++i)
                                             values[i] *= 1.0F + w.values.values()[i];
                                         return Tensor::vector(std::move(values));
                                     },
                                     {.optimize = true});
    const auto last = hyperfunction("last", MatrixWeight{.out = 2, .in = 3, .noise_rank = 2},
                                    [](const Traced& w, const Traced& h) { return linear(w, h); }, {.optimize = true});
    const auto idle = hyperfunction("idle", MatrixWeight{.out = 2, .in = 2},
                                    [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
    Task task{System(
                  "mixed", [=](const Inputs& in) { return last(scale(shift(first(in["x"])))); }, seed),
              {},
              numeric_distance()};
    EXPECT_OK(task.system.add(idle));
    for (int i = 0; i < 4; ++i) {
        const float x = static_cast<float>(i) - 1.5F;
        task.examples.push_back({{{"x", Tensor::vector({x, -x})}}, Tensor::vector({x + 4.0F, 5.0F})});
    }
    return task;
}

class device_mean : public ::yolk::testing::DeviceTest {
   protected:
    struct Run {
        OptimizeOutcome outcome;
        std::vector<float> values;
        std::uint64_t submissions = 0;
        std::uint64_t bytes_brought = 0;  ///< to the host
    };
    [[nodiscard]] Result<Run> run(Task task, OptimizeOptions options) const {
        task.system.use(dispatcher());
        const std::vector<Example> held_out(task.examples.begin(), task.examples.begin() + 2);
        options.held_out = held_out;
        Run run;
        const OperationCounts before = device().counts();
        YOLK_TRY(run.outcome, task.system.optimize(task.examples, task.metric, options));
        const OperationCounts after = device().counts();
        run.submissions = after.submissions - before.submissions;
        run.bytes_brought =
            after.bytes_read_back + after.bytes_downloaded - before.bytes_read_back - before.bytes_downloaded;
        for (const ParameterGroup& group : task.system.parameters().groups())
            run.values.insert(run.values.end(), group.values.values().begin(), group.values.values().end());
        return run;
    }
};
YOLK_FOR_EACH_DEVICE(device_mean);

TEST_P(device_mean, gives_the_bits_of_a_mean_on_the_host) {
    OptimizeOptions options{.evolution = {.population = 16, .sigma = 0.5F, .learning_rate = 0.5F}, .generations = 12};
    for (auto* const make : {&xor_task, &rotation_task, &temperature_task, &mixed_task}) {
        for (const OptimizerRule rule : {OptimizerRule::Sgd, OptimizerRule::Adam}) {
            options.evolution.optimizer = rule;
            HostMean on_host;
            options.search = &on_host;
            ASSERT_OK_AND_ASSIGN(const Run expected, run(make(1), options));
            options.search = nullptr;
            ASSERT_OK_AND_ASSIGN(const Run got, run(make(1), options));
            EXPECT_EQ(got.values, expected.values);
            EXPECT_EQ(got.outcome.best_reward, expected.outcome.best_reward);
            EXPECT_EQ(got.outcome.held_out_best, expected.outcome.held_out_best);
            ASSERT_EQ(got.outcome.history.size(), 12U);
            for (std::size_t i = 0; i < 12; ++i) {
                EXPECT_EQ(got.outcome.history[i].unperturbed, expected.outcome.history[i].unperturbed) << i;
                EXPECT_EQ(got.outcome.history[i].held_out, expected.outcome.history[i].held_out) << i;
            }
        }
    }
}
// 65,536 parameters, 256 KiB: a step brings the predictions and the summary, not the mean.
TEST_P(device_mean, stays_on_the_device) {
    constexpr std::uint32_t kWidth = 8192;
    const auto wide = [] {
        const auto layer =
            hyperfunction("layer", MatrixWeight{.out = 8, .in = kWidth},
                          [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
        Task task{System("wide", [=](const Inputs& in) { return layer(in["x"]); }), {}, numeric_distance()};
        for (const float x : {0.01F, -0.02F}) {
            task.examples.push_back(
                {{{"x", Tensor::vector(std::vector<float>(kWidth, x))}}, Tensor::vector(std::vector<float>(8, 1.0F))});
        }
        return task;
    };
    OptimizeOptions options{.evolution = {.population = 8, .sigma = 0.2F, .learning_rate = 0.2F}, .generations = 2};
    ASSERT_OK_AND_ASSIGN(const Run two, run(wide(), options));
    options.generations = 6;
    ASSERT_OK_AND_ASSIGN(const Run six, run(wide(), options));
    EXPECT_GT(six.bytes_brought, two.bytes_brought);  // the counts see the steps
    EXPECT_LT(six.bytes_brought - two.bytes_brought,
              4U * 8 * kWidth / 8);  // of four steps, below an eighth of one mirror
}
TEST_P(device_mean, best_is_kept_where_later_ones_are_worse) {
    OptimizeOptions options = xor_options(1);
    options.evolution.learning_rate = 5.0F;  // far too much
    options.generations = 12;
    Task task = xor_task();
    task.system.use(dispatcher());
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, task.system.optimize(task.examples, task.metric, options));
    ASSERT_LT(outcome.history.back().unperturbed, outcome.best_reward);
    ASSERT_GT(outcome.best_reward, outcome.start_reward);
    ASSERT_OK_AND_ASSIGN(const Evaluation now, task.system.evaluate(task.examples, task.metric));
    EXPECT_EQ(now.reward, outcome.best_reward);
}
// Two submissions per step, and one more where its mean is the best so far; no upload or download beside them.
TEST_P(device_mean, nothing_else_is_submitted) {
    OptimizeOptions options = xor_options(1);
    std::array<std::uint64_t, 2> submissions{}, bytes{};
    std::array<std::uint64_t, 2> better{};
    for (const std::size_t i : {0U, 1U}) {
        options.generations = i == 0 ? 5 : 45;
        Task task = xor_task();
        task.system.use(dispatcher());
        const OperationCounts before = device().counts();
        ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, task.system.optimize(task.examples, task.metric, options));
        const OperationCounts after = device().counts();
        submissions[i] = after.submissions - before.submissions;
        bytes[i] = after.bytes_uploaded + after.bytes_downloaded - before.bytes_uploaded - before.bytes_downloaded;
        double best = outcome.start_reward;
        for (const GenerationReport& step : outcome.history) {
            better[i] += step.unperturbed > best ? 1U : 0U;
            best = std::max(best, step.unperturbed);
        }
        better[i] += outcome.best_reward > best ? 1U : 0U;
    }
    EXPECT_EQ(submissions[1] - submissions[0], 2U * 40U + better[1] - better[0]);
    EXPECT_EQ(bytes[0], bytes[1]);
}
TEST_P(device_mean, rows_that_the_host_reads) {
    const auto rows = [&](Task task) -> std::vector<ParameterId> {
        const std::vector<TracedExample> traces = task.system.trace_all(task.examples).value();
        const Result<PopulationEvaluator> evaluator = PopulationEvaluator::create(
            {.devices = dispatcher(), .pool = &task.system.pool()}, traces, task.system.parameters(), {});
        EXPECT_OK(evaluator);
        if (!evaluator) return {};
        return {evaluator->host_rows().begin(), evaluator->host_rows().end()};
    };
    EXPECT_THAT(rows(xor_task()), ElementsAre());
    EXPECT_THAT(rows(temperature_task()), ElementsAre(ParameterId(0)));
    EXPECT_THAT(rows(mixed_task(1)), ElementsAre(ParameterId(2), ParameterId(3)));  // idle, first, shift, scale, last
}
TEST_P(device_mean, evaluator_reads_it_where_it_is) {
    const ParameterSet set = two_layers();
    const std::vector<TracedExample> examples{two_layer_example(set, drawn_tensor({4}, 100))};
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator evaluator,
                         PopulationEvaluator::create({.devices = dispatcher()}, examples, set, {}));
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    std::vector<float> moved = space.mean;
    for (float& value : moved) value += 0.125F;
    Perturbations around{.table = space.table,
                         .mean = moved,
                         .when = {.seed = 7, .generation = 3, .time = 3, .sigma = 0.1F},
                         .first_member = -1,
                         .members = 9};
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs expected, evaluator.evaluate(around));
    ASSERT_OK_AND_ASSIGN(const Buffer buffer,
                         device().create_buffer({.size_bytes = 256 + space.table.size_bytes(), .label = "mean"}));
    around.device_mean = {buffer, 256, space.table.size_bytes()};
    around.mean = space.mean;  // not looked at
    ASSERT_OK(dispatcher().upload(around.device_mean, std::as_bytes(std::span(moved))));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs got, evaluator.evaluate(around));
    EXPECT_TRUE(got.values == expected.values);
    around.device_mean.size_bytes -= 4;
    EXPECT_TRUE(expect_error(evaluator.evaluate(around), ErrorKind::BadInput, "the table needs"));
}

}  // namespace
}  // namespace yolk::hyper
