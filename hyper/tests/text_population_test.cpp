// SPDX-License-Identifier: Apache-2.0
// Model calls of populations: candidates sample by their own numbers, and a dry run asks nobody.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "fixtures.hpp"
#include "pool_fixtures.hpp"
#include "text_fixtures.hpp"
#include "yolk/ablate.hpp"
#include "yolk/internal/hyper/control.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/optimize.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper::text_populations {  // its short names are others' as well
namespace {

using text_population = ::yolk::testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(text_population);

Traced ask(const Traced& content, const ModelSettings& settings) { return model_call({{"user", content}}, settings); }

/// Two calls whose sampling is a group; the second one's own temperature comes before it.
System sampled_system() {
    const auto sampling =
        hyperfunction("sampling", LmParam{.temperature = 0.25}, [](const Traced& p) { return p; }, {.optimize = true});
    return System("sampled", [=](const Inputs& in) {
        ModelSettings own = sampled_by(sampling());
        own.temperature = 1.5;
        return format("{} {}", {ask(in["x"], sampled_by(sampling())), ask(in["x"], own)});
    });
}

TEST_P(text_population, candidates_sample_by_their_own_numbers) {
    const ModelServer server([](const Json& request) {
        return says(to_line(Json{request["temperature"], request["max_tokens"]}) + said(request));
    });
    System system = sampled_system();
    system.use(dispatcher());
    system.use(server.models());
    EXPECT_EQ(system.call({{"x", "q"}}).value(), Value("[0.25,1024]q [1.5,1024]q"));
    const std::vector<Candidate> candidates{{{{"sampling", Tensor::vector({0.5, 1, 0, 0, 0.5})}}},
                                            {{{"sampling", Tensor::vector({1, 1, 0, 0, 0})}}}};
    const std::vector<Example> examples{{{{"x", "q"}}, "[0.5,2048]q [1.5,2048]q"}, {{{"x", "r"}}, "[1.0,1]r [1.5,1]r"}};
    ASSERT_OK_AND_ASSIGN(const PopulationEvaluation population,
                         system.evaluate_population(candidates, examples, exact_match()));
    EXPECT_EQ(population.rewards, (std::vector<double>{0.5, 0.5}));
    EXPECT_EQ(system.models()->counts().calls, 2U + 2U * 2U + 2U * 2U * 2U);
}

TEST_P(text_population, dry_runs_ask_no_model) {
    const ModelServer server([](const Json& request) { return says(said(request)); });
    System system = sampled_system();
    system.use(dispatcher());
    system.use(server.models());
    const std::vector<Example> examples{{{{"x", "q"}}, "q"}, {{{"x", "r"}}, "r"}};
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome dry,
                         system.optimize(examples, exact_match(), {.generations = 3, .dry_run = true}));
    EXPECT_EQ(dry.cost.host_calls, 2U * 2U * dry.cost.metric_calls) << "two calls for each of two examples";
    System looping("looping", [](const Inputs& in) {
        return while_loop(
            in["x"], [](const Traced& x) { return logical_not(match(x, "done")); },
            [](const Traced& x) { return ask(x, {.stand_in = "done"}); }, 3);
    });
    looping.use(server.models());
    EXPECT_FALSE(looping.optimize(examples, exact_match(), {.generations = 3, .dry_run = true}))
        << "nothing to optimize";
    EXPECT_EQ(server.asked().size(), 0U);
}

