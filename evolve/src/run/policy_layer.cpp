// SPDX-License-Identifier: Apache-2.0
#include "policy_layer.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace yolk::evolve {

Result<Buffer> PolicyParts::buffer(std::uint64_t columns, MemoryDomain domain, const char* label) const {
    return device.create_buffer(
        {.size_bytes = std::uint64_t{4} * desc.members * columns, .domain = domain, .label = label});
}

Result<BoundElementwise> PolicyParts::each(std::vector<ElementwiseStep> steps, std::uint32_t columns,
                                           std::span<const BufferView> inputs, const BufferView& out) const {
    YOLK_TRY(const ElementwisePlan plan,
             plan_elementwise(device, {.extents = {desc.members, columns},
                                       .inputs = std::vector<std::uint32_t>(inputs.size(), 3),
                                       .steps = std::move(steps)}));
    return plan.bind({.inputs = inputs, .out = out});
}

Result<void> PolicyLayer::make(const PolicyParts& parts, std::uint32_t matrix, const BufferView& input,
                               std::optional<ElementwiseOperation> activation) {
    const ParameterDesc& weight = parts.table.parameters()[matrix];
    const std::uint64_t out = weight.rows, weights = out * weight.columns;
    const auto shared = [&](std::uint64_t count, const char* label) {
        return parts.device.create_buffer({.size_bytes = 4 * count, .label = label});
    };
    YOLK_TRY(weights_, shared(weights, "weights of the policies"));
    YOLK_TRY(bias_, shared(out, "bias of the policies"));
    YOLK_TRY(member_bias_, parts.buffer(out, MemoryDomain::Device, "biases of the members"));
    YOLK_TRY(result_, parts.buffer(out, MemoryDomain::Device, "a layer of the policies"));
    from_weights_ = parts.parameters.part(std::uint64_t{4} * parts.table.offset(ParameterId{matrix}), 4 * weights);
    from_bias_ = parts.parameters.part(std::uint64_t{4} * parts.table.offset(ParameterId{matrix + 1}), 4 * out);
    frozen_ = weight.perturbation == Perturbation::Frozen;
    return bind(parts, matrix, input, activation);
}

Result<void> PolicyLayer::bind(const PolicyParts& parts, std::uint32_t matrix, const BufferView& input,
                               std::optional<ElementwiseOperation> activation) {
    const MemberPoliciesDesc& desc = parts.desc;
    const ParameterDesc& weight = parts.table.parameters()[matrix];
    const ParameterDesc& bias = parts.table.parameters()[matrix + 1];
    YOLK_TRY(const PerturbedLinearPlan multiply,
             plan_perturbed_linear(parts.device, {.members = desc.members,
                                                  .rows = 1,
                                                  .in = weight.columns,
                                                  .out = weight.rows,
                                                  .rank = rank_of(weight, desc.rank),
                                                  .parameter = ParameterId{matrix},
                                                  .antithetic = desc.antithetic,
                                                  .determinism = desc.determinism}));
    YOLK_TRY(const PerturbedVectorPlan perturb,
             plan_perturbed_vector(parts.device, {.members = desc.members,
                                                  .element_count = weight.rows,
                                                  .parameter = ParameterId{matrix + 1},
                                                  .frozen = bias.perturbation == Perturbation::Frozen,
                                                  .antithetic = desc.antithetic}));
    const std::uint64_t scratch_bytes = std::max<std::uint64_t>(multiply.scratch().size_bytes, 4);
    YOLK_TRY(scratch_, parts.device.create_buffer({.size_bytes = scratch_bytes, .label = "scratch of the policies"}));
    YOLK_TRY(perturb_, perturb.bind({.vector = bias_, .output = member_bias_}));
    YOLK_TRY(multiply_, multiply.bind({.weights = weights_, .input = input, .output = result_}, scratch_));
    std::vector<ElementwiseStep> steps{{ElementwiseOperation::Add, {0, 1}}};
    if (activation) steps.push_back({*activation, {2}});
    YOLK_TRY(add_,
             parts.each(std::move(steps), weight.rows, std::array<BufferView, 2>{result_, member_bias_}, result_));
    return {};
}

void PolicyLayer::copy(Recorder& recorder) const {
    recorder.copy(from_weights_, weights_);
    recorder.copy(from_bias_, bias_);
}

void PolicyLayer::perturb(Recorder& recorder, const NoiseContext& when, std::int32_t first_member) const {
    perturb_->record(recorder, when, first_member);
}

void PolicyLayer::record(Recorder& recorder, const NoiseContext& when, std::int32_t first_member) const {
    NoiseContext own = when;
    if (frozen_) own.sigma = 0.0F;
    multiply_->record(recorder, own, first_member);
    recorder.barrier(Barrier::ComputeToCompute);
    add_->record(recorder);
    recorder.barrier(Barrier::ComputeToCompute);
}

}  // namespace yolk::evolve
