// SPDX-License-Identifier: Apache-2.0
#include "yolk/elementwise.hpp"

#include <array>
#include <cmath>

#include "operation_plan.hpp"
#include "streaming_default.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_ew = abi::elementwise;

// About what an operation computes: gelu has 53 operations, the square root 60, power alone has more.
std::uint64_t cost_of(ElementwiseOperation operation) { return operation == ElementwiseOperation::Power ? 160 : 64; }

// How many elements of the second operand there are, 0 for unary operations. Fits: rows and columns are 32 bits.
std::uint64_t second_period(const ElementwiseDesc& desc) {
    switch (desc.second) {
        case SecondOperand::Full: return 0;
        case SecondOperand::Shared: return std::uint64_t{desc.rows} * desc.columns;
        case SecondOperand::MemberRows:
        case SecondOperand::Row: return desc.columns;
    }
    return 0;
}

bool second_is_quads(const ElementwiseDesc& desc) {
    return !is_binary(desc.operation) || second_period(desc) % kQuad == 0;
}

std::uint64_t element_count(const ElementwiseDesc& desc) {
    return std::uint64_t{desc.members} * desc.rows * desc.columns;
}

Result<void> check_constant(float value, const char* what) {
    const float magnitude = std::abs(value);
    if (value == 0.0F || (magnitude >= 0x1p-100F && std::isfinite(value))) return {};
    return bad_input("{} of [elementwise] is {}; it must be finite, and zero or at least 2^-100 in size.", what, value);
}

Result<void> check_elementwise(const ElementwiseDesc& desc) {
    if (desc.operation != ElementwiseOperation::ScaleShift) return {};
    YOLK_TRY_VOID(check_constant(desc.scale, "scale"));
    return check_constant(desc.shift, "shift");
}

ViewShape elements_view(const ElementwiseDesc& desc) {
    return {{{"members", desc.members}, {"rows", desc.rows}, {"columns", desc.columns}}};
}
ViewShape second_view(const ElementwiseDesc& desc) {
    ViewShape shape{.extents = {}, .used = is_binary(desc.operation)};
    if (desc.second == SecondOperand::Full || desc.second == SecondOperand::MemberRows)
        shape.extents.push_back({"members", desc.members});
    if (desc.second == SecondOperand::Full || desc.second == SecondOperand::Shared)
        shape.extents.push_back({"rows", desc.rows});
    shape.extents.push_back({"columns", desc.columns});
    return shape;
}

// Unary operations have no second operand.
ElementwiseDesc canonical_elementwise(ElementwiseDesc desc) {
    if (!is_binary(desc.operation)) desc.second = ElementwiseDesc{}.second;
    return desc;
}

std::vector<Knob<ElementwiseConfig>> elementwise_knobs(const DeviceInfo& /*info*/, const ElementwiseDesc& /*desc*/) {
    return {{"workgroup_size", &ElementwiseConfig::workgroup_size, workgroup_sizes()},
            {"loads_per_invocation", &ElementwiseConfig::loads_per_invocation, {1, 2, 4, 8}},
            {"elements_per_load", &ElementwiseConfig::elements_per_load, {1, kQuad}}};
}

Result<void> legal_elementwise(const DeviceInfo& /*info*/, const ElementwiseDesc& desc,
                               const ElementwiseConfig& config) {
    if (config.elements_per_load == 1 || second_is_quads(desc)) return {};
    return bad_input(
        "elements_per_load of [elementwise] is 4, but the second operand repeats after {} elements; "
        "use 1, or a length that is a multiple of 4.",
        second_period(desc));
}

ElementwiseConfig elementwise_heuristic(const DeviceInfo& info, const ElementwiseDesc& desc) {
    const std::uint32_t width = second_is_quads(desc) ? kQuad : 1;
    const auto [workgroup, loads] =
        streaming_default(info, row_count(desc.members, desc.rows) * (desc.columns / width));
    return {.workgroup_size = workgroup, .loads_per_invocation = loads, .elements_per_load = width};
}

const Kernel<abi_ew::Params>& kernel_of(ElementwiseOperation operation, bool quads) {
    if (is_binary(operation) && is_long(operation))
        return quads ? kernels::kElementwiseBinaryLongQuads : kernels::kElementwiseBinaryLong;
    if (is_binary(operation)) return quads ? kernels::kElementwiseBinaryQuads : kernels::kElementwiseBinary;
    if (is_long(operation)) return quads ? kernels::kElementwiseUnaryLongQuads : kernels::kElementwiseUnaryLong;
    return quads ? kernels::kElementwiseUnaryQuads : kernels::kElementwiseUnary;
}

