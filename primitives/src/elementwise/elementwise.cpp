// SPDX-License-Identifier: Apache-2.0
#include "yolk/elementwise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "element_fields.hpp"
#include "operation_plan.hpp"
#include "program_modules.hpp"
#include "space_layout.hpp"
#include "streaming_default.hpp"
#include "yolk/internal/shaders/catalogue.hpp"
#include "yolk/internal/shaders/element_module.hpp"

namespace yolk {
namespace {

namespace abi_ew = abi::elementwise;

/// Programs that cost no more are written out for each of four elements.
constexpr std::uint64_t kMostUnrolledCost = 128;

SpaceLayout layout_of(const ElementwiseDesc& desc) { return space_layout(desc.extents, desc.inputs); }

ElementCode code_of(const ElementwiseDesc& desc) {
    const SpaceLayout layout = layout_of(desc);
    ElementCode code;
    for (const DimensionRun& run : layout.runs) code.runs.push_back(layout.code_of(run));
    for (std::size_t i = 0; i < desc.inputs.size(); ++i)
        code.inputs.push_back({.runs = layout.inputs[i], .is_repeated = layout.is_repeated[i]});
    for (const ElementwiseStep& step : desc.steps)
        code.steps.push_back({std::string(word_of(step.operation)), step.operands});
    code.numbers = static_cast<std::uint32_t>(desc.numbers.size());
    return code;
}

Result<void> check_step(const ElementwiseDesc& desc, std::size_t at) {
    const ElementwiseStep& step = desc.steps[at];
    if (step.operands.size() != operand_count(step.operation))
        return bad_input("Step {} of [elementwise] has {} operands; {} takes {}.", at, step.operands.size(),
                         word_of(step.operation), operand_count(step.operation));
    for (const std::uint32_t operand : step.operands) {
        if (operand >= desc.inputs.size() + desc.numbers.size() + at)
            return bad_input(
                "Step {} of [elementwise] takes value {}; the {} inputs, the {} numbers and the steps before it are "
                "allowed.",
                at, operand, desc.inputs.size(), desc.numbers.size());
    }
    return {};
}

Result<void> check_elementwise(const ElementwiseDesc& desc) {
    if (desc.extents.empty() || desc.extents.size() > kMostProgramDimensions)
        return bad_input("[elementwise] was given {} dimensions; 1 to {} are allowed.", desc.extents.size(),
                         kMostProgramDimensions);
    if (desc.inputs.empty() || desc.inputs.size() > kMostProgramInputs)
        return bad_input("[elementwise] was given {} inputs; 1 to {} are allowed.", desc.inputs.size(),
                         kMostProgramInputs);
    for (const std::uint32_t input : desc.inputs) {
        if (input >> desc.extents.size() != 0)
            return bad_input("An input of [elementwise] has the dimensions {:#x}, of {}.", input, desc.extents.size());
    }
    if (desc.numbers.size() > abi_ew::kMostNumbers)
        return bad_input("[elementwise] was given {} numbers; 0 to {} are allowed.", desc.numbers.size(),
                         abi_ew::kMostNumbers);
    if (desc.steps.empty() || desc.steps.size() > kMostProgramSteps)
        return bad_input("[elementwise] was given {} steps; 1 to {} are allowed.", desc.steps.size(),
                         kMostProgramSteps);
    for (std::size_t at = 0; at < desc.steps.size(); ++at) YOLK_TRY_VOID(check_step(desc, at));
    if (has_few_runs(desc)) return {};
    return bad_input("The inputs of [elementwise] lie in {} different ways; {} are allowed.",
                     layout_of(desc).runs.size(), abi_ew::kMostRuns);
}

std::vector<ViewShape> input_views(const ElementwiseDesc& desc) {
    return program_input_views(desc.extents, desc.inputs);
}
ViewShape program_out_view(const ElementwiseDesc& desc) {
    ViewShape shape{.extents = {}, .dtype = DType::U32};
    for (const std::uint32_t extent : desc.extents) shape.extents.push_back({"extent", extent});
    return shape;
}

std::uint64_t elements_of_program(const ElementwiseDesc& desc) {
    std::uint64_t count = 1;
    for (const std::uint32_t extent : desc.extents) count *= extent;  // fits, as views are checked
    return count;
}

bool is_empty_program(const ElementwiseDesc& desc) { return std::ranges::find(desc.extents, 0U) != desc.extents.end(); }

std::vector<Knob<ElementwiseConfig>> program_knobs(const DeviceInfo& /*info*/, const ElementwiseDesc& /*desc*/) {
    return {{"workgroup_size", &ElementwiseConfig::workgroup_size, workgroup_sizes()},
            {"loads_per_invocation", &ElementwiseConfig::loads_per_invocation, {1, 2, 4, 8}},
            {"elements_per_load", &ElementwiseConfig::elements_per_load, {1, kQuad}},
            {"texel_inputs", &ElementwiseConfig::texel_inputs, {0, 1}}};
}

bool may_take_quads(const ElementwiseDesc& desc) { return layout_of(desc).extents.back() % kQuad == 0; }

/// The texels that the largest input takes. A repeated input has one word in each texel.
std::uint64_t most_texels(const ElementwiseDesc& desc, std::uint32_t width) {
    const std::vector<bool> is_repeated = layout_of(desc).is_repeated;
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < desc.inputs.size(); ++i)
        most = std::max(most, input_elements(desc.extents, desc.inputs[i]) / (is_repeated[i] ? 1 : width));
    return most;
}

Result<void> legal_program(const DeviceInfo& info, const ElementwiseDesc& desc, const ElementwiseConfig& config) {
    if (config.elements_per_load != 1 && !may_take_quads(desc)) {
        return bad_input(
            "elements_per_load of [elementwise] is 4, but the dimensions that its inputs do not tell apart end in "
            "one of {}; use 1, or a multiple of 4.",
            layout_of(desc).extents.back());
    }
    const std::uint64_t most = config.texel_inputs == 0 ? 0 : most_texels(desc, config.elements_per_load);
    if (most <= info.limits.max_texel_buffer_elements) return {};
    return bad_input(
        "texel_inputs of [elementwise] is 1; an input takes {} texels, and a buffer of this device has {}.", most,
        info.limits.max_texel_buffer_elements);
}

/// The workgroup's size does not follow the number of elements, so that one pipeline serves all.
ElementwiseConfig program_heuristic(const DeviceInfo& info, const ElementwiseDesc& desc) {
    constexpr std::uint64_t kMany = 1U << 14U;
    const std::uint32_t width = may_take_quads(desc) ? kQuad : 1;
    if (info.kind != DeviceKind::Cpu) return {.elements_per_load = width};
    const bool are_many = elements_of_program(desc) / width >= kMany;
    const bool fit = streams_texels(info) && most_texels(desc, width) <= info.limits.max_texel_buffer_elements;
    return {.workgroup_size = 128,
            .loads_per_invocation = are_many ? 8U : 1U,
            .elements_per_load = width,
            .texel_inputs = fit ? 1U : 0U};
}

/// Of an element.
std::uint64_t cost_of_steps(const ElementwiseDesc& desc) {
    std::uint64_t cost = 0;
    for (const ElementwiseStep& step : desc.steps) cost += cost_of(step.operation);
    return cost;
}

Result<PipelinesOf<ElementwiseDesc>> build_program(const Device& device, const ElementwiseDesc& desc) {
    const bool are_quads = desc.config->elements_per_load == kQuad, are_texels = desc.config->texel_inputs != 0;
    Kernel<abi_ew::Params> kernel = are_quads
                                        ? (are_texels ? kernels::kElementwiseQuadsTexel : kernels::kElementwiseQuads)
                                        : (are_texels ? kernels::kElementwiseTexel : kernels::kElementwise);
    ElementCode code = code_of(desc);
    // lavapipe, which reads texels, gains nothing from steps that are written out: .9 to 1.2 of the time of a loop.
    code.is_unrolled = are_quads && !are_texels && cost_of_steps(desc) <= kMostUnrolledCost;
    YOLK_TRY(const ProgramModule spirv, (ProgramModules<ElementCode, make_element_module>::get(kernel, code)));
    kernel.spirv = *spirv;
    kernel.binding_count = static_cast<std::uint32_t>(desc.inputs.size()) + 1;
    kernel.texel_mask = kernel.texel4_mask = 0;
    for (std::size_t i = 0; are_texels && i < code.inputs.size(); ++i)
        (are_quads && !code.inputs[i].is_repeated ? kernel.texel4_mask : kernel.texel_mask) |= 1U << i;
    return device.pipeline(kernel, std::array{SpecConstant{abi_ew::kSpecWorkgroupSize, desc.config->workgroup_size}});
}

Result<BindingsOf<ElementwiseDesc>> bind_program(const Device& device, const ElementwiseDesc& desc,
                                                 const PipelinesOf<ElementwiseDesc>& pipeline,
                                                 const ElementwiseViews& views, const BufferView& /*scratch*/) {
    constexpr std::uint64_t kLoadCost = 8;
    const std::uint64_t cost = kLoadCost * (desc.inputs.size() + 1) + cost_of_steps(desc);
    const ElementwiseConfig& config = *desc.config;
    std::vector<BufferView> all(views.inputs.begin(), views.inputs.end());
    all.push_back(views.out);
    ElementwiseDispatch dispatch{.binding = {},
                                 .params = {},
                                 .grid = grid_of(elements_of_program(desc) / config.elements_per_load,
                                                 std::uint64_t{config.workgroup_size} * config.loads_per_invocation,
                                                 cost * config.elements_per_load)};
    dispatch.params.element_count = static_cast<std::uint32_t>(elements_of_program(desc));
    dispatch.params.loads = config.loads_per_invocation;
    set_runs(dispatch.params, layout_of(desc), desc.numbers);
    YOLK_TRY(dispatch.binding, device.bind(pipeline, all));
    return dispatch;
}

void record_program(Recorder& recorder, const BindingsOf<ElementwiseDesc>& dispatch,
                    const ElementwiseDesc& /*desc*/) noexcept {
    recorder.dispatch(dispatch.binding, dispatch.params, dispatch.grid);
}

}  // namespace

