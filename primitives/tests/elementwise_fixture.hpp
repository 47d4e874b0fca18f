// SPDX-License-Identifier: Apache-2.0
// A device test that runs one operation of elementwise on values of the host.
#pragma once

#include <vector>

#include "yolk/elementwise.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/oracle/guarded.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {

class ElementwiseTest : public testing::DeviceTest {
   protected:
    /// As one row. An operand of one value is repeated.
    Result<std::vector<float>> run(ElementwiseOperation operation, const std::vector<std::vector<float>>& operands) {
        ElementwiseDesc desc = one_step(operation, {static_cast<std::uint32_t>(operands[0].size())});
        std::vector<oracle::GuardedBuffer> buffers;
        std::vector<BufferView> inputs;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            if (operands[i].size() == 1) desc.inputs[i] = 0;
            YOLK_TRY(auto made, buffer(operands[i], "operand"));
            buffers.push_back(std::move(made));
        }
        for (const oracle::GuardedBuffer& each : buffers) inputs.push_back(each.view());
        YOLK_TRY(const auto out, buffer(std::vector<float>(operands[0].size()), "out"));
        YOLK_TRY(const ElementwisePlan plan, plan_elementwise(device(), desc));
        YOLK_TRY(const BoundElementwise bound, plan.bind({.inputs = inputs, .out = out.view()}));
        YOLK_TRY(Recorder recorder, Recorder::create(device()));
        recorder.begin();
        bound.record(recorder);
        YOLK_TRY_VOID(dispatcher().run(recorder));
        return out.download<float>();
    }
    Result<oracle::GuardedBuffer> buffer(const std::vector<float>& values, const char* label) {
        YOLK_TRY(auto made, oracle::GuardedBuffer::create(device(), dispatcher(), sizeof(float) * values.size(),
                                                          oracle::kPoisons[0], label));
        YOLK_TRY_VOID(made.upload(values));
        return made;
    }
};

}  // namespace yolk
