// SPDX-License-Identifier: Apache-2.0
#include "block_trace.hpp"

#include <array>
#include <utility>

#include "row_plan.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {

Result<BlockTracePlan> plan_block_trace(const Device& device) {
    BlockTracePlan plan;
    plan.device_ = &device;
    plan.config_ = default_row_config(device.info());
    const std::array constants{
        SpecConstant{abi::block_trace::kSpecWorkgroupSize, row_workgroup_size(plan.config_)},
    };
    const auto& kernel =
        plan.config_.row_per_invocation != 0 ? kernels::kBlockTraceByInvocation : kernels::kBlockTraceByGroup;
    YOLK_TRY(plan.pipeline_, device.pipeline(kernel, constants));
    return plan;
}

Result<BoundBlockTrace> BlockTracePlan::bind(const BufferView& in, const BufferView& out, std::uint32_t blocks,
                                             std::uint32_t n, float weight) const {
    BoundBlockTrace bound;
    bound.params_ = {.blocks = blocks, .n = n, .weight = weight};
    bound.grid_ = row_grid(blocks, n, 1, config_);
    YOLK_TRY(bound.binding_, device_->bind(pipeline_, std::array{in, out}));
    return bound;
}

void BoundBlockTrace::record(Recorder& recorder) const noexcept { recorder.dispatch(binding_, params_, grid_); }

}  // namespace yolk
