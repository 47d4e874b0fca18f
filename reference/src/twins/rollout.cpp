// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <thread>

#include "twin_source.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/exact/exact_recurrence.h"
#include "yolk/exact/observation_normalizer.h"
#include "yolk/internal/reference/member_streams.hpp"
#include "yolk/internal/reference/rollout_trace.hpp"
#include "yolk/internal/shaders/environments.hpp"
#include "yolk/rollout.hpp"

namespace yolk::reference {

namespace {

#define YOLK_TWIN_TYPE(name, ...) YOLK_ENVIRONMENT_TYPE(name, name);
namespace environment_types {
YOLK_ENVIRONMENTS(YOLK_TWIN_TYPE)
}  // namespace environment_types
#undef YOLK_TWIN_TYPE

/// One layer of a member's policy as the kernel holds it.
struct TwinLayer {
    std::uint32_t inputs = 0;
    std::uint32_t outputs = 0;
    bool perturbed = false;
    std::vector<float> weights = {};  // [outputs, inputs], operands
    std::vector<float> a = {};        // [outputs, rank]
    std::vector<float> b = {};        // [inputs, rank]
    std::vector<float> biases = {};   // with their noise
};

std::vector<float> noise_floats(const NoiseContext& when, std::size_t parameter, Domain domain, std::uint32_t pair,
                                std::size_t count) {
    return noise_elements<float>({.seed = when.seed,
                                  .parameter = static_cast<std::uint32_t>(parameter),
                                  .domain = domain,
                                  .pair = pair,
                                  .time = when.time},
                                 count);
}

class TwinPolicy {
   public:
    TwinPolicy(const RolloutDesc& desc, std::span<const float> parameters, const NoiseContext& when,
               std::uint32_t member)
        : rank_(desc.rank),
          recurrent_(desc.network.recurrent),
          normalizer_(desc.network.normalized ? parameters.subspan(desc.network.layer_elements())
                                              : std::span<const float>()) {
        const double sigma = when.sigma;
        const float sign = !desc.antithetic || member % 2 == 0 ? 1.0F : -1.0F;
        const std::uint32_t pair = desc.antithetic ? member / 2 : member;
        const double matrix_scale = sigma / std::sqrt(static_cast<double>(desc.rank)) / kNoiseVariance;
        const double vector_scale = sigma / std::sqrt(static_cast<double>(kNoiseVariance));
        matrix_scale_ = sign * exact::exact_flush_operand(static_cast<float>(matrix_scale));
        const float bias_scale = sign * exact::exact_flush_operand(static_cast<float>(vector_scale));
        for (std::size_t p = 0; p < desc.network.layer_parameters(); p += 2)
            layers_.push_back(make_layer(desc, parameters, when, pair, p, bias_scale));
        start_episode();
    }

    void start_episode() { memory_.assign(recurrent_, 0.0F); }
    /// Of the recurrent layer; empty without one.
    [[nodiscard]] std::span<const float> memory() const noexcept { return memory_; }

    /// The outputs for an observation, with which the memory moves on.
    [[nodiscard]] std::span<const float> outputs(std::span<const float> observation) {
        units_.assign(observation.size(), 0.0F);
        for (std::size_t i = 0; i < units_.size(); ++i) {
            units_[i] = normalizer_.empty()
                            ? exact::exact_flush_operand(observation[i])
                            : exact::exact_normalized(observation[i], normalizer_[i], normalizer_[units_.size() + i]);
        }
        if (recurrent_ != 0) remember();
        for (std::size_t layer = recurrent_ == 0 ? 0 : 2; layer < layers_.size(); ++layer)
            apply(layers_[layer], layer + 1 < layers_.size());
        return units_;
    }

   private:
    /// The recurrent layer: its next memory, which takes the observation's place.
    void remember() {
        const std::vector<float> observation = units_;
        const auto with = [&](std::span<const float> seen) {
            units_ = observation;
            units_.insert(units_.end(), seen.begin(), seen.end());
        };
        with(memory_);
        apply(layers_[0], false);
        std::vector<float> gates(recurrent_), gated(recurrent_);
        std::transform(units_.begin(), units_.end(), gates.begin(), exact::exact_gate);
        std::transform(gates.begin(), gates.end(), memory_.begin(), gated.begin(), exact::exact_gated_memory);
        with(gated);
        apply(layers_[1], true);
        for (std::size_t u = 0; u < recurrent_; ++u)
            memory_[u] = exact::exact_next_memory(gates[u], memory_[u], units_[u]);
        units_ = memory_;
    }

