// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/perturbed_vector.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "plan_checks.hpp"
#include "tuned_plan.hpp"
#include "yolk/core/check.hpp"
#include "yolk/core/noise.hpp"
#include "yolk/core/shape.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {

namespace abi_pv = abi::perturbed_vector;

ConfigSpace<PerturbedVectorConfig> perturbed_vector_space(const DeviceInfo& /*info*/, const PerturbedVectorDesc& desc) {
    return {"perturbed_vector",
            {{"workgroup_size", &PerturbedVectorConfig::workgroup_size, workgroup_sizes()}},
            {},
            {.variant = fmt::format("f32{}", desc.frozen ? ", frozen" : without_pairs(desc.antithetic)),
             .extents = {desc.members, desc.element_count}}};
}

Result<PerturbedVectorPlan> plan_perturbed_vector(const Device& device, const PerturbedVectorDesc& desc) {
    YOLK_TRY_VOID(check_range(desc.parameter.value, 0, kMaxParameterId, "parameter of [perturbed_vector]"));
    if (!desc.config)
        return plan_tuned(device, desc, perturbed_vector_space(device.info(), desc), PerturbedVectorConfig{},
                          &plan_perturbed_vector);
    YOLK_TRY_VOID(perturbed_vector_space(device.info(), desc).check(*desc.config));
    PerturbedVectorPlan plan;
    plan.device_ = &device;
    plan.desc_ = desc;
    YOLK_TRY(plan.output_bytes_,
             checked_bytes({desc.members, desc.element_count}, kElementBytes, "the output view of [perturbed_vector]"));
    YOLK_TRY_VOID(check_binding_size(device, plan.output_bytes_, "the output view of [perturbed_vector]"));
    if (plan.output_bytes_ == 0) return plan;
    const std::array constants{SpecConstant{abi_pv::kSpecWorkgroupSize, desc.config->workgroup_size},
                               SpecConstant{abi_pv::kSpecFrozen, desc.frozen ? 1U : 0U},
                               SpecConstant{abi_pv::kSpecAntithetic, desc.antithetic ? 1U : 0U}};
    YOLK_TRY(plan.pipeline_, device.pipeline(kernels::kPerturbedVector, constants));
    return plan;
}

Result<BoundPerturbedVector> PerturbedVectorPlan::bind(const PerturbedVectorViews& views,
                                                       const BufferView& /*scratch*/) const {
    BoundPerturbedVector bound;
    bound.desc_ = desc_;
    if (output_bytes_ == 0) return bound;
    YOLK_TRY_VOID(
        check_views(*device_, "[perturbed_vector]",
                    {{.view = views.vector, .needed_bytes = kElementBytes * desc_.element_count, .name = "vector"}},
                    {{.view = views.output, .needed_bytes = output_bytes_, .name = "output"}}));
    YOLK_TRY(bound.binding_, device_->bind(pipeline_, std::array{views.vector, views.output}));
    return bound;
}

void BoundPerturbedVector::record(Recorder& recorder, const NoiseContext& when,
                                  std::int32_t first_member) const noexcept {
    YOLK_ASSERT(first_member >= -1);
    if (desc_.members == 0 || desc_.element_count == 0) return;
    const double scale = static_cast<double>(when.sigma) / std::sqrt(static_cast<double>(kNoiseVariance));
    const std::uint64_t pairs = pairs_drawn(desc_.members, first_member, desc_.antithetic);
    const ScopedLabel label(recorder, "perturbed_vector");
    recorder.dispatch(binding_,
                      {
                          .seed_low = static_cast<std::uint32_t>(when.seed),
                          .seed_high = static_cast<std::uint32_t>(when.seed >> 32U),
                          .stream = desc_.parameter.value | (static_cast<std::uint32_t>(Domain::Vector) << 24U),
                          .time = when.time,
                          .first_member = first_member,
                          .members = desc_.members,
                          .element_count = desc_.element_count,
                          .scale = exact::exact_flush_operand(static_cast<float>(scale)),
                      },
                      grid_of(pairs * ceil_div(desc_.element_count, kNoiseElementsPerBlock),
                              desc_.config->workgroup_size, kNoiseBlockCost));
}

}  // namespace yolk
