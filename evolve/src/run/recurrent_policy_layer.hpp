// SPDX-License-Identifier: Apache-2.0
// The recurrent layer of every member's policy (docs/kernels/rollout.md), as work on the device.
#pragma once

#include <optional>
#include <vector>

#include "policy_layer.hpp"
#include "yolk/concat.hpp"

namespace yolk::evolve {

/// Gate and candidate are parameters 0 to 3. Its memory stays on the device from pass to pass.
class RecurrentPolicyLayer {
   public:
    /// `observation`: [members, widths.front()].
    [[nodiscard]] Result<void> make(const PolicyParts& parts, const BufferView& observation);
    void copy(Recorder& recorder) const;
    /// Sets the memory to zero: where episodes begin.
    void start(Recorder& recorder) const { recorder.fill(memory_, 0); }
    void perturb(Recorder& recorder, const NoiseContext& when, std::int32_t first_member) const;
    void record(Recorder& recorder, const NoiseContext& when, std::int32_t first_member) const;
    /// [members, units]
    [[nodiscard]] const Buffer& memory() const noexcept { return memory_; }

   private:
    Buffer memory_, gated_, joined_;
    PolicyLayer gate_, candidate_;
    std::optional<BoundConcat> join_memory_, join_gated_;
    std::optional<BoundElementwise> multiply_, move_;  // from the memory to the next one
};

}  // namespace yolk::evolve
