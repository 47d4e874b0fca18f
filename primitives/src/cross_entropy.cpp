// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/cross_entropy.hpp"

#include <array>
#include <utility>

#include "plan_checks.hpp"
#include "row_plan.hpp"
#include "tuned_plan.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {

namespace {

namespace abi_ce = abi::cross_entropy;

constexpr std::uint64_t kCrossEntropyCost = 28;  // an exponential
constexpr std::uint64_t kStatusBytes = 4;

}  // namespace

ConfigSpace<RowConfig> cross_entropy_space(const DeviceInfo& /*info*/, const CrossEntropyDesc& desc) {
    return row_space("cross_entropy", {.variant = desc.shared_targets ? "f32, shared targets" : "f32",
                                       .extents = {row_count(desc.members, desc.rows), desc.columns}});
}

Result<CrossEntropyPlan> plan_cross_entropy(const Device& device, const CrossEntropyDesc& desc) {
    if (!desc.config)
        return plan_tuned(device, desc, cross_entropy_space(device.info(), desc),
                          heuristic_row_config(device.info(), desc.columns), &plan_cross_entropy);
    YOLK_TRY_VOID(cross_entropy_space(device.info(), desc).check(*desc.config));
    YOLK_TRY_VOID(check_range(desc.columns, 1, UINT32_MAX, "columns of [cross_entropy]"));
    CrossEntropyPlan plan;
    plan.device_ = &device;
    plan.desc_ = desc;
    YOLK_TRY(plan.logits_bytes_,
             binding_bytes(device, {desc.members, desc.rows, desc.columns}, "the logits view of [cross_entropy]"));
    if (plan.logits_bytes_ == 0) return plan;
    plan.losses_bytes_ = plan.logits_bytes_ / desc.columns;
    plan.targets_bytes_ = desc.shared_targets ? plan.losses_bytes_ / desc.members : plan.losses_bytes_;
    YOLK_TRY_VOID(check_row_loops(device, "[cross_entropy]", desc.columns, {.reductions = 2}, *desc.config));
    const std::array constants{SpecConstant{abi_ce::kSpecWorkgroupSize, row_workgroup_size(*desc.config)}};
    const auto& kernel =
        desc.config->row_per_invocation != 0 ? kernels::kCrossEntropyByInvocation : kernels::kCrossEntropyByGroup;
    YOLK_TRY(plan.pipeline_, device.pipeline(kernel, constants));
    return plan;
}

Result<BoundCrossEntropy> CrossEntropyPlan::bind(const CrossEntropyViews& views, const BufferView& /*scratch*/) const {
    YOLK_TRY_VOID(check_views(*device_, "[cross_entropy]",
                              {{.view = views.logits, .needed_bytes = logits_bytes_, .name = "logits"},
                               {.view = views.targets, .needed_bytes = targets_bytes_, .name = "targets"}},
                              {{.view = views.losses, .needed_bytes = losses_bytes_, .name = "losses"},
                               {.view = views.status, .needed_bytes = kStatusBytes, .name = "status"}}));
    BoundCrossEntropy bound;
    bound.desc_ = desc_;
    if (logits_bytes_ == 0) return bound;
    YOLK_TRY(bound.binding_,
             device_->bind(pipeline_, std::array{views.logits, views.targets, views.losses, views.status}));
    return bound;
}

void BoundCrossEntropy::record(Recorder& recorder) const noexcept {
    const std::uint64_t rows = std::uint64_t{desc_.members} * desc_.rows;
    if (rows == 0) return;
    const ScopedLabel label(recorder, "cross_entropy");
    recorder.dispatch(binding_,
                      {
                          .row_count = static_cast<std::uint32_t>(rows),
                          .columns = desc_.columns,
                          .target_count = desc_.shared_targets ? desc_.rows : static_cast<std::uint32_t>(rows),
                      },
                      row_grid(rows, desc_.columns, kCrossEntropyCost, *desc_.config));
}

}  // namespace yolk
