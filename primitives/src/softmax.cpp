// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/softmax.hpp"

#include <array>
#include <utility>

#include "plan_checks.hpp"
#include "row_plan.hpp"
#include "tuned_plan.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {

namespace {

namespace abi_s = abi::softmax;

constexpr std::uint64_t kSoftmaxCost = 48;  // two exponentials

}  // namespace

ConfigSpace<RowConfig> softmax_space(const DeviceInfo& /*info*/, const SoftmaxDesc& desc) {
    return row_space("softmax", {.variant = desc.logarithm ? "f32, logarithm" : "f32",
                                 .extents = {row_count(desc.members, desc.rows), desc.columns}});
}

Result<SoftmaxPlan> plan_softmax(const Device& device, const SoftmaxDesc& desc) {
    if (!desc.config)
        return plan_tuned(device, desc, softmax_space(device.info(), desc),
                          heuristic_row_config(device.info(), desc.columns), &plan_softmax);
    YOLK_TRY_VOID(softmax_space(device.info(), desc).check(*desc.config));
    SoftmaxPlan plan;
    plan.device_ = &device;
    plan.desc_ = desc;
    YOLK_TRY(plan.size_bytes_,
             binding_bytes(device, {desc.members, desc.rows, desc.columns}, "the in view of [softmax]"));
    if (plan.size_bytes_ == 0) return plan;
    YOLK_TRY_VOID(check_row_loops(device, "[softmax]", desc.columns, {.reductions = 2, .writes = 1}, *desc.config));
    const std::array constants{
        SpecConstant{abi_s::kSpecWorkgroupSize, row_workgroup_size(*desc.config)},
        SpecConstant{abi_s::kSpecLogarithm, desc.logarithm ? 1U : 0U},
    };
    const auto& kernel =
        desc.config->row_per_invocation != 0 ? kernels::kSoftmaxByInvocation : kernels::kSoftmaxByGroup;
    YOLK_TRY(plan.pipeline_, device.pipeline(kernel, constants));
    return plan;
}

Result<BoundSoftmax> SoftmaxPlan::bind(const SoftmaxViews& views, const BufferView& /*scratch*/) const {
    YOLK_TRY_VOID(check_views(*device_, "[softmax]", {{.view = views.in, .needed_bytes = size_bytes_, .name = "in"}},
                              {{.view = views.out, .needed_bytes = size_bytes_, .name = "out"}}));
    BoundSoftmax bound;
    bound.desc_ = desc_;
    if (size_bytes_ == 0) return bound;
    YOLK_TRY(bound.binding_, device_->bind(pipeline_, std::array{views.in, views.out}));
    return bound;
}

void BoundSoftmax::record(Recorder& recorder) const noexcept {
    const std::uint64_t rows = std::uint64_t{desc_.members} * desc_.rows;
    if (rows == 0 || desc_.columns == 0) return;
    const ScopedLabel label(recorder, "softmax");
    recorder.dispatch(binding_, {.row_count = static_cast<std::uint32_t>(rows), .columns = desc_.columns},
                      row_grid(rows, desc_.columns, kSoftmaxCost, *desc_.config));
}

}  // namespace yolk
