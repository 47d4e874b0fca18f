// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/gru_step.hpp"

#include <array>

#include "operation_plan.hpp"
#include "row_plan.hpp"
#include "streaming_default.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_g = abi::gru_step;

constexpr std::uint64_t kGruElementCost = 48;  // a sigmoid or a tanh, and a few more

ViewShape state_view(const GruStepDesc& desc) {
    return {{{"members", desc.members}, {"rows", desc.rows}, {"columns", desc.columns}}};
}
ViewShape gate_bias_view(const GruStepDesc& desc) {
    return row_vector_view(desc.gate_bias, desc.members, desc.columns);
}
ViewShape candidate_bias_view(const GruStepDesc& desc) {
    return row_vector_view(desc.candidate_bias, desc.members, desc.columns);
}

std::vector<Knob<GruStepConfig>> gru_step_knobs(const DeviceInfo& /*info*/, const GruStepDesc& /*desc*/) {
    return {{"workgroup_size", &GruStepConfig::workgroup_size, workgroup_sizes()},
            {"elements_per_invocation", &GruStepConfig::elements_per_invocation, {1, 2, 4, 8}}};
}

GruStepConfig gru_step_heuristic(const DeviceInfo& info, const GruStepDesc& desc) {
    const auto [workgroup, items] = streaming_default(info, row_count(desc.members, desc.rows) * desc.columns);
    return {.workgroup_size = workgroup, .elements_per_invocation = items};
}

Result<PipelinesOf<GruStepDesc>> build_gru_step(const Device& device, const GruStepDesc& desc) {
    const auto constants = [&](RowVector bias) {
        return std::array{
            SpecConstant{abi_g::kSpecWorkgroupSize, desc.config->workgroup_size},
            SpecConstant{abi_g::kSpecElementsPerInvocation, desc.config->elements_per_invocation},
            SpecConstant{abi_g::kSpecHasBias, bias != RowVector::None ? 1U : 0U},
        };
    };
    GruStepDesc::Pipelines made;
    YOLK_TRY(made.gate, device.pipeline(kernels::kGruStepGate, constants(desc.gate_bias)));
    YOLK_TRY(made.update, device.pipeline(kernels::kGruStepUpdate, constants(desc.candidate_bias)));
    return made;
}

Result<BindingsOf<GruStepDesc>> bind_gru_step(const Device& device, const GruStepDesc& desc,
                                              const PipelinesOf<GruStepDesc>& made, const GruStepViews& views,
                                              const BufferView& /*scratch*/) {
    // A bias that there is none of is not read, but a binding may not be empty.
    const BufferView& gate_bias = desc.gate_bias == RowVector::None ? views.gate_input : views.gate_bias;
    const BufferView& candidate_bias =
        desc.candidate_bias == RowVector::None ? views.candidate_input : views.candidate_bias;
    GruStepDesc::Bindings bound;
    YOLK_TRY(bound.gate, device.bind(made.gate, std::array{views.gate_input, gate_bias, views.state, views.gate,
                                                           views.gated_state}));
    YOLK_TRY(bound.update, device.bind(made.update, std::array{views.candidate_input, candidate_bias, views.state,
                                                               views.gate, views.next_state}));
    return bound;
}

void record_gru_step(Recorder& recorder, const BindingsOf<GruStepDesc>& bindings, const GruStepDesc& desc,
                     GruStepHalf half) noexcept {
    const bool is_gate = half == GruStepHalf::Gate;
    const std::uint64_t member_elements = std::uint64_t{desc.rows} * desc.columns;
    const std::uint64_t elements = member_elements * desc.members;
    recorder.dispatch(
        is_gate ? bindings.gate : bindings.update,
        {
            .element_count = static_cast<std::uint32_t>(elements),
            .columns = desc.columns,
            .member_elements = static_cast<std::uint32_t>(member_elements),
            .bias_stride = row_vector_stride(is_gate ? desc.gate_bias : desc.candidate_bias, desc.columns),
        },
        grid_of(elements, std::uint64_t{desc.config->workgroup_size} * desc.config->elements_per_invocation,
                kGruElementCost));
}

}  // namespace

template <>
const Operation<GruStepDesc>& operation_of<GruStepDesc>() {
    using Desc = GruStepDesc;
    using Views = GruStepViews;
    static const Operation<Desc> kOperation{
        .name = "gru_step",
        .fields = {"gru_step",
                   {extent<&Desc::members>("members").factor(), extent<&Desc::rows>("rows"),
                    extent<&Desc::columns>("columns"), variant<&Desc::gate_bias>("gate_bias"),
                    variant<&Desc::candidate_bias>("candidate_bias")}},
        .views = {{"gate_input", ViewRole::Input, &Views::gate_input, &state_view},
                  {"gate_bias", ViewRole::Input, &Views::gate_bias, &gate_bias_view},
                  {"candidate_input", ViewRole::Input, &Views::candidate_input, &state_view},
                  {"candidate_bias", ViewRole::Input, &Views::candidate_bias, &candidate_bias_view},
                  {"state", ViewRole::Input, &Views::state, &state_view},
                  {"gate", ViewRole::Output, &Views::gate, &state_view},
                  {"gated_state", ViewRole::Output, &Views::gated_state, &state_view},
                  {"next_state", ViewRole::Output, &Views::next_state, &state_view}},
        .knobs = &gru_step_knobs,
        .heuristic = &gru_step_heuristic,
        .build = &build_gru_step,
        .bind = &bind_gru_step,
        .record = &record_gru_step,
    };
    return kOperation;
}
template class Plan<GruStepDesc>;

}  // namespace yolk
