// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/optimizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "plan_checks.hpp"
#include "tuned_plan.hpp"
#include "yolk/abi/optimizer.h"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_op = abi::optimizer;

struct RuleName {
    OptimizerRule rule;
    std::string_view name;
    std::uint32_t state_arrays;
    std::uint32_t constant;  ///< of the kernel
};
constexpr std::array<RuleName, 3> kOptimizerRules{
    {{OptimizerRule::Sgd, "sgd", 0, abi::optimizer::kRuleSgd},
     {OptimizerRule::Momentum, "momentum", 1, abi::optimizer::kRuleMomentum},
     {OptimizerRule::Adam, "adam", 2, abi::optimizer::kRuleAdam}}};

const RuleName& rule_name_of(OptimizerRule rule) noexcept { return kOptimizerRules[static_cast<std::size_t>(rule)]; }

/// About what the step of one element costs: Adam's square root and quotient are polynomials.
constexpr std::uint64_t kOptimizerCost = 64;
/// Below this the flush of squares (2^-100) would show in sqrt(v) + epsilon.
constexpr float kSmallestEpsilon = 0x1p-40F;

Result<void> check_decay(float beta, const char* name) {
    if (beta >= 0.0F && beta < 1.0F) return {};
    return bad_input(fmt::format("{} of [optimizer] is {}; it must be at least 0 and below 1.", name, beta));
}

Result<void> check_optimizer(const Device& device, const OptimizerDesc& desc) {
    YOLK_TRY_VOID(optimizer_space(device.info(), desc).check(*desc.config));
    YOLK_TRY_VOID(check_decay(desc.beta1, "beta1"));
    YOLK_TRY_VOID(check_decay(desc.beta2, "beta2"));
    if (!std::isfinite(desc.epsilon) || desc.epsilon < kSmallestEpsilon || desc.epsilon > 1.0F) {
        return bad_input(
            fmt::format("epsilon of [optimizer] is {}; it must be from 2^-40 (9.1e-13) to 1.", desc.epsilon));
    }
    const std::uint64_t arrays = std::max(1U, optimizer_state_arrays(desc.rule));
    YOLK_TRY(const std::uint64_t largest, checked_bytes({arrays, desc.element_count}, 4, "the state of [optimizer]"));
    return check_binding_size(device, largest, "the largest view of [optimizer]");
}

/// 1 / (1 - beta^t) by multiplications of double (squaring), so that every host gives the same bits; pow need not.
float unbias(float beta, std::uint64_t t) noexcept {
    double power = 1.0;
    for (auto square = static_cast<double>(beta); t != 0; t >>= 1U, square *= square) {
        if ((t & 1U) != 0) power *= square;
    }
    return static_cast<float>(1.0 / (1.0 - power));
}

}  // namespace

std::string_view to_string(OptimizerRule rule) noexcept { return rule_name_of(rule).name; }

Result<OptimizerRule> parse_optimizer_rule(std::string_view name) {
    for (const RuleName& row : kOptimizerRules) {
        if (row.name == name) return row.rule;
    }
    return bad_input(fmt::format("There is no optimizer \"{}\". Choose sgd, momentum or adam.", name));
}

std::uint32_t optimizer_state_arrays(OptimizerRule rule) noexcept { return rule_name_of(rule).state_arrays; }

ConfigSpace<OptimizerConfig> optimizer_space(const DeviceInfo& /*info*/, const OptimizerDesc& desc) {
    return {"optimizer",
            {{"workgroup_size", &OptimizerConfig::workgroup_size, workgroup_sizes()}},
            {},
            {.variant = fmt::format("f32, rule {}", static_cast<std::uint32_t>(desc.rule)),
             .extents = {desc.element_count}}};
}

struct OptimizerPlan::Impl {
    const Device* device = nullptr;
    OptimizerDesc desc;
    PipelineOf<abi_op::Params> pipeline;
};

struct BoundOptimizer::Impl {
    OptimizerDesc desc;
    BindingOf<abi_op::Params> binding;
};

OptimizerPlan::OptimizerPlan() noexcept = default;
OptimizerPlan::~OptimizerPlan() = default;
OptimizerPlan::OptimizerPlan(OptimizerPlan&&) noexcept = default;
OptimizerPlan& OptimizerPlan::operator=(OptimizerPlan&&) noexcept = default;
BoundOptimizer::BoundOptimizer() noexcept = default;
BoundOptimizer::~BoundOptimizer() = default;
BoundOptimizer::BoundOptimizer(BoundOptimizer&&) noexcept = default;
BoundOptimizer& BoundOptimizer::operator=(BoundOptimizer&&) noexcept = default;

Result<OptimizerPlan> plan_optimizer(const Device& device, const OptimizerDesc& desc) {
    if (!desc.config)
        return plan_tuned(device, desc, optimizer_space(device.info(), desc), OptimizerConfig{}, &plan_optimizer);
    YOLK_TRY_VOID(check_optimizer(device, desc));
    auto impl = std::make_unique<OptimizerPlan::Impl>();
    impl->device = &device;
    impl->desc = desc;
    const std::array<SpecConstant, 2> constants{{{abi::optimizer::kSpecWorkgroupSize, desc.config->workgroup_size},
                                                 {abi::optimizer::kSpecRule, rule_name_of(desc.rule).constant}}};
    YOLK_TRY(impl->pipeline, device.pipeline(kernels::kOptimizer, constants));
    OptimizerPlan plan;
    plan.impl_ = std::move(impl);
    return plan;
}

Result<BoundOptimizer> OptimizerPlan::bind(const OptimizerViews& views, const BufferView& /*scratch*/) const {
    const OptimizerDesc& desc = impl_->desc;
    const std::uint64_t array_bytes = std::uint64_t{4} * desc.element_count;
    const std::uint64_t state_bytes = array_bytes * optimizer_state_arrays(desc.rule);
    YOLK_TRY_VOID(check_views(*impl_->device, "[optimizer]", {{views.gradient, array_bytes, "gradient"}},
                              {{views.parameters, array_bytes, "parameters"}, {views.state, state_bytes, "state"}}));
    auto bound = std::make_unique<BoundOptimizer::Impl>();
    bound->desc = desc;
    if (desc.element_count > 0) {
        // A binding must hold something; the rule without state does not touch it.
        const BufferView state = state_bytes == 0 ? views.parameters : views.state;
        YOLK_TRY(bound->binding,
                 impl_->device->bind(impl_->pipeline, std::array{views.gradient, views.parameters, state}));
    }
    BoundOptimizer result;
    result.impl_ = std::move(bound);
    return result;
}

void BoundOptimizer::record(Recorder& recorder, float learning_rate, std::uint32_t step) const noexcept {
    const OptimizerDesc& desc = impl_->desc;
    if (desc.element_count == 0) return;
    const std::uint64_t t = std::uint64_t{step} + 1;
    const abi_op::Params params{.element_count = desc.element_count,
                                .learning_rate = learning_rate,
                                .beta1 = desc.beta1,
                                .beta2 = desc.beta2,
                                .one_minus_beta1 = 1.0F - desc.beta1,
                                .one_minus_beta2 = 1.0F - desc.beta2,
                                .epsilon = desc.epsilon,
                                .unbias1 = unbias(desc.beta1, t),
                                .unbias2 = unbias(desc.beta2, t)};
    const ScopedLabel label(recorder, "optimizer");
    recorder.dispatch(impl_->binding, params, grid_of(desc.element_count, desc.config->workgroup_size, kOptimizerCost));
}

}  // namespace yolk