Result<PipelinesOf<ElementwiseDesc>> build_elementwise(const Device& device, const ElementwiseDesc& desc) {
    const std::array constants{
        SpecConstant{abi_ew::kSpecWorkgroupSize, desc.config->workgroup_size},
        SpecConstant{abi_ew::kSpecLoadsPerInvocation, desc.config->loads_per_invocation},
        SpecConstant{abi_ew::kSpecOperation, static_cast<std::uint32_t>(desc.operation)},
        SpecConstant{abi_ew::kSpecSecond, static_cast<std::uint32_t>(desc.second)},
    };
    const std::uint32_t width = desc.config->elements_per_load;
    ElementwiseDesc::Pipelines made;
    if (element_count(desc) >= width) {
        YOLK_TRY(made.whole, device.pipeline(kernel_of(desc.operation, width == kQuad), constants));
    }
    if (element_count(desc) % width != 0) {
        YOLK_TRY(made.tail, device.pipeline(kernel_of(desc.operation, false), constants));
    }
    return made;
}

Result<BindingsOf<ElementwiseDesc>> bind_elementwise(const Device& device, const ElementwiseDesc& desc,
                                                     const PipelinesOf<ElementwiseDesc>& made,
                                                     const ElementwiseViews& views, const BufferView& /*scratch*/) {
    const std::array all{views.first, is_binary(desc.operation) ? views.second : views.first, views.out};
    ElementwiseDesc::Bindings bound;
    if (made.whole.handle.impl != nullptr) {
        YOLK_TRY(bound.whole, device.bind(made.whole, all));
    }
    if (made.tail.handle.impl != nullptr) {
        YOLK_TRY(bound.tail, device.bind(made.tail, all));
    }
    return bound;
}

void record_elementwise(Recorder& recorder, const BindingsOf<ElementwiseDesc>& bindings,
                        const ElementwiseDesc& desc) noexcept {
    const auto elements = static_cast<std::uint32_t>(element_count(desc));
    const std::uint32_t width = desc.config->elements_per_load;
    const std::uint32_t tail = elements % width;
    abi_ew::Params params{
        .first_element = 0,
        .element_count = elements - tail,
        .member_size = desc.rows * desc.columns,
        .columns = desc.columns,
        .scale = desc.scale,
        .shift = desc.shift,
    };
    const std::uint64_t loads_per_group =
        std::uint64_t{desc.config->workgroup_size} * desc.config->loads_per_invocation;
    if (params.element_count != 0) {
        recorder.dispatch(bindings.whole, params,
                          grid_of(params.element_count / width, loads_per_group, cost_of(desc.operation) * width));
    }
    if (tail == 0) return;
    params.first_element = params.element_count;
    params.element_count = elements;
    recorder.dispatch(bindings.tail, params, grid_of(tail, loads_per_group, cost_of(desc.operation)));
}

}  // namespace

template <>
const Operation<ElementwiseDesc>& operation_of<ElementwiseDesc>() {
    using Desc = ElementwiseDesc;
    using Views = ElementwiseViews;
    static const Operation<Desc> kOperation{
        .name = "elementwise",
        .fields = {"elementwise",
                   {extent<&Desc::members>("members").factor(), extent<&Desc::rows>("rows"),
                    extent<&Desc::columns>("columns"), variant<&Desc::operation>("operation"),
                    variant<&Desc::second>("second")}},
        .views = {{"first", ViewRole::Input, &Views::first, &elements_view},
                  {"second", ViewRole::Input, &Views::second, &second_view},
                  {"out", ViewRole::Output, &Views::out, &elements_view, &Views::first}},
        .knobs = &elementwise_knobs,
        .legal = &legal_elementwise,
        .canonical = &canonical_elementwise,
        .heuristic = &elementwise_heuristic,
        .check = &check_elementwise,
        .build = &build_elementwise,
        .bind = &bind_elementwise,
        .record = &record_elementwise,
    };
    return kOperation;
}
template class Plan<ElementwiseDesc>;

}  // namespace yolk
