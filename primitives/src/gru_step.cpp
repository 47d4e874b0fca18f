// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/gru_step.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "plan_checks.hpp"
#include "row_plan.hpp"
#include "streaming_default.hpp"
#include "tuned_plan.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {

namespace {

namespace abi_g = abi::gru_step;

constexpr std::uint64_t kGruElementCost = 48;  // a sigmoid or a tanh, and a few more

}  // namespace

ConfigSpace<GruStepConfig> gru_step_space(const DeviceInfo& /*info*/, const GruStepDesc& desc) {
    return {"gru_step",
            {{"workgroup_size", &GruStepConfig::workgroup_size, workgroup_sizes()},
             {"elements_per_invocation", &GruStepConfig::elements_per_invocation, {1, 2, 4, 8}}},
            {},
            {.variant = fmt::format("f32, gate bias {}, candidate bias {}", static_cast<std::uint32_t>(desc.gate_bias),
                                    static_cast<std::uint32_t>(desc.candidate_bias)),
             .extents = {row_count(desc.members, desc.rows), desc.columns}}};
}

GruStepConfig default_gru_step_config(const DeviceInfo& info, const GruStepDesc& desc) {
    const auto [workgroup, items] = streaming_default(info, row_count(desc.members, desc.rows) * desc.columns);
    return {.workgroup_size = workgroup, .elements_per_invocation = items};
}

Result<GruStepPlan> plan_gru_step(const Device& device, const GruStepDesc& desc) {
    if (!desc.config)
        return plan_tuned(device, desc, gru_step_space(device.info(), desc),
                          default_gru_step_config(device.info(), desc), &plan_gru_step);
    YOLK_TRY_VOID(gru_step_space(device.info(), desc).check(*desc.config));
    YOLK_TRY_VOID(check_row_vector(desc.gate_bias, "the kind of gate_bias of [gru_step]"));
    YOLK_TRY_VOID(check_row_vector(desc.candidate_bias, "the kind of candidate_bias of [gru_step]"));
    GruStepPlan plan;
    plan.device_ = &device;
    plan.desc_ = desc;
    YOLK_TRY(plan.size_bytes_,
             binding_bytes(device, {desc.members, desc.rows, desc.columns}, "the state view of [gru_step]"));
    if (plan.size_bytes_ == 0) return plan;
    const auto constants = [&](RowVector bias) {
        return std::array{
            SpecConstant{abi_g::kSpecWorkgroupSize, desc.config->workgroup_size},
            SpecConstant{abi_g::kSpecElementsPerInvocation, desc.config->elements_per_invocation},
            SpecConstant{abi_g::kSpecHasBias, bias != RowVector::None ? 1U : 0U},
        };
    };
    YOLK_TRY(plan.gate_, device.pipeline(kernels::kGruStepGate, constants(desc.gate_bias)));
    YOLK_TRY(plan.update_, device.pipeline(kernels::kGruStepUpdate, constants(desc.candidate_bias)));
    return plan;
}

Result<BoundGruStep> GruStepPlan::bind(const GruStepViews& views, const BufferView& /*scratch*/) const {
    const auto bias_bytes = [&](RowVector bias) {
        return size_bytes_ == 0 ? 0 : row_vector_bytes(bias, desc_.members, desc_.columns);
    };
    YOLK_TRY_VOID(check_views(
        *device_, "[gru_step]",
        {{.view = views.gate_input, .needed_bytes = size_bytes_, .name = "gate_input"},
         {.view = views.gate_bias, .needed_bytes = bias_bytes(desc_.gate_bias), .name = "gate_bias"},
         {.view = views.candidate_input, .needed_bytes = size_bytes_, .name = "candidate_input"},
         {.view = views.candidate_bias, .needed_bytes = bias_bytes(desc_.candidate_bias), .name = "candidate_bias"},
         {.view = views.state, .needed_bytes = size_bytes_, .name = "state"}},
        {{.view = views.gate, .needed_bytes = size_bytes_, .name = "gate"},
         {.view = views.gated_state, .needed_bytes = size_bytes_, .name = "gated_state"},
         {.view = views.next_state, .needed_bytes = size_bytes_, .name = "next_state"}}));
    BoundGruStep bound;
    bound.desc_ = desc_;
    if (size_bytes_ == 0) return bound;
    // A bias that there is none of is not read, but a binding may not be empty.
    const bool has_gate_bias = desc_.gate_bias != RowVector::None;
    const bool has_candidate_bias = desc_.candidate_bias != RowVector::None;
    YOLK_TRY(bound.gate_,
             device_->bind(gate_, std::array{views.gate_input, has_gate_bias ? views.gate_bias : views.gate_input,
                                             views.state, views.gate, views.gated_state}));
    YOLK_TRY(bound.update_,
             device_->bind(update_, std::array{views.candidate_input,
                                               has_candidate_bias ? views.candidate_bias : views.candidate_input,
                                               views.state, views.gate, views.next_state}));
    return bound;
}

void BoundGruStep::record(Recorder& recorder, const BindingOf<abi_g::Params>& binding, RowVector bias) const noexcept {
    const std::uint64_t member_elements = std::uint64_t{desc_.rows} * desc_.columns;
    const std::uint64_t elements = member_elements * desc_.members;
    if (elements == 0) return;
    recorder.dispatch(
        binding,
        {
            .element_count = static_cast<std::uint32_t>(elements),
            .columns = desc_.columns,
            .member_elements = static_cast<std::uint32_t>(member_elements),
            .bias_stride = row_vector_stride(bias, desc_.columns),
        },
        grid_of(elements, std::uint64_t{desc_.config->workgroup_size} * desc_.config->elements_per_invocation,
                kGruElementCost));
}

void BoundGruStep::record_gate(Recorder& recorder) const noexcept {
    const ScopedLabel label(recorder, "gru_step_gate");
    record(recorder, gate_, desc_.gate_bias);
}

void BoundGruStep::record_update(Recorder& recorder) const noexcept {
    const ScopedLabel label(recorder, "gru_step_update");
    record(recorder, update_, desc_.candidate_bias);
}

}  // namespace yolk
