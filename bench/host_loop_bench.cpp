// SPDX-License-Identifier: Apache-2.0
// The plainest way to evaluate a population: member by member on one host thread, the network by Eigen, the same noise,
// environment and steps as in rollout_bench.cpp. Items are evaluations (steps), so items per second compare with
// rollout's. Eigen vectorizes for the instruction set that the compiler was told of; without flags that is SSE2.
#include <Eigen/Core>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/shaders/environments.hpp"

namespace yolk::bench {
namespace {

constexpr int kInputs = 4;
constexpr int kHidden = 64;
constexpr int kOutputs = 2;
constexpr std::uint32_t kSteps = 200;
constexpr std::uint64_t kSeed = 42;
constexpr float kSigma = 0.2F;

YOLK_ENVIRONMENT_TYPE(CartPole, cartpole);

/// One perturbed layer, rank 1: y = bias + W x + a (b . x), the side's sign and sigma within a and bias.
template <int inputs, int outputs>
struct Layer {
    Eigen::Matrix<float, outputs, inputs> weights;
    Eigen::Vector<float, outputs> mean_bias, bias, a;
    Eigen::Vector<float, inputs> b;

    [[nodiscard]] Eigen::Vector<float, outputs> apply(const Eigen::Vector<float, inputs>& x) const {
        return bias + weights * x + a * b.dot(x);
    }
};

struct Policy {
    Layer<kInputs, kHidden> first;
    Layer<kHidden, kOutputs> second;

    [[nodiscard]] std::uint32_t act(const Eigen::Vector<float, kInputs>& observation) const {
        const Eigen::Vector<float, kHidden> hidden = first.apply(observation).array().tanh().matrix();
        const Eigen::Vector<float, kOutputs> outputs = second.apply(hidden);
        return outputs[1] > outputs[0] ? 1U : 0U;
    }
};

template <int size>
Eigen::Vector<float, size> draw(std::uint32_t parameter, Domain domain, std::uint32_t pair, float scale) {
    const NoiseStream stream{.seed = kSeed, .parameter = parameter, .domain = domain, .pair = pair};
    std::array<std::int8_t, kNoiseElementsPerBlock> block{};
    Eigen::Vector<float, size> noise;
    for (std::uint32_t i = 0; i < size; ++i) {
        if (i % kNoiseElementsPerBlock == 0) block = noise_block(stream, i / kNoiseElementsPerBlock);
        noise[i] = scale * static_cast<float>(block[i % kNoiseElementsPerBlock]);
    }
    return noise;
}

template <int inputs, int outputs>
void perturb(Layer<inputs, outputs>& layer, std::uint32_t parameter, std::uint32_t member) {
    const float sign = member % 2 == 0 ? 1.0F : -1.0F;
    const std::uint32_t pair = member / 2;
    layer.a = draw<outputs>(parameter, Domain::A, pair, sign * kSigma / static_cast<float>(kNoiseVariance));
    layer.b = draw<inputs>(parameter, Domain::B, pair, 1.0F);
    const float scale = sign * kSigma / std::sqrt(static_cast<float>(kNoiseVariance));
    layer.bias = layer.mean_bias + draw<outputs>(parameter + 1, Domain::Vector, pair, scale);
}

float episode(const Policy& policy) {
    const PhiloxCounter words = philox_block({.seed = kSeed, .domain = Domain::Environment}, 0);
    const auto start = CartPole::reset({words[0], words[1], words[2], words[3]});
    auto state = start;
    float total = 0.0F;
    for (std::uint32_t step = 0; step < kSteps; ++step) {
        float observation[kInputs];
        CartPole::observe(state, observation);
        const std::uint32_t action = policy.act(Eigen::Map<const Eigen::Vector<float, kInputs>>(observation));
        const exact::StepResult result = CartPole::step(state, action);
        total += result.reward;
        if (result.terminated) state = start;
    }
    // Every step is worth 1, so the return alone would need none of them: seen at -O3, 72 ns an episode.
    benchmark::DoNotOptimize(state);
    return total;
}

Policy mean_policy() {
    std::size_t count = 0;
    const auto next = [&count] {
        const auto square = static_cast<float>(count * count);
        ++count;
        return 0.3F * std::sin(square);
    };
    const auto fill = [&next](auto& layer) {
        for (float& weight : layer.weights.reshaped()) weight = next();
        for (float& bias : layer.mean_bias) bias = next();
    };
    Policy policy;
    fill(policy.first);
    fill(policy.second);
    return policy;
}

/// One member an iteration.
void host_loop(benchmark::State& state) {
    Policy policy = mean_policy();
    std::uint32_t member = 0;
    for ([[maybe_unused]] const auto _ : state) {
        perturb(policy.first, 0, member);
        perturb(policy.second, 2, member);
        benchmark::DoNotOptimize(episode(policy));
        ++member;
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kSteps));
}

void add(std::span<BenchDevice> /*devices*/) {
    benchmark::RegisterBenchmark("host_loop/rank:1/member_by_member", host_loop);
}

const Registration kRegistration(add);

}  // namespace
}  // namespace yolk::bench
