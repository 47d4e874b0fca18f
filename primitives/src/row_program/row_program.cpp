// SPDX-License-Identifier: Apache-2.0
#include "yolk/row_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "operation_plan.hpp"
#include "program_modules.hpp"
#include "row_plan.hpp"
#include "row_program_plan.hpp"
#include "space_layout.hpp"
#include "yolk/internal/shaders/catalogue.hpp"
#include "yolk/internal/shaders/row_module.hpp"

namespace yolk {
namespace {

namespace abi_rp = abi::row_program;

constexpr std::uint32_t kQuadElements = 4;
/// What kernels divide by multiplication (space_layout.hpp).
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 30;

SpaceLayout layout_of(const RowProgramDesc& desc) { return space_layout(desc.extents, desc.inputs, desc.row); }
bool varies(const RowProgramDesc& desc, std::uint32_t input) { return (input >> desc.row & 1U) != 0; }
bool writes_elements(const RowProgramDesc& desc) { return varies_along_row(desc).back(); }

/// The elements of the dimensions from `first` to before `end`.
std::uint64_t extents_between(const RowProgramDesc& desc, std::size_t first, std::size_t end) {
    std::uint64_t count = 1;
    for (std::size_t d = first; d < end; ++d) count *= desc.extents[d];
    return count;
}
std::uint32_t columns_of_program(const RowProgramDesc& desc) { return desc.extents[desc.row]; }
std::uint64_t inner_of(const RowProgramDesc& desc) {
    return extents_between(desc, desc.row + std::size_t{1}, desc.extents.size());
}
std::uint64_t rows_of_program(const RowProgramDesc& desc) {
    return extents_between(desc, 0, desc.row) * inner_of(desc);
}

RowCode code_of(const RowProgramDesc& desc) {
    const SpaceLayout layout = layout_of(desc);
    RowCode code{.numbers = static_cast<std::uint32_t>(desc.numbers.size()),
                 .is_last = desc.row + std::size_t{1} == desc.extents.size()};
    for (const DimensionRun& run : layout.runs)
        code.runs.push_back({layout.code_of(run), run.first <= layout.row && layout.row <= run.last});
    for (std::size_t i = 0; i < desc.inputs.size(); ++i)
        code.inputs.push_back({layout.inputs[i], varies(desc, desc.inputs[i])});
    for (const RowStep& step : desc.steps) {
        const auto* const of_row = std::get_if<RowOperation>(&step.operation);
        const bool is_plain = of_row == nullptr || !is_reduction(*of_row);
        const std::string word(of_row == nullptr ? word_of(std::get<ElementwiseOperation>(step.operation))
                                                 : word_of(*of_row));
        const char* const prefix = !is_plain ? "" : of_row == nullptr ? "elementwise_" : "row_";
        code.steps.push_back({.function = prefix + word, .operands = step.operands, .is_reduction = !is_plain});
    }
    return code;
}

Result<void> check_step(const RowProgramDesc& desc, std::size_t at) {
    const RowStep& step = desc.steps[at];
    const auto* const element = std::get_if<ElementwiseOperation>(&step.operation);
    const auto* const of_row = std::get_if<RowOperation>(&step.operation);
    const std::string_view word = element == nullptr ? word_of(*of_row) : word_of(*element);
    const std::uint32_t wanted = element == nullptr ? operand_count(*of_row) : operand_count(*element);
    if (step.operands.size() != wanted)
        return bad_input("Step {} of [row_program] has {} operands; {} takes {}.", at, step.operands.size(), word,
                         wanted);
    for (const std::uint32_t operand : step.operands) {
        if (operand >= desc.inputs.size() + desc.numbers.size() + at)
            return bad_input(
                "Step {} of [row_program] takes value {}; the {} inputs, the {} numbers and the steps before it are "
                "allowed.",
                at, operand, desc.inputs.size(), desc.numbers.size());
    }
    if (of_row != nullptr && *of_row == RowOperation::Argmax && at + 1 != desc.steps.size())
        return bad_input("Step {} of [row_program] is argmax; only the last of the {} steps may be.", at,
                         desc.steps.size());
    return {};
}

Result<void> check_space(const RowProgramDesc& desc) {
    if (desc.extents.empty() || desc.extents.size() > kMostProgramDimensions)
        return bad_input("[row_program] was given {} dimensions; 1 to {} are allowed.", desc.extents.size(),
                         kMostProgramDimensions);
    if (desc.row >= desc.extents.size())
        return bad_input("The rows of [row_program] lie along dimension {}, of {}.", desc.row, desc.extents.size());
    if (desc.inputs.empty() || desc.inputs.size() > kMostProgramInputs)
        return bad_input("[row_program] was given {} inputs; 1 to {} are allowed.", desc.inputs.size(),
                         kMostProgramInputs);
    for (const std::uint32_t input : desc.inputs) {
        if (input >> desc.extents.size() != 0)
            return bad_input("An input of [row_program] has the dimensions {:#x}, of {}.", input, desc.extents.size());
    }
    std::uint64_t elements = 1;
    for (const std::uint32_t extent : desc.extents) {
        elements *= extent;
        if (elements > kMostElements)
            return unsupported("[row_program] has more than {} elements, which are the most of a program. Split it.",
                               kMostElements);
    }
    return {};
}

Result<void> check_row_program(const RowProgramDesc& desc) {
    YOLK_TRY_VOID(check_space(desc));
    if (desc.numbers.size() > abi_rp::kMostNumbers)
        return bad_input("[row_program] was given {} numbers; 0 to {} are allowed.", desc.numbers.size(),
                         abi_rp::kMostNumbers);
    if (desc.steps.empty() || desc.steps.size() > kMostProgramSteps)
        return bad_input("[row_program] was given {} steps; 1 to {} are allowed.", desc.steps.size(),
                         kMostProgramSteps);
    for (std::size_t at = 0; at < desc.steps.size(); ++at) YOLK_TRY_VOID(check_step(desc, at));
    const auto reductions = std::ranges::count_if(desc.steps, [](const RowStep& step) { return is_reduction(step); });
    if (reductions < 1 || reductions > abi_rp::kMostReductions)
        return bad_input("[row_program] was given {} reductions; 1 to {} are allowed.", reductions,
                         abi_rp::kMostReductions);
    if (columns_of_program(desc) == 0 && !writes_elements(desc))
        return bad_input("The rows of [row_program] have no elements to reduce; at least one is needed.");
    if (has_few_runs(desc)) return {};
    return bad_input("The inputs of [row_program] lie in {} different ways; {} are allowed.",
                     layout_of(desc).runs.size(), abi_rp::kMostRuns);
}

std::vector<ViewShape> input_views(const RowProgramDesc& desc) {
    return program_input_views(desc.extents, desc.inputs);
}
ViewShape out_view(const RowProgramDesc& desc) {
    ViewShape shape{.extents = {}, .dtype = DType::U32};
    for (std::size_t d = 0; d < desc.extents.size(); ++d) {
        if (d != desc.row || writes_elements(desc)) shape.extents.push_back({"extent", desc.extents[d]});
    }
    return shape;
}
bool is_empty_row_program(const RowProgramDesc& desc) {
    return std::ranges::find(desc.extents, 0U) != desc.extents.end();
}

/// The texels that the largest input takes. One that does not vary along the row has a word in each.
std::uint64_t most_texels(const RowProgramDesc& desc, std::uint32_t width) {
    std::uint64_t most = 0;
    for (const std::uint32_t input : desc.inputs)
        most = std::max(most, input_elements(desc.extents, input) / (varies(desc, input) ? width : 1));
    return most;
}
/// Whether rows have a multiple of four elements, side by side.
bool may_take_quads(const RowProgramDesc& desc) {
    return inner_of(desc) == 1 && columns_of_program(desc) % kQuadElements == 0;
}

const Kernel<abi_rp::Params>& library_of(const RowConfig& config) {
    if (config.row_per_invocation == 0) return kernels::kRowProgramByGroup;
    const bool are_texels = config.texel_input != 0;
    if (config.elements_per_load == kQuadElements)
        return are_texels ? kernels::kRowProgramQuadsTexel : kernels::kRowProgramQuads;
    return are_texels ? kernels::kRowProgramByInvocationTexel : kernels::kRowProgramByInvocation;
}

/// How often a kernel goes over its row.
RowPasses passes_of(const RowProgramDesc& desc) {
    RowPasses passes{.writes = writes_elements(desc) ? std::uint64_t{1} : std::uint64_t{0}};
    for (const RowStep& step : desc.steps) {
        const auto* const of_row = std::get_if<RowOperation>(&step.operation);
        if (of_row == nullptr || !is_reduction(*of_row)) continue;
        passes.reductions += *of_row == RowOperation::Argmax ? 2 : 1;
    }
    return passes;
}

/// The cost of an element in all passes, roughly: each step is counted once, though a pass may compute it again.
std::uint64_t cost_of_program(const RowProgramDesc& desc) {
    constexpr std::uint64_t kLoadCost = 8;
    std::uint64_t cost = kLoadCost * (desc.inputs.size() + 1);
    for (const RowStep& step : desc.steps) cost += cost_of(step);
    return cost;
}

Result<PipelinesOf<RowProgramDesc>> build(const Device& device, const RowProgramDesc& desc) {
    return build_row_program(device, desc, "[row_program]");
}
Result<RowProgramDispatch> bind(const Device& device, const RowProgramDesc& desc,
                                const PipelinesOf<RowProgramDesc>& pipeline, const RowProgramViews& views,
                                const BufferView& /*scratch*/) {
    return bind_row_program(device, desc, pipeline, views.inputs, views.out);
}

}  // namespace

Result<void> check_row_program_config(const DeviceInfo& info, const RowProgramDesc& desc, const RowConfig& config) {
    if (config.texel_input != 0 && config.row_per_invocation == 0)
        return bad_input("texel_input is 1; with row_per_invocation 0 it must be 0.");
    if (config.elements_per_load != 1 && config.row_per_invocation == 0)
        return bad_input("elements_per_load is 4; with row_per_invocation 0 it must be 1.");
    if (config.elements_per_load != 1 && !may_take_quads(desc))
        return bad_input(
            "elements_per_load is 4; it must be 1 for rows of {} elements, of which each lies {} behind the last.",
            columns_of_program(desc), inner_of(desc));
    const std::uint64_t texels = config.texel_input == 0 ? 0 : most_texels(desc, config.elements_per_load);
    if (texels > info.limits.max_texel_buffer_elements)
        return bad_input("texel_input is 1; an input has {} texels, and a texel buffer of this device {}.", texels,
                         info.limits.max_texel_buffer_elements);
    return check_row_config(config);
}

RowConfig row_program_heuristic(const DeviceInfo& info, const RowProgramDesc& desc) {
    RowConfig config = heuristic_row_config(info, rows_of_program(desc), columns_of_program(desc));
    if (config.row_per_invocation == 0) return config;
    if (may_take_quads(desc)) config.elements_per_load = kQuadElements;
    const bool fits = most_texels(desc, config.elements_per_load) <= info.limits.max_texel_buffer_elements;
    config.texel_input = streams_texels(info) && fits ? 1 : 0;
    return config;
}

Result<PipelinesOf<RowProgramDesc>> build_row_program(const Device& device, const RowProgramDesc& desc,
                                                      const char* label) {
    const RowConfig& config = *desc.config;
    YOLK_TRY_VOID(check_row_loops(device, label, columns_of_program(desc), passes_of(desc), config));
    Kernel<abi_rp::Params> kernel = library_of(config);
    YOLK_TRY(const ProgramModule spirv, (ProgramModules<RowCode, make_row_module>::get(kernel, code_of(desc))));
    kernel.spirv = *spirv;
    kernel.binding_count = static_cast<std::uint32_t>(desc.inputs.size()) + 1;
    kernel.texel_mask = kernel.texel4_mask = 0;
    for (std::size_t i = 0; config.texel_input != 0 && i < desc.inputs.size(); ++i) {
        const bool is_quad = config.elements_per_load == kQuadElements && varies(desc, desc.inputs[i]);
        (is_quad ? kernel.texel4_mask : kernel.texel_mask) |= 1U << i;
    }
    return device.pipeline(kernel, std::array{SpecConstant{abi_rp::kSpecWorkgroupSize, row_workgroup_size(config)},
                                              SpecConstant{abi_rp::kSpecRowLanes, config.lanes_per_row}});
}

Result<RowProgramDispatch> bind_row_program(const Device& device, const RowProgramDesc& desc,
                                            const PipelinesOf<RowProgramDesc>& pipeline,
                                            std::span<const BufferView> inputs, const BufferView& out) {
    const SpaceLayout layout = layout_of(desc);
    std::vector<BufferView> all(inputs.begin(), inputs.end());
    all.push_back(out);
    RowProgramDispatch dispatch{
        .binding = {},
        .params = {},
        .grid = row_grid(rows_of_program(desc), columns_of_program(desc), cost_of_program(desc), *desc.config)};
    dispatch.params.row_count = static_cast<std::uint32_t>(rows_of_program(desc));
    dispatch.params.columns = columns_of_program(desc);
    dispatch.params.inner = static_cast<std::uint32_t>(inner_of(desc));
    set_runs(dispatch.params, layout, desc.numbers);
    for (std::size_t r = 0; r < layout.runs.size(); ++r) {
        const DimensionRun& run = layout.runs[r];
        if (run.first > layout.row || layout.row > run.last) continue;
        dispatch.params.row_stride[r] = static_cast<std::uint32_t>(
            extents_product(layout.extents, layout.row + std::size_t{1}, run.last + std::size_t{1}));
    }
    YOLK_TRY(dispatch.binding, device.bind(pipeline, all));
    return dispatch;
}

bool is_reduction(const RowStep& step) noexcept {
    const auto* const of_row = std::get_if<RowOperation>(&step.operation);
    return of_row != nullptr && is_reduction(*of_row);
}

std::uint64_t cost_of(const RowStep& step) noexcept {
    constexpr std::uint64_t kCheap = 4, kCostly = 64;
    if (const auto* const element = std::get_if<ElementwiseOperation>(&step.operation)) return cost_of(*element);
    const RowOperation operation = std::get<RowOperation>(step.operation);
    return operation == RowOperation::InverseSqrt || operation == RowOperation::Exponential ? kCostly : kCheap;
}

std::vector<bool> varies_along_row(const RowProgramDesc& desc) {
    std::vector<bool> all;
    for (const std::uint32_t input : desc.inputs) all.push_back(varies(desc, input));
    all.resize(all.size() + desc.numbers.size(), false);
    for (const RowStep& step : desc.steps) {
        const auto operand_varies = [&](std::uint32_t operand) { return all.at(operand); };
        all.push_back(!is_reduction(step) && std::ranges::any_of(step.operands, operand_varies));
    }
    return all;
}

bool has_few_runs(const RowProgramDesc& desc) { return layout_of(desc).runs.size() <= abi_rp::kMostRuns; }

template <>
const Operation<RowProgramDesc>& operation_of<RowProgramDesc>() {
    using Desc = RowProgramDesc;
    using Views = RowProgramViews;
    static const Operation<Desc> kOperation{
        .name = "row_program",
        .fields = {"row_program", row_program_fields()},
        .views = {{.name = "inputs", .role = ViewRole::Input, .list = &Views::inputs, .list_shapes = &input_views},
                  {.name = "out", .role = ViewRole::Output, .view = &Views::out, .shape = &out_view}},
        .knobs = &knobs_by_program<Desc>,
        .legal = &check_row_program_config,
        .heuristic = &row_program_heuristic,
        .check = &check_row_program,
        .is_empty = &is_empty_row_program,
        .build = &build,
        .bind = &bind,
        .record = &record_row_program<Desc>,
    };
    return kOperation;
}
template class Plan<RowProgramDesc>;

}  // namespace yolk
