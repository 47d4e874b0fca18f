// SPDX-License-Identifier: Apache-2.0
// What the tests of block_inverse share: a run with guarded buffers, and a description per style.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "row_device.hpp"
#include "yolk/block_inverse.hpp"
#include "yolk/internal/abi/block_inverse.h"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/twin.hpp"

namespace yolk {

struct BlockInverseInputs {
    std::vector<float> in, damping{};
};
struct BlockInverseOutputs {
    std::vector<float> out;
    std::vector<std::uint32_t> status;
    std::vector<float> residual;
};

[[nodiscard]] inline BlockInverseOutputs block_inverse_twin(const BlockInverseDesc& desc,
                                                            const BlockInverseInputs& inputs) {
    BlockInverseOutputs twin{std::vector<float>(inputs.in.size()), std::vector<std::uint32_t>(desc.blocks),
                             std::vector<float>(desc.blocks)};
    reference::twin_of(desc, {inputs.in, inputs.damping, twin.out, twin.status, twin.residual});
    return twin;
}

class BlockInverseTest : public testing::DeviceTest {
   protected:
    /// `scratch_bytes` 0: all that the plan asks for.
    Result<BlockInverseOutputs> run(const BlockInverseDesc& desc, const BlockInverseInputs& inputs,
                                    std::uint64_t scratch_bytes = 0) {
        const RowBuffers buffers{device(), dispatcher()};
        YOLK_TRY(const BlockInversePlan plan, plan_block_inverse(device(), desc));
        if (scratch_bytes == 0) scratch_bytes = plan.scratch().size_bytes;
        YOLK_TRY(const auto in, buffers.filled(inputs.in, "block_inverse.in"));
        YOLK_TRY(const auto damping, buffers.filled(inputs.damping, "block_inverse.damping"));
        YOLK_TRY(const auto out, buffers.empty(sizeof(float) * inputs.in.size(), "block_inverse.out"));
        YOLK_TRY(const auto status, buffers.empty(sizeof(float) * desc.blocks, "block_inverse.status"));
        YOLK_TRY(const auto residual, buffers.empty(sizeof(float) * desc.blocks, "block_inverse.residual"));
        YOLK_TRY(const auto scratch, buffers.empty(scratch_bytes, "block_inverse.scratch"));
        YOLK_TRY(const BoundBlockInverse bound, plan.bind({.in = in.view(),
                                                           .damping = damping.view(),
                                                           .out = out.view(),
                                                           .status = status.view(),
                                                           .residual = residual.view()},
                                                          scratch.view()));
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder);
        dispatches_ = recorder.dispatch_count();
        YOLK_TRY_VOID(dispatcher().run(recorder));
        BlockInverseOutputs outputs;
        YOLK_TRY(outputs.out, out.download<float>());
        YOLK_TRY(outputs.status, status.download<std::uint32_t>());
        YOLK_TRY(outputs.residual, residual.download<float>());
        return outputs;
    }

    std::uint64_t dispatches_ = 0;  ///< of the last run
};

/// The same for each style that takes it.
[[nodiscard]] inline std::vector<BlockInverseDesc> descs_of_all_styles(const BlockInverseDesc& desc) {
    std::vector<BlockInverseDesc> all;
    const auto add = [&](BlockInverseStyle style, std::uint32_t workgroup_size, std::uint32_t tile_rows = 8) {
        all.push_back(desc);
        all.back().config = BlockInverseConfig{
            .style = static_cast<std::uint32_t>(style), .workgroup_size = workgroup_size, .tile_rows = tile_rows};
    };
    if (desc.mode == InverseMode::Symmetric) {
        add(BlockInverseStyle::Group, 8);
        add(BlockInverseStyle::Group, 64, 4);
        return all;
    }
    if (desc.n <= abi::block_inverse::kMaxRegisters) add(BlockInverseStyle::Registers, 8);
    add(BlockInverseStyle::Tiles, 8);
    add(BlockInverseStyle::Tiles, 64, 4);  // what GPUs take
    return all;
}

}  // namespace yolk
