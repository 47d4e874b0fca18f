// SPDX-License-Identifier: Apache-2.0
// natural_gradient_step: step = -learning_rate P g, from host data to host data; on a device by natural_gradient
// (docs/kernels/natural_gradient.md), in fp32, or on the host, in double. Amari 1998, "Natural gradient works
// efficiently in learning", equation 10, where P is an inverse of the Fisher matrix.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/dispatcher.hpp"
#include "yolk/internal/autotune/step_counts.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

template <class Real>
struct NaturalGradientStepInput {
    std::uint32_t count = 1;                 ///< blocks, at least 1
    std::uint32_t n = 0;                     ///< length of a block's gradient, at least 1
    std::span<const Real> gradient{};        ///< [count, n]
    std::span<const Real> preconditioner{};  ///< [count, n, n]: M^-1/2 or F^-1; empty: the identity, the cold start
    Real learning_rate = 1;                  ///< finite; 0 gives zeros
};

/// The caller's, and just as long. One of them may lie where the gradient does.
template <class Real>
struct NaturalGradientStepOutput {
    std::span<Real> step{};            ///< [count, n]
    std::span<Real> preconditioned{};  ///< [count, n]: P g; empty where it is not wanted
};

template <class Real>
struct NaturalGradientStepResult {
    std::vector<Real> step;
    std::vector<Real> preconditioned;
    StepCounts counts;  ///< zeros on the host
};

/// Its plan is kept while count, n and device stay the same and there is a preconditioner, or none, as before.
class NaturalGradientStepScratch final : public StepScratch {};

/// Blocks until the step is there. With the caller's memory and scratch the steady state allocates nothing and makes no
/// Vulkan object. Errors: no blocks, blocks of size 0, sizes that overflow, lengths that do not fit, a
/// learning rate that is not finite (BadInput, and nothing is written); those of plan_natural_gradient; out of memory,
/// device lost, driver.
[[nodiscard]] Result<StepCounts> natural_gradient_step(Dispatcher& dispatcher,
                                                       const NaturalGradientStepInput<float>& input,
                                                       NaturalGradientStepScratch& scratch,
                                                       const NaturalGradientStepOutput<float>& output);
/// The same, once, with memory of its own.
[[nodiscard]] Result<NaturalGradientStepResult<float>> natural_gradient_step(
    Dispatcher& dispatcher, const NaturalGradientStepInput<float>& input);

/// Room for the host's work; grows where it must.
struct NaturalGradientStepHostScratch {
    std::vector<double> work;  ///< [n]
};

/// On the host, without a device. The same errors, but for those of devices.
[[nodiscard]] Result<void> natural_gradient_step_on_host(const NaturalGradientStepInput<double>& input,
                                                         NaturalGradientStepHostScratch& scratch,
                                                         const NaturalGradientStepOutput<double>& output);
[[nodiscard]] Result<NaturalGradientStepResult<double>> natural_gradient_step_on_host(
    const NaturalGradientStepInput<double>& input);

}  // namespace yolk::autotune
