// SPDX-License-Identifier: Apache-2.0
// The search of a user's kernel: in this process, or by workers that its configurations may take down (docs/adr/0039).
#pragma once

#include "yolk/tune_kernel.hpp"

namespace yolk::autotune {

using KernelClock = std::chrono::steady_clock;

/// One tuning, with what it is made of.
struct UserKernelTuning {
    const TuneUserKernelOptions& options;
    const UserKernel& kernel;
    const TuningFile& file;
    TuningKey key;
    KernelClock::time_point end;
};

/// Until the search ends or the device is lost.
[[nodiscard]] Result<TuneLiveOutcome> search_once(const UserKernelTuning& run, Machine& machine);

/// The same in a worker, which opens the device itself, and in another one after each that a configuration has ended:
/// that configuration is quarantined with the reason.
[[nodiscard]] Result<TuneLiveOutcome> search_apart(const UserKernelTuning& run, const DeviceInfo& info);

}  // namespace yolk::autotune
