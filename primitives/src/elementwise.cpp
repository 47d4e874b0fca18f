// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/elementwise.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

#include "plan_checks.hpp"
#include "streaming_default.hpp"
#include "tuned_plan.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {

namespace abi_ew = abi::elementwise;

namespace {

// About what an activation computes: gelu, the longest, has 53 operations.
constexpr std::uint64_t kOperationCost = 64;

// How many elements of the second operand there are, 0 for unary operations. Fits: rows and columns are 32 bits.
std::uint64_t second_period(const ElementwiseDesc& desc) {
    const std::uint64_t matrix = std::uint64_t{desc.rows} * desc.columns;
    switch (desc.second) {
        case SecondOperand::Full: return 0;
        case SecondOperand::Shared: return matrix;
        case SecondOperand::MemberRows:
        case SecondOperand::Row: return desc.columns;
    }
    return 0;
}

bool second_is_quads(const ElementwiseDesc& desc) {
    return !is_binary(desc.operation) || second_period(desc) % kQuad == 0;
}

Result<void> check_constant(float value, const char* what) {
    const float magnitude = std::abs(value);
    if (value == 0.0F || (magnitude >= 0x1p-100F && std::isfinite(value))) return {};
    return bad_input(
        fmt::format("{} of [elementwise] is {}; it must be finite, and zero or at least 2^-100 in size.", what, value));
}

Result<void> check_elementwise(const ElementwiseDesc& desc) {
    if (to_string(desc.operation) == std::string_view("unknown"))
        return bad_input(
            fmt::format("operation of [elementwise] is {}, which does not exist; see ElementwiseOperation.",
                        static_cast<std::uint32_t>(desc.operation)));
    YOLK_TRY_VOID(check_range(static_cast<std::uint32_t>(desc.second), 0, abi_ew::kSecondRow,
                              "second operand's layout of [elementwise]"));
    if (desc.operation != ElementwiseOperation::ScaleShift) return {};
    YOLK_TRY_VOID(check_constant(desc.scale, "scale"));
    return check_constant(desc.shift, "shift");
}

Result<std::uint64_t> second_bytes(const ElementwiseDesc& desc) {
    if (!is_binary(desc.operation)) return std::uint64_t{0};
    const std::uint64_t members =
        desc.second == SecondOperand::Shared || desc.second == SecondOperand::Row ? 1 : desc.members;
    const std::uint64_t rows =
        desc.second == SecondOperand::Full || desc.second == SecondOperand::Shared ? desc.rows : 1;
    return checked_bytes({members, rows, desc.columns}, kElementBytes, "the second view of [elementwise]");
}

}  // namespace

const char* to_string(ElementwiseOperation operation) noexcept {
    switch (operation) {
        case ElementwiseOperation::Copy: return "copy";
        case ElementwiseOperation::Relu: return "relu";
        case ElementwiseOperation::Gelu: return "gelu";
        case ElementwiseOperation::Silu: return "silu";
        case ElementwiseOperation::Tanh: return "tanh";
        case ElementwiseOperation::Sigmoid: return "sigmoid";
        case ElementwiseOperation::Exp: return "exp";
        case ElementwiseOperation::Log: return "log";
        case ElementwiseOperation::Negate: return "negate";
        case ElementwiseOperation::ScaleShift: return "scale_shift";
        case ElementwiseOperation::Add: return "add";
        case ElementwiseOperation::Subtract: return "subtract";
        case ElementwiseOperation::Multiply: return "multiply";
        case ElementwiseOperation::Maximum: return "maximum";
    }
    return "unknown";
}

ConfigSpace<ElementwiseConfig> elementwise_space(const DeviceInfo& /*info*/, const ElementwiseDesc& desc) {
    const auto legality = [desc](const ElementwiseConfig& config) -> Result<void> {
        if (config.elements_per_load == 1 || second_is_quads(desc)) return {};
        return bad_input(
            fmt::format("elements_per_load of [elementwise] is 4, but the second operand repeats after {} elements; "
                        "use 1, or a length that is a multiple of 4.",
                        second_period(desc)));
    };
    return {"elementwise",
            {{"workgroup_size", &ElementwiseConfig::workgroup_size, workgroup_sizes()},
             {"loads_per_invocation", &ElementwiseConfig::loads_per_invocation, {1, 2, 4, 8}},
             {"elements_per_load", &ElementwiseConfig::elements_per_load, {1, kQuad}}},
            legality,
            {.variant = fmt::format("f32, operation {}, second {}", static_cast<std::uint32_t>(desc.operation),
                                    static_cast<std::uint32_t>(desc.second)),
             .extents = {row_count(desc.members, desc.rows), desc.columns}}};
}

ElementwiseConfig default_elementwise_config(const DeviceInfo& info, const ElementwiseDesc& desc) {
    const std::uint32_t width = second_is_quads(desc) ? kQuad : 1;
    const auto [workgroup, loads] =
        streaming_default(info, row_count(desc.members, desc.rows) * (desc.columns / width));
    return {.workgroup_size = workgroup, .loads_per_invocation = loads, .elements_per_load = width};
}

