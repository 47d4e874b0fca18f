// SPDX-License-Identifier: Apache-2.0
#include "yolk/where.hpp"

#include <array>

#include "operation_plan.hpp"
#include "streaming_default.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_wh = abi::where;

// SecondOperand's numbers are elementwise's.
static_assert(abi_wh::kOperandFull == abi::elementwise::kSecondFull &&
              abi_wh::kOperandShared == abi::elementwise::kSecondShared &&
              abi_wh::kOperandMemberRows == abi::elementwise::kSecondMemberRows &&
              abi_wh::kOperandRow == abi::elementwise::kSecondRow);

// Three loads, a store, and divisions of indices.
constexpr std::uint64_t kWhereCost = 24;

std::uint64_t where_elements(const WhereDesc& desc) { return std::uint64_t{desc.members} * desc.rows * desc.columns; }

// Whether an operand repeats after vectors of four. Fits: rows and columns are 32 bits.
bool is_quads(const WhereDesc& desc, SecondOperand operand) {
    if (operand == SecondOperand::Full) return true;
    const std::uint64_t rows = operand == SecondOperand::Shared ? desc.rows : 1;
    return rows * desc.columns % kQuad == 0;
}
bool operands_are_quads(const WhereDesc& desc) {
    return is_quads(desc, desc.condition) && is_quads(desc, desc.first) && is_quads(desc, desc.second);
}

ViewShape operand_view(const WhereDesc& desc, SecondOperand operand, DType dtype) {
    ViewShape shape{.extents = {}, .dtype = dtype};
    if (operand == SecondOperand::Full || operand == SecondOperand::MemberRows)
        shape.extents.push_back({"members", desc.members});
    if (operand == SecondOperand::Full || operand == SecondOperand::Shared)
        shape.extents.push_back({"rows", desc.rows});
    shape.extents.push_back({"columns", desc.columns});
    return shape;
}
ViewShape where_condition_view(const WhereDesc& desc) { return operand_view(desc, desc.condition, DType::F32); }
ViewShape where_first_view(const WhereDesc& desc) { return operand_view(desc, desc.first, DType::U32); }
ViewShape where_second_view(const WhereDesc& desc) { return operand_view(desc, desc.second, DType::U32); }
ViewShape where_out_view(const WhereDesc& desc) { return operand_view(desc, SecondOperand::Full, DType::U32); }

std::vector<Knob<WhereConfig>> where_knobs(const DeviceInfo& /*info*/, const WhereDesc& /*desc*/) {
    return {{"workgroup_size", &WhereConfig::workgroup_size, workgroup_sizes()},
            {"loads_per_invocation", &WhereConfig::loads_per_invocation, {1, 2, 4, 8}},
            {"elements_per_load", &WhereConfig::elements_per_load, {1, kQuad}}};
}

Result<void> legal_where(const DeviceInfo& /*info*/, const WhereDesc& desc, const WhereConfig& config) {
    if (config.elements_per_load == 1 || operands_are_quads(desc)) return {};
    return bad_input(
        "elements_per_load of [where] is 4, but the length of an operand that repeats is not a multiple of 4; use 1.");
}

WhereConfig where_heuristic(const DeviceInfo& info, const WhereDesc& desc) {
    const std::uint32_t width = operands_are_quads(desc) ? kQuad : 1;
    const auto [workgroup, loads] =
        streaming_default(info, row_count(desc.members, desc.rows) * (desc.columns / width));
    return {.workgroup_size = workgroup, .loads_per_invocation = loads, .elements_per_load = width};
}

Result<PipelinesOf<WhereDesc>> build_where(const Device& device, const WhereDesc& desc) {
    const std::array constants{
        SpecConstant{abi_wh::kSpecWorkgroupSize, desc.config->workgroup_size},
        SpecConstant{abi_wh::kSpecLoadsPerInvocation, desc.config->loads_per_invocation},
        SpecConstant{abi_wh::kSpecCondition, static_cast<std::uint32_t>(desc.condition)},
        SpecConstant{abi_wh::kSpecFirst, static_cast<std::uint32_t>(desc.first)},
        SpecConstant{abi_wh::kSpecSecond, static_cast<std::uint32_t>(desc.second)},
    };
    const std::uint32_t width = desc.config->elements_per_load;
    WhereDesc::Pipelines made;
    if (where_elements(desc) >= width) {
        YOLK_TRY(made.whole, device.pipeline(width == 1 ? kernels::kWhere : kernels::kWhereQuads, constants));
    }
    if (where_elements(desc) % width != 0) {
        YOLK_TRY(made.tail, device.pipeline(kernels::kWhere, constants));
    }
    return made;
}

Result<BindingsOf<WhereDesc>> bind_where(const Device& device, const WhereDesc& /*desc*/,
                                         const PipelinesOf<WhereDesc>& made, const WhereViews& views,
                                         const BufferView& /*scratch*/) {
    const std::array all{views.condition, views.first, views.second, views.out};
    WhereDesc::Bindings bound;
    if (made.whole.handle.impl != nullptr) {
        YOLK_TRY(bound.whole, device.bind(made.whole, all));
    }
    if (made.tail.handle.impl != nullptr) {
        YOLK_TRY(bound.tail, device.bind(made.tail, all));
    }
    return bound;
}

void record_where(Recorder& recorder, const BindingsOf<WhereDesc>& bindings, const WhereDesc& desc) noexcept {
    const auto elements = static_cast<std::uint32_t>(where_elements(desc));
    const std::uint32_t width = desc.config->elements_per_load;
    const std::uint32_t tail = elements % width;
    abi_wh::Params params{
        .first_element = 0,
        .element_count = elements - tail,
        .member_size = desc.rows * desc.columns,
        .columns = desc.columns,
    };
    const std::uint64_t loads_per_group =
        std::uint64_t{desc.config->workgroup_size} * desc.config->loads_per_invocation;
    if (params.element_count != 0) {
        recorder.dispatch(bindings.whole, params,
                          grid_of(params.element_count / width, loads_per_group, kWhereCost * width));
    }
    if (tail == 0) return;
    params.first_element = params.element_count;
    params.element_count = elements;
    recorder.dispatch(bindings.tail, params, grid_of(tail, loads_per_group, kWhereCost));
}

}  // namespace

template <>
const Operation<WhereDesc>& operation_of<WhereDesc>() {
    using Desc = WhereDesc;
    using Views = WhereViews;
    static const Operation<Desc> kOperation{
        .name = "where",
        .fields = {"where",
                   {extent<&Desc::members>("members").factor(), extent<&Desc::rows>("rows"),
                    extent<&Desc::columns>("columns"), variant<&Desc::condition>("condition"),
                    variant<&Desc::first>("first"), variant<&Desc::second>("second")}},
        .views = {{"condition", ViewRole::Input, &Views::condition, &where_condition_view},
                  {"first", ViewRole::Input, &Views::first, &where_first_view},
                  {"second", ViewRole::Input, &Views::second, &where_second_view},
                  {"out", ViewRole::Output, &Views::out, &where_out_view}},
        .knobs = &where_knobs,
        .legal = &legal_where,
        .heuristic = &where_heuristic,
        .build = &build_where,
        .bind = &bind_where,
        .record = &record_where,
    };
    return kOperation;
}
template class Plan<WhereDesc>;

}  // namespace yolk
