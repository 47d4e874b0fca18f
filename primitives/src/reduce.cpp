// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/reduce.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "plan_checks.hpp"
#include "row_plan.hpp"
#include "tuned_plan.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {

namespace {

namespace abi_r = abi::reduce;

std::uint64_t passes_of(ReduceOperation operation) noexcept { return operation == ReduceOperation::Argmax ? 2 : 1; }

}  // namespace

ConfigSpace<RowConfig> reduce_space(const DeviceInfo& /*info*/, const ReduceDesc& desc) {
    return row_space("reduce", {.variant = fmt::format("f32, operation {}", static_cast<std::uint32_t>(desc.operation)),
                                .extents = {row_count(desc.outer, desc.inner), desc.columns}});
}

Result<ReducePlan> plan_reduce(const Device& device, const ReduceDesc& desc) {
    if (!desc.config)
        return plan_tuned(device, desc, reduce_space(device.info(), desc),
                          heuristic_row_config(device.info(), desc.columns), &plan_reduce);
    YOLK_TRY_VOID(reduce_space(device.info(), desc).check(*desc.config));
    YOLK_TRY_VOID(check_range(static_cast<std::uint32_t>(desc.operation), 0, abi_r::kOperationCount - 1,
                              "the operation of [reduce]"));
    YOLK_TRY_VOID(check_range(desc.columns, 1, UINT32_MAX, "columns of [reduce]"));
    ReducePlan plan;
    plan.device_ = &device;
    plan.desc_ = desc;
    YOLK_TRY(plan.in_bytes_, binding_bytes(device, {desc.outer, desc.columns, desc.inner}, "the in view of [reduce]"));
    YOLK_TRY(plan.out_bytes_, binding_bytes(device, {desc.outer, desc.inner}, "the out view of [reduce]"));
    if (plan.out_bytes_ == 0) return plan;
    YOLK_TRY_VOID(
        check_row_loops(device, "[reduce]", desc.columns, {.reductions = passes_of(desc.operation)}, *desc.config));
    const std::array constants{
        SpecConstant{abi_r::kSpecWorkgroupSize, row_workgroup_size(*desc.config)},
        SpecConstant{abi_r::kSpecOperation, static_cast<std::uint32_t>(desc.operation)},
    };
    const auto& kernel = desc.config->row_per_invocation != 0 ? kernels::kReduceByInvocation : kernels::kReduceByGroup;
    YOLK_TRY(plan.pipeline_, device.pipeline(kernel, constants));
    return plan;
}

Result<BoundReduce> ReducePlan::bind(const ReduceViews& views, const BufferView& /*scratch*/) const {
    YOLK_TRY_VOID(check_views(*device_, "[reduce]", {{.view = views.in, .needed_bytes = in_bytes_, .name = "in"}},
                              {{.view = views.out, .needed_bytes = out_bytes_, .name = "out"}}));
    BoundReduce bound;
    bound.desc_ = desc_;
    if (out_bytes_ == 0) return bound;
    YOLK_TRY(bound.binding_, device_->bind(pipeline_, std::array{views.in, views.out}));
    return bound;
}

void BoundReduce::record(Recorder& recorder) const noexcept {
    const std::uint64_t rows = std::uint64_t{desc_.outer} * desc_.inner;
    if (rows == 0) return;
    const bool is_mean = desc_.operation == ReduceOperation::Mean;
    const ScopedLabel label(recorder, "reduce");
    recorder.dispatch(binding_,
                      {
                          .row_count = static_cast<std::uint32_t>(rows),
                          .columns = desc_.columns,
                          .inner = desc_.inner,
                          .factor = is_mean ? 1.0F / static_cast<float>(desc_.columns) : 1.0F,
                      },
                      row_grid(rows, desc_.columns, passes_of(desc_.operation), *desc_.config));
}

}  // namespace yolk
