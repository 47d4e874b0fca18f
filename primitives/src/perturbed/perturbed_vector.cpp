// SPDX-License-Identifier: Apache-2.0
#include "yolk/perturbed_vector.hpp"

#include <array>
#include <cmath>

#include "operation_plan.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/internal/core/check.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_pv = abi::perturbed_vector;

Result<void> check_perturbed_vector(const PerturbedVectorDesc& desc) {
    return check_range(desc.parameter.value, 0, kMaxParameterId, "parameter of [perturbed_vector]");
}

ViewShape vector_view(const PerturbedVectorDesc& desc) { return {{{"elements", desc.element_count}}}; }
ViewShape output_view(const PerturbedVectorDesc& desc) {
    return {{{"members", desc.members}, {"elements", desc.element_count}}};
}

std::vector<Knob<PerturbedVectorConfig>> perturbed_vector_knobs(const DeviceInfo& /*info*/,
                                                                const PerturbedVectorDesc& /*desc*/) {
    return {{"workgroup_size", &PerturbedVectorConfig::workgroup_size, workgroup_sizes()}};
}

// A frozen vector draws nothing.
PerturbedVectorDesc canonical_perturbed_vector(PerturbedVectorDesc desc) {
    if (desc.frozen) desc.antithetic = PerturbedVectorDesc{}.antithetic;
    return desc;
}

PerturbedVectorConfig perturbed_vector_heuristic(const DeviceInfo& /*info*/, const PerturbedVectorDesc& /*desc*/) {
    return {};
}

Result<PipelinesOf<PerturbedVectorDesc>> build_perturbed_vector(const Device& device, const PerturbedVectorDesc& desc) {
    const std::array constants{SpecConstant{abi_pv::kSpecWorkgroupSize, desc.config->workgroup_size},
                               SpecConstant{abi_pv::kSpecFrozen, desc.frozen ? 1U : 0U},
                               SpecConstant{abi_pv::kSpecAntithetic, desc.antithetic ? 1U : 0U}};
    return device.pipeline(kernels::kPerturbedVector, constants);
}

void record_perturbed_vector(Recorder& recorder, const BindingsOf<PerturbedVectorDesc>& binding,
                             const PerturbedVectorDesc& desc, const NoiseContext& when,
                             OrDefault<std::int32_t> first_member) noexcept {
    YOLK_ASSERT(first_member.value >= -1);
    const double scale = static_cast<double>(when.sigma) / std::sqrt(static_cast<double>(kNoiseVariance));
    const std::uint64_t pairs = pairs_drawn(desc.members, first_member.value, desc.antithetic);
    recorder.dispatch(binding,
                      {
                          .seed_low = static_cast<std::uint32_t>(when.seed),
                          .seed_high = static_cast<std::uint32_t>(when.seed >> 32U),
                          .stream = desc.parameter.value | (static_cast<std::uint32_t>(Domain::Vector) << 24U),
                          .time = when.time,
                          .first_member = first_member.value,
                          .members = desc.members,
                          .element_count = desc.element_count,
                          .scale = exact::exact_flush_operand(static_cast<float>(scale)),
                      },
                      grid_of(pairs * ceil_div(desc.element_count, kNoiseElementsPerBlock), desc.config->workgroup_size,
                              kNoiseBlockCost));
}

}  // namespace

template <>
const Operation<PerturbedVectorDesc>& operation_of<PerturbedVectorDesc>() {
    using Desc = PerturbedVectorDesc;
    using Views = PerturbedVectorViews;
    static const Operation<Desc> kOperation{
        .name = "perturbed_vector",
        .fields = {"perturbed_vector",
                   {extent<&Desc::members>("members"), extent<&Desc::element_count>("elements"),
                    variant<&Desc::frozen>("frozen"), variant<&Desc::antithetic>("pairs")}},
        .views = {{"vector", ViewRole::Input, &Views::vector, &vector_view},
                  {"output", ViewRole::Output, &Views::output, &output_view}},
        .knobs = &perturbed_vector_knobs,
        .canonical = &canonical_perturbed_vector,
        .heuristic = &perturbed_vector_heuristic,
        .check = &check_perturbed_vector,
        .build = &build_perturbed_vector,
        .record = &record_perturbed_vector,
    };
    return kOperation;
}
template class Plan<PerturbedVectorDesc>;

}  // namespace yolk
