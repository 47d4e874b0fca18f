// SPDX-License-Identifier: Apache-2.0
// The oracle of rollout, in double precision: it holds single steps.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "yolk/rollout.hpp"

namespace yolk::oracle {

/// A number in double and how far a right fp32 computation may be off it.
struct RolloutValue {
    double value = 0.0;
    double tolerance = 0.0;
};

/// A member's policy in double: W +- sigma/sqrt(r) A B^T and b +- sigma V formed in full from the oracle's own noise,
/// tanh from the standard library. Tolerances are those of the description's determinism. One thread at a time.
class PolicyOracle {
   public:
    PolicyOracle(const RolloutDesc& desc, std::span<const float> parameters, const NoiseContext& when,
                 std::uint32_t member);
    /// The outputs for an observation.
    [[nodiscard]] std::vector<RolloutValue> outputs(std::span<const float> observation) const;

   private:
    struct Layer {
        std::uint32_t inputs = 0;
        std::uint32_t outputs = 0;
        std::vector<double> weights;     ///< [outputs, inputs], perturbed
        std::vector<double> magnitudes;  ///< [outputs, inputs]: the sum of the magnitudes of a weight's terms
        std::vector<double> biases;
        std::vector<double> bias_magnitudes;
    };
    [[nodiscard]] std::vector<RolloutValue> apply(const Layer& layer, std::span<const RolloutValue> inputs) const;
    std::vector<Layer> layers_;
    std::uint32_t rank_ = 1;
    double tanh_error_ = 0.0;
};

/// An environment's physics in double, written apart from its file in shaders/environments.
struct EnvironmentOracle {
    const char* name;
    /// The state after one step. `action`: its index as a float, or the numbers of a continuous one.
    std::vector<RolloutValue> (*step)(std::span<const float> state, std::span<const float> action);
    /// How far inside its limits a state is: the episode ends where this is negative. In units of the state's
    /// tolerances.
    double (*margin)(std::span<const RolloutValue> state);
    /// The state that four random words give.
    std::vector<RolloutValue> (*reset)(std::span<const std::uint32_t, 4> words);
    std::vector<RolloutValue> (*observe)(std::span<const float> state);
    /// Of the step from a state; `terminated`: what the step said.
    RolloutValue (*reward)(std::span<const float> state, std::span<const float> action, bool terminated);
};
/// What a continuous environment makes of a policy's outputs.
[[nodiscard]] std::vector<RolloutValue> continuous_actions(const ActionSpace& space,
                                                           std::span<const RolloutValue> outputs);

/// nullptr where there is none of that name.
[[nodiscard]] const EnvironmentOracle* find_environment_oracle(std::string_view name) noexcept;

}  // namespace yolk::oracle
