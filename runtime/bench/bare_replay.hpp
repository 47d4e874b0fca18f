// SPDX-License-Identifier: Apache-2.0
// One kernel, many times in one command buffer, with nothing between the caller and Vulkan: what a Recorder and a
// Dispatcher are measured against. For benches only; names no Vulkan type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "yolk/device.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/result.hpp"

namespace yolk::bench {

/// Makes the Vulkan calls that a Recorder makes for `begin()` and then `kernels` times `dispatch(binding, params,
/// groups)` and `barrier(Barrier::ComputeToCompute)`, and those that Dispatcher::submit and wait make: the same
/// pipeline, descriptor set, push constants, barriers, queue and kind of semaphore, through the same function table.
/// No check, no counter, no lock, no label. For one thread; nobody else may submit to the device meanwhile.
class BareReplay {
   public:
    /// `binding` and `params` must outlive it. Errors: the driver's.
    [[nodiscard]] static Result<BareReplay> create(const Device& device, const Binding& binding,
                                                   std::span<const std::byte> params, GroupCount groups);
    ~BareReplay();
    BareReplay(BareReplay&&) noexcept;

    /// Only when nothing that was recorded still runs.
    [[nodiscard]] Result<void> record(std::uint32_t kernels);
    [[nodiscard]] Result<void> submit_and_wait();

   private:
    struct Impl;
    explicit BareReplay(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace yolk::bench