Result<ElementwisePlan> plan_elementwise(const Device& device, const ElementwiseDesc& desc) {
    YOLK_TRY_VOID(check_elementwise(desc));
    ElementwisePlan plan;
    plan.device_ = &device;
    plan.desc_ = desc;
    if (!desc.config)
        return plan_tuned(device, desc, elementwise_space(device.info(), desc),
                          default_elementwise_config(device.info(), desc), &plan_elementwise);
    plan.config_ = *desc.config;
    YOLK_TRY_VOID(elementwise_space(device.info(), desc).check(plan.config_));
    YOLK_TRY(plan.out_bytes_,
             checked_bytes({desc.members, desc.rows, desc.columns}, kElementBytes, "the out view of [elementwise]"));
    YOLK_TRY_VOID(check_binding_size(device, plan.out_bytes_, "the out view of [elementwise]"));
    YOLK_TRY(plan.second_bytes_, second_bytes(desc));
    if (plan.out_bytes_ == 0) {
        plan.second_bytes_ = 0;
        return plan;
    }
    const std::array constants{
        SpecConstant{abi_ew::kSpecWorkgroupSize, plan.config_.workgroup_size},
        SpecConstant{abi_ew::kSpecLoadsPerInvocation, plan.config_.loads_per_invocation},
        SpecConstant{abi_ew::kSpecOperation, static_cast<std::uint32_t>(desc.operation)},
        SpecConstant{abi_ew::kSpecSecond, static_cast<std::uint32_t>(desc.second)},
    };
    const std::uint64_t width_bytes = kElementBytes * plan.config_.elements_per_load;
    const bool binary = is_binary(desc.operation);
    const auto& single = binary ? kernels::kElementwiseBinary : kernels::kElementwiseUnary;
    const auto& quads = binary ? kernels::kElementwiseBinaryQuads : kernels::kElementwiseUnaryQuads;
    const auto& kernel = plan.config_.elements_per_load == 1 ? single : quads;
    if (plan.out_bytes_ >= width_bytes) {
        YOLK_TRY(plan.pipeline_, device.pipeline(kernel, constants));
    }
    if (plan.out_bytes_ % width_bytes != 0) {
        YOLK_TRY(plan.tail_, device.pipeline(single, constants));
    }
    return plan;
}

Result<BoundElementwise> ElementwisePlan::bind(const ElementwiseViews& views, const BufferView& /*scratch*/) const {
    BoundElementwise bound;
    bound.desc_ = desc_;
    bound.config_ = config_;
    const NeededView first{.view = views.first, .needed_bytes = out_bytes_, .name = "first"};
    const NeededView second{.view = views.second, .needed_bytes = second_bytes_, .name = "second"};
    const NeededView out{.view = views.out, .needed_bytes = out_bytes_, .name = "out"};
    const bool in_place = views.first.buffer == views.out.buffer &&
                          views.first.offset_bytes == views.out.offset_bytes &&
                          views.first.size_bytes == views.out.size_bytes;
    // In place the first operand is the output, and checked as that.
    if (in_place) {
        YOLK_TRY_VOID(check_views(*device_, "[elementwise]", {second}, {out}));
    } else {
        YOLK_TRY_VOID(check_views(*device_, "[elementwise]", {first, second}, {out}));
    }
    if (out_bytes_ == 0) return bound;
    bound.element_count_ = static_cast<std::uint32_t>(out_bytes_ / kElementBytes);
    const std::array bindings{views.first, is_binary(desc_.operation) ? views.second : views.first, views.out};
    const std::uint32_t tail = bound.element_count_ % config_.elements_per_load;
    if (bound.element_count_ > tail) {
        YOLK_TRY(bound.binding_, device_->bind(pipeline_, bindings));
    }
    if (tail != 0) {
        YOLK_TRY(bound.tail_, device_->bind(tail_, bindings));
    }
    return bound;
}

void BoundElementwise::record(Recorder& recorder) const noexcept {
    if (element_count_ == 0) return;
    const ScopedLabel label(recorder, "elementwise");
    const std::uint32_t tail = element_count_ % config_.elements_per_load;
    abi_ew::Params params{
        .first_element = 0,
        .element_count = element_count_ - tail,
        .member_size = desc_.rows * desc_.columns,
        .columns = desc_.columns,
        .scale = desc_.scale,
        .shift = desc_.shift,
    };
    const std::uint64_t loads_per_group = std::uint64_t{config_.workgroup_size} * config_.loads_per_invocation;
    if (params.element_count != 0) {
        recorder.dispatch(binding_, params,
                          grid_of(params.element_count / config_.elements_per_load, loads_per_group,
                                  kOperationCost * config_.elements_per_load));
    }
    if (tail == 0) return;
    params.first_element = params.element_count;
    params.element_count = element_count_;
    recorder.dispatch(tail_, params, grid_of(tail, loads_per_group, kOperationCost));
}

}  // namespace yolk
