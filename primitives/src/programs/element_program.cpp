// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/primitives/element_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "element_fields.hpp"
#include "element_layout.hpp"
#include "operation_plan.hpp"
#include "yolk/internal/shaders/catalogue.hpp"
#include "yolk/internal/shaders/exactness.hpp"

namespace yolk {
namespace {

namespace abi_ep = abi::element_program;

using ElementModule = std::shared_ptr<const std::vector<std::uint32_t>>;

/// Made once per process for each structure; some take milliseconds.
class ElementModules {
   public:
    [[nodiscard]] Result<ElementModule> get(const KernelModule& library, const ElementCode& code) {
        const std::lock_guard lock(mutex_);
        const std::pair key(library.name, code);
        if (const auto found = modules_.find(key); found != modules_.end()) return found->second;
        YOLK_TRY(std::vector<std::uint32_t> spirv, make_element_module(library.spirv, code));
        YOLK_TRY_VOID(check_exact(spirv));
        if (modules_.size() >= kMost) modules_.clear();
        return modules_[key] = std::make_shared<const std::vector<std::uint32_t>>(std::move(spirv));
    }

   private:
    static constexpr std::size_t kMost = 1024;  // of 10 to 100 KB

    /// Quotients are by the plan's factors and shifts.
    static Result<void> check_exact(std::span<const std::uint32_t> spirv) {
        YOLK_TRY(const std::vector<InexactInstruction> all, find_inexact(spirv));
        const auto wrong = std::ranges::find(all, false, &InexactInstruction::by_parameters);
        if (wrong == all.end()) return {};
        return failed_work("A program of elements is not exact: {}", to_string(*wrong));
    }

