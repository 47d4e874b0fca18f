// SPDX-License-Identifier: Apache-2.0
// Every stage of a generation replaced. Members are scored by a function on the host, from a layer's outputs that the
// device makes (11_own_stages_members.cpp). Shaping, update and optimizer are functions, too: first those that repeat
// Yolk's own, so that the run ends in the same state, then others.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "11_own_stages_members.hpp"
#include "yolk/context.hpp"
#include "yolk/es_update.hpp"
#include "yolk/evolution.hpp"
#include "yolk/twin.hpp"

using namespace yolk;

namespace {

constexpr float kBeta = 0.5F;

/// What Yolk does, by the exact twins and a momentum written out.
evolve::Stages yolks_own(const ParameterTable& table) {
    evolve::Stages stages;
    stages.shape = [](std::span<const float> returns, const NoiseContext&) -> Result<evolve::ShapedGeneration> {
        return evolve::shaped_by_twin({.population = kMembers}, returns);
    };
    stages.update = [table](const evolve::ShapedGeneration& shaped, const NoiseContext& when) {
        return Result(reference::twin_result<float>(EsUpdateDesc{.parameters = table, .population = kMembers},
                                                    {shaped.integer_weights, shaped.summary}, when));
    };
    stages.optimize = [](const evolve::Stages::Step& step) -> Result<void> {
        for (std::size_t i = 0; i < step.parameters.size(); ++i) {
            step.state[i] = kBeta * step.state[i] + step.gradient[i];
            step.parameters[i] += step.learning_rate * step.state[i];
        }
        return {};
    };
    return stages;
}

/// Differences of pairs, clipped; the sum of their noise, as a member's parameters have it; Nesterov's momentum.
evolve::Stages others(const ParameterTable& table) {
    evolve::Stages stages;
    stages.shape = [](std::span<const float> returns, const NoiseContext&) -> Result<evolve::ShapedGeneration> {
        evolve::ShapedGeneration shaped;
        float squares = 1.0F;
        for (std::size_t pair = 0; pair < kMembers / 2; ++pair) {
            const float difference = returns[2 * pair] - returns[2 * pair + 1];
            shaped.integer_weights.push_back(static_cast<std::int8_t>(std::clamp(500.0F * difference, -127.F, 127.F)));
            squares += static_cast<float>(shaped.integer_weights.back() * shaped.integer_weights.back());
        }
        shaped.summary.coefficient = std::sqrt(2.0F * kMembers / squares);  // the fitness: weights times it
        shaped.summary.mean = std::accumulate(returns.begin(), returns.end(), 0.0F) / kMembers;
        shaped.summary.finite_count = kMembers;
        return shaped;
    };
    stages.update = [table](const evolve::ShapedGeneration& shaped,
                            const NoiseContext& when) -> Result<std::vector<float>> {
        std::vector<float> direction(table.element_count()), zeros(table.element_count());
        for (std::size_t pair = 0; pair < kMembers / 2; ++pair) {
            YOLK_TRY(const auto noise,
                     evolve::member_parameters(table, zeros, when, 1, true, static_cast<std::int32_t>(2 * pair)));
            const float weight = shaped.summary.coefficient * shaped.integer_weights[pair] / std::sqrt(kMembers * 1.0F);
            for (std::size_t i = 0; i < noise.size(); ++i) direction[i] += weight * noise[i];
        }
        return direction;
    };
    stages.optimize = [](const evolve::Stages::Step& step) -> Result<void> {
        for (std::size_t i = 0; i < step.parameters.size(); ++i) {
            step.state[i] = kBeta * step.state[i] + step.gradient[i];
            step.parameters[i] += step.learning_rate * (kBeta * step.state[i] + step.gradient[i]);
        }
        return {};
    };
    return stages;
}

struct Outcome {
    std::string hash;
    float mean = 0.0F;  // of the last population's scores; 1 is the best there is
};

Result<Outcome> learn(const char* name, evolve::DevicePool& pool, const ParameterTable& table, evolve::Stages stages) {
    evolve::PoolParts parts{.parameters = table, .initial = std::vector<float>(table.element_count(), 0.0F)};
    parts.members = [](const Device* device, Dispatcher* dispatcher) { return layer_members(*device, *dispatcher); };
    parts.stages = std::move(stages);
    YOLK_TRY(auto run, evolve::Evolution::create(pool, std::move(parts),
                                                 {.population = kMembers,
                                                  .sigma = 0.1F,
                                                  .learning_rate = 0.3F,
                                                  .optimizer = OptimizerRule::Momentum,  // one array of state
                                                  .beta1 = kBeta,
                                                  .seed = 5}));
    Outcome outcome;
    while (run.generations() < 60) {
        YOLK_TRY(const auto summary, run.step());
        outcome.mean = summary.mean;
    }
    YOLK_TRY(outcome.hash, run.state_hash());
    std::printf("%-21s state %s, mean score %.3f\n", name, outcome.hash.c_str(), double{outcome.mean});
    return outcome;
}

Result<bool> compare() {
    YOLK_TRY(const auto context, Context::create());
    YOLK_TRY(auto pool, evolve::DevicePool::create(std::span(&context.device(), 1)));
    YOLK_TRY(const auto table, ParameterTable::create({{.name = "layer", .rows = kClasses, .columns = kIn}}));
    YOLK_TRY(const Outcome library, learn("Yolk's stages:", pool, table, {}));
    YOLK_TRY(const Outcome repeated, learn("the same on the host:", pool, table, yolks_own(table)));
    YOLK_TRY(const Outcome other, learn("other stages:", pool, table, others(table)));
    return repeated.hash == library.hash && other.hash != library.hash && std::min(library.mean, other.mean) > 0.5F;
}

}  // namespace

int main() {
    const auto right = compare();
    if (!right) return std::fprintf(stderr, "%s\n", right.error().message.c_str()), 1;
    return *right ? 0 : 1;
}