    [[nodiscard]] TwinLayer make_layer(const RolloutDesc& desc, std::span<const float> parameters,
                                       const NoiseContext& when, std::uint32_t pair, std::size_t p,
                                       float bias_scale) const {
        const ParameterDesc& matrix = desc.parameters.parameters()[p];
        const ParameterDesc& vector = desc.parameters.parameters()[p + 1];
        TwinLayer layer{.inputs = matrix.columns, .outputs = matrix.rows};
        const auto operands = [&](std::size_t id, std::size_t count) {
            const auto from =
                parameters.subspan(desc.parameters.offset(ParameterId(static_cast<std::uint32_t>(id))), count);
            std::vector<float> values(count);
            std::transform(from.begin(), from.end(), values.begin(), exact::exact_flush_operand);
            return values;
        };
        layer.weights = operands(p, std::size_t{layer.outputs} * layer.inputs);
        layer.biases = operands(p + 1, layer.outputs);
        layer.perturbed = !desc.mean_only && matrix.perturbation != Perturbation::Frozen;
        if (layer.perturbed) {
            layer.a = noise_floats(when, p, Domain::A, pair, std::size_t{layer.outputs} * rank_);
            layer.b = noise_floats(when, p, Domain::B, pair, std::size_t{layer.inputs} * rank_);
        }
        if (!desc.mean_only && vector.perturbation != Perturbation::Frozen) {
            const std::vector<float> noise = noise_floats(when, p + 1, Domain::Vector, pair, layer.outputs);
            for (std::size_t o = 0; o < noise.size(); ++o) {
                const float shift = bias_scale * noise[o];
                layer.biases[o] = layer.biases[o] + shift;
            }
        }
        return layer;
    }

    void project(const TwinLayer& layer) {
        projections_.assign(layer.perturbed ? rank_ : 0, 0.0F);
        for (std::size_t column = 0; column < projections_.size(); ++column) {
            float sum = 0.0F;
            for (std::size_t i = 0; i < layer.inputs; ++i) {
                const float product = units_[i] * layer.b[i * rank_ + column];
                sum = sum + product;
            }
            projections_[column] = exact::exact_flush_operand(sum * matrix_scale_);
        }
    }

    void apply(const TwinLayer& layer, bool hidden) {
        project(layer);
        next_.resize(layer.outputs);
        for (std::size_t o = 0; o < layer.outputs; ++o) {
            float sum = layer.biases[o];
            for (std::size_t i = 0; i < layer.inputs; ++i) {
                const float product = units_[i] * layer.weights[o * layer.inputs + i];
                sum = sum + product;
            }
            for (std::size_t column = 0; column < projections_.size(); ++column) {
                const float product = projections_[column] * layer.a[o * rank_ + column];
                sum = sum + product;
            }
            next_[o] = hidden ? exact::exact_tanh(sum) : sum;
        }
        units_.swap(next_);
    }

