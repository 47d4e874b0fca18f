// SPDX-License-Identifier: Apache-2.0
// The environments of classic control but for CartPole, in double.
#pragma once

#include "rollout_oracle.hpp"

namespace yolk::oracle {

[[nodiscard]] EnvironmentOracle acrobot_oracle() noexcept;
[[nodiscard]] EnvironmentOracle mountain_car_oracle() noexcept;
[[nodiscard]] EnvironmentOracle mountain_car_continuous_oracle() noexcept;
[[nodiscard]] EnvironmentOracle pendulum_oracle() noexcept;

/// low + width * uniform(word), with the roundings of both constants, the product and the sum.
[[nodiscard]] RolloutValue uniform_start(std::uint32_t word, double low, double width) noexcept;

}  // namespace yolk::oracle