TEST_P(text_population, loops_of_all_candidates_wait_together) {
    // The first steps of two candidates on two examples: none is answered before all four are asked.
    const auto arrived = std::make_shared<std::atomic<int>>(0);
    const ModelServer server([arrived](const Json& request) {
        const double heat = request["temperature"].get<double>();
        const bool first = said(request).size() == 1 && (heat == 0.5 || heat == 1.0);  // tracing has another
        if (first) ++*arrived;
        const bool met = !first || soon([&] { return *arrived >= 4; });
        return met ? says(said(request) + "!") : chat_server::refuse(400, "nobody else came");
    });
    const auto sampling = hyperfunction("sampling", LmParam{}, [](const Traced& p) { return p; }, {.optimize = true});
    System system("loops", [=](const Inputs& in) {
        const Traced numbers = sampling();
        return while_loop(
            in["x"], [](const Traced& x) { return logical_not(match(x, "!!", Match::Ends)); },
            [&](const Traced& x) { return ask(x, sampled_by(numbers)); }, 3);
    });
    system.use(dispatcher());
    system.use(server.models());
    const std::vector<Example> examples{{{{"x", "a"}}, "a!!"}, {{{"x", "b"}}, "b!!"}};
    const std::vector<Candidate> candidates{{{{"sampling", Tensor::vector({0.5, 1, 0, 0, 0.5})}}},
                                            {{{"sampling", Tensor::vector({1, 1, 0, 0, 0})}}}};
    ASSERT_OK_AND_ASSIGN(const PopulationEvaluation population,
                         system.evaluate_population(candidates, examples, exact_match()));
    EXPECT_EQ(population.rewards, (std::vector<double>{1, 1}));
    EXPECT_EQ(*arrived, 4);
}

TEST_P(text_population, searches_and_ablations_ask_the_systems_models) {
    const ModelServer server([](const Json& request) { return says(to_line(request["temperature"])); });
    const auto sampling =
        hyperfunction("sampling", LmParam{.temperature = 0.9}, [](const Traced& p) { return p; }, {.optimize = true});
    System system("warmth", [=](const Inputs& in) { return ask(in["x"], sampled_by(sampling())); });
    system.use(dispatcher());
    system.use(server.models());
    const Metric close([](const Value& answer, const Value&) { return -std::abs(std::stod(*answer.text()) - 0.3); });
    const std::vector<Example> examples{{{{"x", "q"}}, 0}};
    const OptimizeOptions options{.evolution = {.population = 10, .sigma = 0.2F, .learning_rate = 0.2F, .seed = 1},
                                  .generations = 8};
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, system.optimize(examples, close, options));
    EXPECT_GT(outcome.best_reward, -0.3) << "from -0.6";
    EXPECT_EQ(outcome.cost.host_calls + 1, system.models()->counts().calls) << "and one while it was traced";
    ASSERT_OK_AND_ASSIGN(const std::vector<AblationRow> rows, ablate(system, examples, close, {}));
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_NEAR(rows[0].reward, -0.3, 1e-6) << "at a temperature of 0";
}

TEST(text_pool, devices_ask_the_same_models) {
    const ModelServer server([](const Json& request) { return says(to_line(request["temperature"]) + said(request)); });
    const auto sampling = hyperfunction("sampling", LmParam{}, [](const Traced& p) { return p; }, {.optimize = true});
    System system("pooled", [=](const Inputs& in) { return ask(in["x"], sampled_by(sampling())); });
    std::string notices;
    ASSERT_OK_AND_ASSIGN(evolve::DevicePool devices, pool_of({one_device(), another_device()}, notices));
    system.use(devices);
    std::vector<Candidate> candidates;
    for (int i = 0; i < 8; ++i)
        candidates.push_back({{{"sampling", Tensor::vector({static_cast<float>(i) / 8.0F, 1, 0, 0, 0})}}});
    const std::vector<Example> examples{{{{"x", "q"}}, "0.25q"}};
    const UseModels models(server.models());
    ASSERT_OK_AND_ASSIGN(const PopulationEvaluation population,
                         system.evaluate_population(candidates, examples, exact_match()));
    EXPECT_EQ(population.rewards, (std::vector<double>{0, 0, 1, 0, 0, 0, 0, 0}));
    EXPECT_EQ(notices, "");
}

}  // namespace
}  // namespace yolk::hyper::text_populations
