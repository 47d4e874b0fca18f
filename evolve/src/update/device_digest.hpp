// SPDX-License-Identifier: Apache-2.0
// The sums of a state's digest, made on the device in the recording that makes the state.
#pragma once

#include "yolk/device.hpp"
#include "yolk/digest.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/result.hpp"

namespace yolk::evolve {

/// Empty until made by create(): records nothing then.
class DeviceDigest {
   public:
    /// `state`: empty where the optimizer has none. Errors: no memory, the plan's.
    [[nodiscard]] static Result<DeviceDigest> create(const Device& device, const BufferView& parameters,
                                                     const BufferView& state);
    /// Zeros, before add(), with a barrier from transfers to compute between the two.
    void begin(Recorder& recorder) const noexcept;
    /// Of the state as it is then; it may be read meanwhile. Barriers before and after are the caller's.
    void add(Recorder& recorder) const noexcept;
    /// uint32 [abi::digest::kSumWords]; empty where the digest is.
    [[nodiscard]] BufferView sums() const noexcept {
        return sums_.size_bytes() == 0 ? BufferView{} : BufferView{sums_};
    }

   private:
    Buffer sums_;  // before what is bound to it
    DigestPlan of_parameters_, of_state_;
    BoundDigest parameters_, state_;
    bool has_state_ = false;
};

}  // namespace yolk::evolve
