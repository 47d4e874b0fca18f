// SPDX-License-Identifier: Apache-2.0
// kfac_step: the inverses of a policy's Fisher blocks (F + damping trace(F)/n I)^-1, from host data to host data; on a
// device by block_inverse (docs/kernels/block_inverse.md), in fp32, or on the host, in double.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/block_inverse.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/autotune/step_counts.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

template <class Real>
struct KfacStepInput {
    std::uint32_t count = 0;         ///< blocks, at least 1
    std::uint32_t n = 0;             ///< rows of a block, at least 1; on a device at most 1,024
    std::span<const Real> blocks{};  ///< [count, n, n]; only elements (i, j) with j <= i are read
    Real damping = 0;                ///< relative to trace / n; 0, or 2^-40 ... 2^20
    std::uint32_t retries = 4;       ///< with more damping, for blocks that are singular; 0 ... 8
};

/// The caller's, and just as long. The inverses may lie where the blocks do.
template <class Real>
struct KfacStepOutput {
    std::span<Real> inverses{};         ///< [count, n, n]; zeros for a block that has none
    std::span<std::uint32_t> status{};  ///< [count]: block_status_of(), retries_of(), is_inverted()
    std::span<Real> residuals{};        ///< [count]: |A X - I|_F / sqrt(n) of the damped block; kNoResidual without one
};

template <class Real>
struct KfacStepResult {
    std::vector<Real> inverses;
    std::vector<std::uint32_t> status;
    std::vector<Real> residuals;
    StepCounts counts;  ///< zeros on the host
};

/// Its plan is kept while count, n, damping, retries and device stay the same.
class KfacStepScratch final : public StepScratch {};

/// Blocks until the inverses are there. With the caller's memory and scratch the steady state allocates nothing and
/// makes no Vulkan object. Errors: no blocks, blocks of size 0, sizes that overflow, lengths that do not fit (BadInput,
/// and nothing is written); those of plan_block_inverse; out of memory, device lost, driver.
[[nodiscard]] Result<StepCounts> kfac_step(Dispatcher& dispatcher, const KfacStepInput<float>& input,
                                           KfacStepScratch& scratch, const KfacStepOutput<float>& output);
/// The same, once, with memory of its own.
[[nodiscard]] Result<KfacStepResult<float>> kfac_step(Dispatcher& dispatcher, const KfacStepInput<float>& input);

/// Room for the host's work; grows where it must.
struct KfacStepHostScratch {
    std::vector<double> work;  ///< [3, n, n]
};

/// On the host, without a device: L D L^T in double. A pivot within n 2^-50 of the largest diagonal element counts as
/// zero; on a device, whose numbers are shorter, more do. The same errors, but for those of devices.
[[nodiscard]] Result<void> kfac_step_on_host(const KfacStepInput<double>& input, KfacStepHostScratch& scratch,
                                             const KfacStepOutput<double>& output);
[[nodiscard]] Result<KfacStepResult<double>> kfac_step_on_host(const KfacStepInput<double>& input);

}  // namespace yolk::autotune
