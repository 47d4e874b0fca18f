// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/expected_improvement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plan_checks.hpp"
#include "tuned_plan.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {

namespace {

namespace abi_ei = abi::expected_improvement;

constexpr std::uint64_t kGainCost = 128;  // an exponential, a root and two reciprocals

}  // namespace

ConfigSpace<ExpectedImprovementConfig> expected_improvement_space(const DeviceInfo& /*info*/,
                                                                  const ExpectedImprovementDesc& desc) {
    return {"expected_improvement",
            {{"workgroup_size", &ExpectedImprovementConfig::workgroup_size, workgroup_sizes()}},
            [](const ExpectedImprovementConfig&) -> Result<void> { return {}; },
            {.variant = "f32", .extents = {desc.count, desc.steps}}};
}

Result<ExpectedImprovementPlan> plan_expected_improvement(const Device& device, const ExpectedImprovementDesc& desc) {
    if (!desc.config)
        return plan_tuned(device, desc, expected_improvement_space(device.info(), desc), ExpectedImprovementConfig{},
                          &plan_expected_improvement);
    YOLK_TRY_VOID(expected_improvement_space(device.info(), desc).check(*desc.config));
    if (desc.stride < desc.count) {
        return bad_input(
            fmt::format("stride of [expected_improvement] is {}, below its {} candidates; it is at least as many.",
                        desc.stride, desc.count));
    }
    ExpectedImprovementPlan plan;
    plan.device_ = &device;
    plan.desc_ = desc;
    if (desc.count == 0) return plan;
    YOLK_TRY(plan.score_bytes_,
             checked_bytes({2, desc.stride}, sizeof(float), "the scores view of [expected_improvement]"));
    YOLK_TRY(plan.step_bytes_,
             checked_bytes({desc.steps, desc.stride}, sizeof(float), "the left view of [expected_improvement]"));
    YOLK_TRY_VOID(check_binding_size(device, plan.score_bytes_, "the scores view of [expected_improvement]"));
    YOLK_TRY_VOID(check_binding_size(device, plan.step_bytes_, "the left view of [expected_improvement]"));
    YOLK_TRY(const std::uint64_t budget, loop_budget(device));
    if (desc.steps > budget) {
        return unsupported(
            fmt::format("{} steps of [expected_improvement] are more than the {} that loops of this "
                        "device may make; take fewer at a time.",
                        desc.steps, budget));
    }
    const std::array constants{SpecConstant{abi_ei::kSpecWorkgroupSize, desc.config->workgroup_size}};
    YOLK_TRY(plan.pipeline_, device.pipeline(kernels::kExpectedImprovement, constants));
    return plan;
}

Result<BoundExpectedImprovement> ExpectedImprovementPlan::bind(const ExpectedImprovementViews& views,
                                                               const BufferView& /*scratch*/) const {
    const std::uint64_t vector_bytes = sizeof(float) * std::uint64_t{desc_.count};
    YOLK_TRY_VOID(check_views(*device_, "[expected_improvement]",
                              {{.view = views.scores, .needed_bytes = score_bytes_, .name = "scores"},
                               {.view = views.left, .needed_bytes = step_bytes_, .name = "left"},
                               {.view = views.right, .needed_bytes = step_bytes_, .name = "right"},
                               {.view = views.prior, .needed_bytes = vector_bytes, .name = "prior"}},
                              {{.view = views.variances, .needed_bytes = vector_bytes, .name = "variances"},
                               {.view = views.out, .needed_bytes = vector_bytes, .name = "out"}}));
    BoundExpectedImprovement bound;
    bound.desc_ = desc_;
    if (desc_.count == 0) return bound;
    // A binding may not be empty; without steps nothing is read there.
    const BufferView left = desc_.steps == 0 ? views.scores : views.left;
    const BufferView right = desc_.steps == 0 ? views.scores : views.right;
    YOLK_TRY(bound.binding_,
             device_->bind(pipeline_, std::array{views.scores, left, right, views.prior, views.variances, views.out}));
    return bound;
}

void BoundExpectedImprovement::record(Recorder& recorder, const ExpectedImprovementValues& values) const noexcept {
    if (desc_.count == 0) return;
    const ScopedLabel label(recorder, "expected_improvement");
    const std::uint32_t steps = std::min(values.steps, desc_.steps);
    recorder.dispatch(binding_,
                      {.count = desc_.count,
                       .stride = desc_.stride,
                       .steps = steps,
                       .level = values.level,
                       .best = values.best,
                       .deviation = values.deviation,
                       .mean_slack = values.mean_slack,
                       .variance_slack = values.variance_slack,
                       .stretch = values.stretch},
                      grid_of(desc_.count, desc_.config->workgroup_size, kGainCost + steps));
}

}  // namespace yolk