    std::mutex mutex_;
    std::map<std::pair<std::string_view, ElementCode>, ElementModule> modules_;  // by library
};

Result<ElementModule> element_module(const KernelModule& library, const ElementCode& code) {
    static ElementModules modules;
    return modules.get(library, code);
}

Result<void> check_step(const ElementProgramDesc& desc, std::size_t at) {
    const ElementStep& step = desc.steps[at];
    if (step.operation && (static_cast<std::uint32_t>(*step.operation) >= abi::elementwise::kOperationCount ||
                           *step.operation == ElementwiseOperation::ScaleShift))
        return bad_input("Step {} of [element_program] is '{}', which is not allowed there.", at,
                         word_of(*step.operation));
    if (step.operands.size() != operand_count(step))
        return bad_input("Step {} of [element_program] has {} operands; it takes {}.", at, step.operands.size(),
                         operand_count(step));
    for (const std::uint32_t operand : step.operands) {
        if (operand >= desc.inputs.size() + at)
            return bad_input(
                "Step {} of [element_program] takes value {}; the {} inputs and the steps before it are "
                "allowed.",
                at, operand, desc.inputs.size());
    }
    return {};
}

Result<void> check_element_program(const ElementProgramDesc& desc) {
    if (desc.extents.empty() || desc.extents.size() > kMostProgramDimensions)
        return bad_input("[element_program] was given {} dimensions; 1 to {} are allowed.", desc.extents.size(),
                         kMostProgramDimensions);
    if (desc.inputs.empty() || desc.inputs.size() > kMostProgramInputs)
        return bad_input("[element_program] was given {} inputs; 1 to {} are allowed.", desc.inputs.size(),
                         kMostProgramInputs);
    for (const std::uint32_t input : desc.inputs) {
        if (input >> desc.extents.size() != 0)
            return bad_input("An input of [element_program] has the dimensions {:#x}, of {}.", input,
                             desc.extents.size());
    }
    if (desc.steps.empty() || desc.steps.size() > kMostProgramSteps)
        return bad_input("[element_program] was given {} steps; 1 to {} are allowed.", desc.steps.size(),
                         kMostProgramSteps);
    for (std::size_t at = 0; at < desc.steps.size(); ++at) YOLK_TRY_VOID(check_step(desc, at));
    if (has_few_runs(desc)) return {};
    return bad_input("The inputs of [element_program] lie in {} different ways; {} are allowed.",
                     element_layout(desc).runs.size(), abi_ep::kMostRuns);
}

std::vector<ViewShape> program_input_views(const ElementProgramDesc& desc) {
    std::vector<ViewShape> shapes;
    for (const std::uint32_t input : desc.inputs) {
        ViewShape shape{.extents = {}, .dtype = DType::U32};
        for (std::size_t d = 0; d < desc.extents.size(); ++d) {
            if ((input >> d & 1U) != 0) shape.extents.push_back({"extent", desc.extents[d]});
        }
        shapes.push_back(std::move(shape));
    }
    return shapes;
}
ViewShape program_out_view(const ElementProgramDesc& desc) {
    ViewShape shape{.extents = {}, .dtype = DType::U32};
    for (const std::uint32_t extent : desc.extents) shape.extents.push_back({"extent", extent});
    return shape;
}

std::uint64_t elements_of_program(const ElementProgramDesc& desc) {
    std::uint64_t count = 1;
    for (const std::uint32_t extent : desc.extents) count *= extent;  // fits, as views are checked
    return count;
}

bool is_empty_program(const ElementProgramDesc& desc) {
    return std::ranges::find(desc.extents, 0U) != desc.extents.end();
}

std::vector<Knob<ElementProgramConfig>> program_knobs(const DeviceInfo& /*info*/, const ElementProgramDesc& /*desc*/) {
    return {{"workgroup_size", &ElementProgramConfig::workgroup_size, workgroup_sizes()},
            {"loads_per_invocation", &ElementProgramConfig::loads_per_invocation, {1, 2, 4, 8}},
            {"elements_per_load", &ElementProgramConfig::elements_per_load, {1, kQuad}},
            {"texel_inputs", &ElementProgramConfig::texel_inputs, {0, 1}}};
}

bool may_take_quads(const ElementProgramDesc& desc) { return element_layout(desc).extents.back() % kQuad == 0; }

/// The texels that the largest input takes. A repeated input has one word in each texel.
std::uint64_t most_texels(const ElementProgramDesc& desc, std::uint32_t width) {
    const std::vector<ElementCode::Input> inputs = element_layout(desc).code.inputs;
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        std::uint64_t count = 1;
        for (std::size_t d = 0; d < desc.extents.size(); ++d)
            count *= (desc.inputs[i] >> d & 1U) != 0 ? desc.extents[d] : 1;
        most = std::max(most, count / (inputs[i].is_repeated ? 1 : width));
    }
    return most;
}

Result<void> legal_program(const DeviceInfo& info, const ElementProgramDesc& desc, const ElementProgramConfig& config) {
    if (config.elements_per_load != 1 && !may_take_quads(desc)) {
        return bad_input(
            "elements_per_load of [element_program] is 4, but the dimensions that its inputs do not tell apart end in "
            "one of {}; use 1, or a multiple of 4.",
            element_layout(desc).extents.back());
    }
    const std::uint64_t most = config.texel_inputs == 0 ? 0 : most_texels(desc, config.elements_per_load);
    if (most <= info.limits.max_texel_buffer_elements) return {};
    return bad_input(
        "texel_inputs of [element_program] is 1; an input takes {} texels, and a buffer of this device has {}.", most,
        info.limits.max_texel_buffer_elements);
}

/// The workgroup's size does not follow the number of elements, so that one pipeline serves all.
ElementProgramConfig program_heuristic(const DeviceInfo& info, const ElementProgramDesc& desc) {
    constexpr std::uint64_t kMany = 1U << 14U;
    const std::uint32_t width = may_take_quads(desc) ? kQuad : 1;
    if (info.kind != DeviceKind::Cpu) return {.elements_per_load = width};
    const bool are_many = elements_of_program(desc) / width >= kMany;
    const bool fit = most_texels(desc, width) <= info.limits.max_texel_buffer_elements;
    return {.workgroup_size = 128,
            .loads_per_invocation = are_many ? 8U : 1U,
            .elements_per_load = width,
            .texel_inputs = fit ? 1U : 0U};
}

Result<PipelinesOf<ElementProgramDesc>> build_program(const Device& device, const ElementProgramDesc& desc) {
    const bool are_quads = desc.config->elements_per_load == kQuad, are_texels = desc.config->texel_inputs != 0;
    Kernel<abi_ep::Params> kernel =
        are_quads ? (are_texels ? kernels::kElementProgramQuadsTexel : kernels::kElementProgramQuads)
                  : (are_texels ? kernels::kElementProgramTexel : kernels::kElementProgram);
    const ElementCode code = element_layout(desc).code;
    YOLK_TRY(const ElementModule spirv, element_module(kernel, code));
    kernel.spirv = *spirv;
    kernel.binding_count = static_cast<std::uint32_t>(desc.inputs.size()) + 1;
    kernel.texel_mask = kernel.texel4_mask = 0;
    for (std::size_t i = 0; are_texels && i < code.inputs.size(); ++i)
        (are_quads && !code.inputs[i].is_repeated ? kernel.texel4_mask : kernel.texel_mask) |= 1U << i;
    return device.pipeline(kernel, std::array{SpecConstant{abi_ep::kSpecWorkgroupSize, desc.config->workgroup_size}});
}

Result<BindingsOf<ElementProgramDesc>> bind_program(const Device& device, const ElementProgramDesc& desc,
                                                    const PipelinesOf<ElementProgramDesc>& pipeline,
                                                    const ElementProgramViews& views, const BufferView& /*scratch*/) {
    constexpr std::uint64_t kLoadCost = 8;
    std::uint64_t cost = kLoadCost * (desc.inputs.size() + 1);
    for (const ElementStep& step : desc.steps) cost += cost_of(step);
    const ElementProgramConfig& config = *desc.config;
    std::vector<BufferView> all(views.inputs.begin(), views.inputs.end());
    all.push_back(views.out);
    ElementDispatch dispatch{.binding = {},
                             .params = element_params(element_layout(desc), config.loads_per_invocation),
                             .grid = grid_of(elements_of_program(desc) / config.elements_per_load,
                                             std::uint64_t{config.workgroup_size} * config.loads_per_invocation,
                                             cost * config.elements_per_load)};
    YOLK_TRY(dispatch.binding, device.bind(pipeline, all));
    return dispatch;
}

void record_program(Recorder& recorder, const BindingsOf<ElementProgramDesc>& dispatch,
                    const ElementProgramDesc& /*desc*/) noexcept {
    recorder.dispatch(dispatch.binding, dispatch.params, dispatch.grid);
}

}  // namespace

std::uint64_t cost_of(const ElementStep& step) noexcept {
    if (!step.operation) return 4;
    using enum ElementwiseOperation;
    switch (*step.operation) {
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

bool has_few_runs(const ElementProgramDesc& desc) { return element_layout(desc).runs.size() <= abi_ep::kMostRuns; }

template <>
const Operation<ElementProgramDesc>& operation_of<ElementProgramDesc>() {
    using Desc = ElementProgramDesc;
    using Views = ElementProgramViews;
    static const Operation<Desc> kOperation{
        .name = "element_program",
        .fields = {"element_program", element_program_fields()},
        .views =
            {{.name = "inputs", .role = ViewRole::Input, .list = &Views::inputs, .list_shapes = &program_input_views},
             {.name = "out", .role = ViewRole::Output, .view = &Views::out, .shape = &program_out_view}},
        .knobs = &program_knobs,
        .legal = &legal_program,
        .heuristic = &program_heuristic,
        .check = &check_element_program,
        .is_empty = &is_empty_program,
        .build = &build_program,
        .bind = &bind_program,
        .record = &record_program,
    };
    return kOperation;
}
template class Plan<ElementProgramDesc>;

}  // namespace yolk
