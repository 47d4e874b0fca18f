// SPDX-License-Identifier: Apache-2.0
// A network of the larger operations over a pool: devices of two vendors and the exact twins agree on every bit.
#include <gtest/gtest.h>

#include "pool_fixtures.hpp"
#include "population_fixtures.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {
namespace {

Hyperfunction<MatrixWeight> projection(const std::string& name, std::uint32_t out, std::uint32_t in) {
    return hyperfunction(name, MatrixWeight{.out = out, .in = in},
                         [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
}

/// Attention over five places, then rows by the indices that it found.
System attentive() {
    const auto norm =
        hyperfunction("norm", VectorWeight{.size = 4, .values = Tensor::filled({4}, 1.0F)},
                      [](const Traced& g, const Traced& x) { return layer_norm(x, {.scale = g}); }, {.optimize = true});
    const auto q = projection("q", 6, 4), k = projection("k", 6, 4), v = projection("v", 6, 4);
    return System("attentive", [=](const Inputs& in) {
        const Traced x = norm(in["x"]);
        const Traced heads = attention(q(x), k(x), v(x), true);
        const Traced best = argmax(heads, 0);
        const Traced rows = gather(cumulative_sum(heads, 0), best);
        const Traced sums = scatter_add(Tensor::filled({5, 1}, .5F), best, sum(rows, 1, true));
        const Traced roots = where(greater_than(heads, 0), sqrt(absolute(heads)), heads / (1 + exp(-heads)));
        const Traced moved = pad(slice(transpose(roots), 1, {.start = 1, .step = 2}), {0, 1}, {0, 2}, -1);
        return concat({matmul(moved, broadcast_to(sums, {5, 2})), stack({best, min(rows, 1)}, 1)}, 1);
    });
}

std::vector<Example> attentive_examples() {
    std::vector<Example> examples;
    for (std::uint32_t i = 0; i < 4; ++i) examples.push_back({{{"x", drawn_tensor({5, 4}, 100 + i)}}, {}});
    return examples;
}

TEST(pooled_vocabulary, two_vendors_and_the_twins_agree) {
    static_cast<void>(one_device());
    static_cast<void>(another_device());
    System system = attentive();
    ASSERT_OK_AND_ASSIGN(const std::vector<TracedExample> traced, system.trace_all(attentive_examples()));
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(system.parameters()));
    const Perturbations members{.table = space.table,
                                .mean = space.mean,
                                .when = {.seed = 7, .generation = 3, .time = 3, .sigma = 0.3F},
                                .rank = 2,
                                .first_member = -1,
                                .members = 32};
    std::string notices;
    ASSERT_OK_AND_ASSIGN(evolve::DevicePool one, pool_of({one_device()}, notices));
    ASSERT_OK_AND_ASSIGN(
        PopulationEvaluator alone,
        PopulationEvaluator::create({.devices = one, .pool = &system.pool()}, traced, system.parameters(), {}));
    EXPECT_EQ(alone.fallbacks(), std::vector<std::string>{}) << "all of it runs on the device";
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs expected, alone.evaluate(members));
    for (const std::uint32_t host_workers : {0U, 1U}) {
        ASSERT_OK_AND_ASSIGN(evolve::DevicePool both, pool_of({another_device(), one_device()}, notices,
                                                              {.audit = 1.0, .host_workers = host_workers}));
        ASSERT_OK_AND_ASSIGN(
            PopulationEvaluator dealt,
            PopulationEvaluator::create({.devices = both, .pool = &system.pool()}, traced, system.parameters(), {}));
        ASSERT_OK_AND_ASSIGN(const PopulationOutputs given, dealt.evaluate(members));
        EXPECT_TRUE(given.values == expected.values);
        std::uint32_t audited = 0;
        for (const evolve::WorkerShare& share : given.pooled.devices.shares) {
            audited += share.audited;
            EXPECT_FALSE(share.dropped) << given.pooled.lost;
        }
        EXPECT_EQ(audited, members.members);
    }
    const Value mean = *system.call({{"x", drawn_tensor({5, 4}, 100)}});
    EXPECT_EQ(expected.values[0], mean) << "member -1 is the call";
}

}  // namespace
}  // namespace yolk::hyper