std::uint64_t cost_of(ElementwiseOperation operation) noexcept {
    using enum ElementwiseOperation;
    switch (operation) {
        case Where: return 4;
        case Power: return 160;
        case Gelu:
        case Silu:
        case Tanh:
        case Sigmoid:
        case Exp:
        case Log:
        case Sqrt:
        case Rsqrt:
        case Sin:
        case Cos:
        case Divide: return 64;
        default: return 8;
    }
}

ElementwiseDesc one_step(ElementwiseOperation operation, std::vector<std::uint32_t> extents) {
    // Plans refuse more dimensions.
    const std::uint32_t all = extents.size() > kMostProgramDimensions ? 0 : (1U << extents.size()) - 1;
    const std::uint32_t count = operand_count(operation);
    ElementwiseDesc desc{
        .extents = std::move(extents), .inputs = std::vector<std::uint32_t>(count, all), .steps = {{operation, {}}}};
    for (std::uint32_t o = 0; o < count; ++o) desc.steps[0].operands.push_back(o);
    return desc;
}

bool has_few_runs(const ElementwiseDesc& desc) { return layout_of(desc).runs.size() <= abi_ew::kMostRuns; }

template <>
const Operation<ElementwiseDesc>& operation_of<ElementwiseDesc>() {
    using Desc = ElementwiseDesc;
    using Views = ElementwiseViews;
    static const Operation<Desc> kOperation{
        .name = "elementwise",
        .fields = {"elementwise", elementwise_fields()},
        .views = {{.name = "inputs", .role = ViewRole::Input, .list = &Views::inputs, .list_shapes = &input_views},
                  {.name = "out",
                   .role = ViewRole::Output,
                   .view = &Views::out,
                   .shape = &program_out_view,
                   .may_be_input = true}},
        .knobs = &program_knobs,
        .legal = &legal_program,
        .heuristic = &program_heuristic,
        .check = &check_elementwise,
        .is_empty = &is_empty_program,
        .build = &build_program,
        .bind = &bind_program,
        .record = &record_program,
    };
    return kOperation;
}
template class Plan<ElementwiseDesc>;

}  // namespace yolk
