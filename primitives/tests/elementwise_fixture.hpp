// SPDX-License-Identifier: Apache-2.0
// A device test that runs elementwise on values of the host.
#pragma once

#include <vector>

#include "yolk/elementwise.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/oracle/guarded.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {

class ElementwiseTest : public testing::DeviceTest {
   protected:
    Result<std::vector<float>> run(const ElementwiseDesc& desc, const std::vector<float>& first,
                                   const std::vector<float>& second = {}) {
        YOLK_TRY(const auto a, buffer(first, "first"));
        YOLK_TRY(const auto b, buffer(second, "second"));
        YOLK_TRY(const auto out, buffer(std::vector<float>(first.size()), "out"));
        YOLK_TRY(const ElementwisePlan plan, plan_elementwise(device(), desc));
        YOLK_TRY(const BoundElementwise bound, plan.bind({.first = a.view(), .second = b.view(), .out = out.view()}));
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
