// SPDX-License-Identifier: Apache-2.0
// The traces of a batch of matrices, times a weight: a stage of covariance, inverse_sqrt and kronecker_precondition.
#pragma once

#include <cstdint>

#include "yolk/device.hpp"
#include "yolk/internal/abi/block_trace.h"
#include "yolk/internal/primitives/row_config.hpp"
#include "yolk/internal/runtime/recorder.hpp"

namespace yolk {

class BoundBlockTrace {
   public:
    /// No barrier inside.
    void record(Recorder& recorder) const noexcept;

   private:
    friend class BlockTracePlan;
    BindingOf<abi::block_trace::Params> binding_;
    abi::block_trace::Params params_{};
    LinearGrid grid_{};
};

/// Immutable: threads may share it. The device must outlive it.
class BlockTracePlan {
   public:
    /// out[b] = weight * trace(in[b]). The views have been checked: in [blocks, n, n], out [blocks]; neither is empty.
    [[nodiscard]] Result<BoundBlockTrace> bind(const BufferView& in, const BufferView& out, std::uint32_t blocks,
                                               std::uint32_t n, float weight) const;

   private:
    friend Result<BlockTracePlan> plan_block_trace(const Device&);
    const Device* device_ = nullptr;
    RowConfig config_;
    PipelineOf<abi::block_trace::Params> pipeline_;
};

[[nodiscard]] Result<BlockTracePlan> plan_block_trace(const Device& device);

}  // namespace yolk
