// SPDX-License-Identifier: Apache-2.0
// The registry of environments with their kernels, from the generated yolk/internal/shaders/environments.hpp.
#pragma once

#include "yolk/exact/environment_prelude.h"
#include "yolk/internal/shaders/catalogue.hpp"
#include "yolk/result.hpp"
#include "yolk/rollout.hpp"

namespace yolk {

[[nodiscard]] constexpr ActionSpace action_space(const exact::EnvironmentActions& actions) noexcept {
    static_assert(kMaxActionDimensions == exact::kMaxContinuousActions);
    ActionSpace space{.continuous = actions.continuous, .squashed = actions.squashed};
    for (std::size_t i = 0; i < kMaxActionDimensions; ++i) {
        space.low[i] = actions.low[i];
        space.high[i] = actions.high[i];
    }
    return space;
}

/// The forms of one environment's kernel.
struct RolloutKernels {
    const Kernel<abi::rollout::Params>* looped = nullptr;
    const Kernel<abi::rollout::Params>* unrolled = nullptr;
    const Kernel<abi::rollout::Params>* packed = nullptr;
};

struct EnvironmentKernels {
    EnvironmentInfo info;
    RolloutKernels exact;
    RolloutKernels fast;  ///< of class T
};

/// Of the description's own environment, which then must outlive them, else of the built-in one of that name. Error:
/// unknown name (lists the known ones).
[[nodiscard]] Result<EnvironmentKernels> find_environment_kernels(const RolloutDesc& desc);

}  // namespace yolk