    std::vector<TwinLayer> layers_;
    std::uint32_t rank_;
    std::uint32_t recurrent_;
    std::span<const float> normalizer_;  // shifts, then scales
    float matrix_scale_ = 0.0F;
    std::vector<float> memory_;
    std::vector<float> units_;
    std::vector<float> next_;
    std::vector<float> projections_;
};

template <class State>
std::vector<float> words_of(const State& state) {
    std::vector<float> words(sizeof(State) / sizeof(float));
    std::memcpy(words.data(), &state, sizeof(State));
    return words;
}

std::uint32_t largest(std::span<const float> outputs) {
    std::uint32_t action = 0;
    for (std::uint32_t a = 1; a < outputs.size(); ++a) {
        if (outputs[a] > outputs[action]) action = a;
    }
    return action;
}

/// Takes the step that the outputs ask for; `action` tells which it is.
template <class Environment>
exact::StepResult act(typename Environment::State& state, std::span<const float> outputs, std::vector<float>& action) {
    if constexpr (Environment::kActions.continuous) {
        float values[Environment::kActionCount];
        for (std::uint32_t a = 0; a < Environment::kActionCount; ++a) {
            values[a] = exact::exact_continuous_action(outputs[a], Environment::kActions.low[a],
                                                       Environment::kActions.high[a], Environment::kActions.squashed);
        }
        action.assign(values, values + Environment::kActionCount);
        return Environment::step(state, values);
    } else {
        const std::uint32_t index = largest(outputs);
        action.assign(1, static_cast<float>(index));
        return Environment::step(state, index);
    }
}

struct EpisodeResult {
    float total = 0.0F;
    std::uint32_t steps = 0;
};

/// Runs one episode; on_step(state before, memory before, observation, outputs, action, state after, result).
template <class Environment, class OnStep>
EpisodeResult run_episode(const RolloutDesc& desc, TwinPolicy& policy, const NoiseContext& when, std::uint32_t episode,
                          OnStep&& on_step) {
    const PhiloxCounter words =
        philox_block({.seed = when.seed, .domain = Domain::Environment, .pair = episode, .time = when.generation}, 0);
    const auto start = Environment::reset({words[0], words[1], words[2], words[3]});
    auto state = start;
    const std::uint32_t max_steps = desc.max_steps == 0 ? Environment::kMaxSteps : desc.max_steps;
    EpisodeResult episode_result;
    std::vector<float> action, memory;
    policy.start_episode();
    while (episode_result.steps < max_steps) {
        float observation[Environment::kObservationCount];
        Environment::observe(state, observation);
        memory.assign(policy.memory().begin(), policy.memory().end());
        const std::span<const float> outputs = policy.outputs(observation);
        const auto before = state;
        const exact::StepResult result = act<Environment>(state, outputs, action);
        on_step(before, memory, std::span<const float>(observation), outputs, action, state, result);
        episode_result.total = episode_result.total + result.reward;
        ++episode_result.steps;
        if (!result.terminated) continue;
        if (!desc.never_stop) break;
        state = start;
        policy.start_episode();
    }
    return episode_result;
}

/// Counts what a member sees, in words of its own.
auto counting(std::span<std::uint32_t> words) {
    return [words](const auto& /*before*/, const auto& /*memory*/, std::span<const float> observation, const auto&...) {
        for (std::size_t i = 0; i < words.size() / kObservationCounts; ++i) {
            const auto to = words.subspan(i * kObservationCounts, kObservationCounts);
            exact::exact_count_observation(observation[i], to[0], to[1], to[2], to[3], to[4], to[5]);
        }
    };
}

template <class Environment>
void run_all(const RolloutDesc& desc, const HostViews& views, const NoiseContext& when, const RolloutPart& part) {
    const auto returns = views.out<float>(1);
    const std::uint32_t members = desc.mean_only ? 1 : part.members != 0 ? part.members : desc.members;
    const std::uint32_t first_member = desc.mean_only ? 0 : part.first_member;
    const std::uint32_t episodes = part.episodes != 0 ? part.episodes : desc.episodes;
    const auto evaluations = views.out<std::uint32_t>(2);
    const auto counted = evaluations.empty() ? evaluations : evaluations.subspan(kEvaluationCounters);
    std::ranges::fill(counted, 0U);
    const std::size_t words = counted.empty() ? 0 : evaluation_words(desc, 1) - kEvaluationCounters;
    std::array<std::atomic<std::uint32_t>, kEvaluationCounters> counters{};
    std::atomic<std::uint32_t> next_member = 0;
    const auto work = [&] {
        for (std::uint32_t member = next_member++; member < members; member = next_member++) {
            TwinPolicy policy(desc, views.in<float>(0), when, first_member + member);
            const auto count = counting(counted.subspan(member * words, words));
            for (std::uint32_t episode = 0; episode < episodes; ++episode) {
                const EpisodeResult result =
                    run_episode<Environment>(desc, policy, when, part.first_episode + episode, count);
                returns[std::size_t{episode} * members + member] = result.total;
                counters.at(member % counters.size()) += result.steps;
            }
        }
    };
    std::vector<std::jthread> helpers;
    for (std::uint32_t i = 1; i < std::min(members, std::thread::hardware_concurrency()); ++i)
        helpers.emplace_back(work);
    work();
    helpers.clear();
    for (std::size_t i = 0; i < std::min(evaluations.size(), counters.size()); ++i) evaluations[i] = counters.at(i);
}

template <class Environment>
std::vector<RolloutStep> trace_one(const RolloutDesc& desc, std::span<const float> parameters, const NoiseContext& when,
                                   std::uint32_t member, std::uint32_t episode) {
    std::vector<RolloutStep> steps;
    TwinPolicy policy(desc, parameters, when, member);
    const auto keep = [&](const auto& before, const std::vector<float>& memory, std::span<const float> observation,
                          std::span<const float> outputs, const std::vector<float>& action, const auto& after,
                          const exact::StepResult& result) {
        const std::span<const float> next = policy.memory();
        steps.push_back({.state = words_of(before),
                         .memory = memory,
                         .observation = {observation.begin(), observation.end()},
                         .outputs = {outputs.begin(), outputs.end()},
                         .action = action,
                         .next_state = words_of(after),
                         .next_memory = {next.begin(), next.end()},
                         .reward = result.reward,
                         .terminated = result.terminated});
    };
    run_episode<Environment>(desc, policy, when, episode, keep);
    return steps;
}

}  // namespace

#define YOLK_TWIN_CASE(name, ...)                           \
    if (desc.environment == environment_types::name::kName) \
        return run_all<environment_types::name>(desc, views, when, part.value);

/// In fp32 in the kernel's order, the environment from the kernel's own source.
void run_twin(const RolloutDesc& desc, const HostViews& views, const NoiseContext& when, OrDefault<RolloutPart> part) {
    YOLK_ENVIRONMENTS(YOLK_TWIN_CASE)
}
template struct Twin<RolloutDesc>;
#undef YOLK_TWIN_CASE

#define YOLK_TRACE_CASE(name, ...)                          \
    if (desc.environment == environment_types::name::kName) \
        return trace_one<environment_types::name>(desc, parameters, when, member, episode);

std::vector<RolloutStep> rollout_trace(const RolloutDesc& desc, std::span<const float> parameters,
                                       const NoiseContext& when, std::uint32_t member, std::uint32_t episode) {
    YOLK_ENVIRONMENTS(YOLK_TRACE_CASE)
    return {};
}
#undef YOLK_TRACE_CASE

}  // namespace yolk::reference
