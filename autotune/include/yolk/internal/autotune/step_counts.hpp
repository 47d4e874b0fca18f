// SPDX-License-Identifier: Apache-2.0
// What step calls keep between them, and what they did on a device; Device::counts() has the sums over everything.
#pragma once

#include <cstdint>

#include "yolk/internal/core/owned.hpp"

namespace yolk::autotune {

struct StepCounts {
    std::uint64_t calls = 0;        ///< that succeeded
    std::uint64_t plans = 0;        ///< made since shape, options or device were not those of the call before
    std::uint64_t submissions = 0;  ///< waits of the host for the device; more than one per call for long work
    std::uint64_t dispatches = 0;
    friend bool operator==(const StepCounts&, const StepCounts&) = default;
};

/// Of a scratch: where its memory is and how much of it. Equal footprints mean that nothing was made anew.
struct StepFootprint {
    const void* upload = nullptr;
    const void* readback = nullptr;
    std::uint64_t upload_bytes = 0;
    std::uint64_t readback_bytes = 0;
    std::uint64_t device_bytes = 0;   ///< of what is worked on
    std::uint64_t scratch_bytes = 0;  ///< of the kernels' scratch
    friend bool operator==(const StepFootprint&, const StepFootprint&) = default;
};

class StagedCall;  // src/algebra/staged_call.hpp

/// Device buffers, staging, plan and recording of a step; made by the first call. Memory only ever grows. One call at a
/// time. A default one holds nothing.
class StepScratch {
   public:
    [[nodiscard]] StepCounts counts() const noexcept;  ///< of all calls with this scratch
    [[nodiscard]] StepFootprint footprint() const noexcept;

    StepScratch();
    [[nodiscard]] StagedCall& call() noexcept { return *call_; }

   private:
    Owned<StagedCall> call_;
};

}  // namespace yolk::autotune
