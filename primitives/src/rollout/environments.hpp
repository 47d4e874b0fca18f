// SPDX-License-Identifier: Apache-2.0
// The registry of environments with their kernels, from the generated yolk/shaders/environments.hpp.
#pragma once

#include "yolk/core/result.hpp"
#include "yolk/primitives/rollout.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {

struct EnvironmentKernels {
    EnvironmentInfo info;
    const Kernel<abi::rollout::Params>* looped = nullptr;
    const Kernel<abi::rollout::Params>* unrolled = nullptr;
    const Kernel<abi::rollout::Params>* looped_fast = nullptr;  ///< of class T
    const Kernel<abi::rollout::Params>* unrolled_fast = nullptr;

    [[nodiscard]] const Kernel<abi::rollout::Params>& kernel(bool is_unrolled, Determinism determinism) const noexcept {
        if (determinism == Determinism::Fast) return is_unrolled ? *unrolled_fast : *looped_fast;
        return is_unrolled ? *unrolled : *looped;
    }
};

/// Of the description's own environment, which then must outlive them, else of the built-in one of that name. Error:
/// unknown name (lists the known ones).
[[nodiscard]] Result<EnvironmentKernels> find_environment_kernels(const RolloutDesc& desc);

}  // namespace yolk
