// SPDX-License-Identifier: Apache-2.0
#include "yolk/optimizer.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "operation_plan.hpp"
#include "yolk/internal/abi/optimizer.h"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_op = abi::optimizer;

/// The kernel's constant of each rule, in their order.
constexpr std::array kOptimizerRuleConstants{abi_op::kRuleSgd, abi_op::kRuleMomentum, abi_op::kRuleAdam};

/// About what the step of one element costs: Adam's square root and quotient are polynomials.
constexpr std::uint64_t kOptimizerCost = 64;
/// Below this the flush of squares (2^-100) would show in sqrt(v) + epsilon.
constexpr float kSmallestEpsilon = 0x1p-40F;

Result<void> check_decay(float beta, const char* name) {
    if (beta >= 0.0F && beta < 1.0F) return {};
    return bad_input("{} of [optimizer] is {}; it must be at least 0 and below 1.", name, beta);
}

Result<void> check_optimizer(const OptimizerDesc& desc) {
    YOLK_TRY_VOID(check_decay(desc.beta1, "beta1"));
    YOLK_TRY_VOID(check_decay(desc.beta2, "beta2"));
    if (std::isfinite(desc.epsilon) && desc.epsilon >= kSmallestEpsilon && desc.epsilon <= 1.0F) return {};
    return bad_input("epsilon of [optimizer] is {}; it must be from 2^-40 (9.1e-13) to 1.", desc.epsilon);
}

ViewShape elements_view(const OptimizerDesc& desc) { return {{{"elements", desc.element_count}}}; }
ViewShape optimizer_state_view(const OptimizerDesc& desc) {
    const std::uint32_t arrays = optimizer_state_arrays(desc.rule);
    return {.extents = {{"state_arrays", arrays}, {"elements", desc.element_count}}, .used = arrays != 0};
}
ViewShape skipped_view(const OptimizerDesc& desc) {
    return {
        .extents = {{"counters", std::min(desc.element_count, 1U)}}, .dtype = DType::U32, .used = desc.counts_skipped};
}

std::vector<Knob<OptimizerConfig>> optimizer_knobs(const DeviceInfo& /*info*/, const OptimizerDesc& /*desc*/) {
    return {{"workgroup_size", &OptimizerConfig::workgroup_size, workgroup_sizes()}};
}

OptimizerConfig optimizer_heuristic(const DeviceInfo& /*info*/, const OptimizerDesc& /*desc*/) { return {}; }

/// 1 / (1 - beta^t) by multiplications of double (squaring), so that every host gives the same bits; pow need not.
float unbias(float beta, std::uint64_t t) noexcept {
    double power = 1.0;
    for (auto square = static_cast<double>(beta); t != 0; t >>= 1U, square *= square) {
        if ((t & 1U) != 0) power *= square;
    }
    return static_cast<float>(1.0 / (1.0 - power));
}

Result<PipelinesOf<OptimizerDesc>> build_optimizer(const Device& device, const OptimizerDesc& desc) {
    const std::array constants{
        SpecConstant{abi_op::kSpecWorkgroupSize, desc.config->workgroup_size},
        SpecConstant{abi_op::kSpecRule, kOptimizerRuleConstants.at(static_cast<std::size_t>(desc.rule))},
        SpecConstant{abi_op::kSpecCounts, desc.counts_skipped ? 1U : 0U}};
    return device.pipeline(kernels::kOptimizer, constants);
}

void record_optimizer(Recorder& recorder, const BindingsOf<OptimizerDesc>& binding, const OptimizerDesc& desc,
                      float learning_rate, std::uint32_t step) noexcept {
    const std::uint64_t t = std::uint64_t{step} + 1;
    recorder.dispatch(binding,
                      {.element_count = desc.element_count,
                       .learning_rate = learning_rate,
                       .beta1 = desc.beta1,
                       .beta2 = desc.beta2,
                       .one_minus_beta1 = 1.0F - desc.beta1,
                       .one_minus_beta2 = 1.0F - desc.beta2,
                       .epsilon = desc.epsilon,
                       .unbias1 = unbias(desc.beta1, t),
                       .unbias2 = unbias(desc.beta2, t)},
                      grid_of(desc.element_count, desc.config->workgroup_size, kOptimizerCost));
}

}  // namespace

Result<OptimizerRule> parse_optimizer_rule(std::string_view name) {
    constexpr auto kWords = enum_words(OptimizerRule{});
    const auto found = std::ranges::find(kWords, name);
    if (found != kWords.end()) return static_cast<OptimizerRule>(found - kWords.begin());
    return bad_input("There is no optimizer \"{}\". Choose sgd, momentum or adam.", name);
}

std::uint32_t optimizer_state_arrays(OptimizerRule rule) noexcept { return static_cast<std::uint32_t>(rule); }

template <>
const Operation<OptimizerDesc>& operation_of<OptimizerDesc>() {
    using Desc = OptimizerDesc;
    using Views = OptimizerViews;
    static const Operation<Desc> kOperation{
        .name = "optimizer",
        .fields = {"optimizer", {extent<&Desc::element_count>("elements"), variant<&Desc::rule>("rule")}},
        .views = {{"gradient", ViewRole::Input, &Views::gradient, &elements_view},
                  {"parameters", ViewRole::InOut, &Views::parameters, &elements_view},
                  {"state", ViewRole::InOut, &Views::state, &optimizer_state_view},
                  {"skipped", ViewRole::InOut, &Views::skipped, &skipped_view}},
        .knobs = &optimizer_knobs,
        .heuristic = &optimizer_heuristic,
        .check = &check_optimizer,
        .build = &build_optimizer,
        .record = &record_optimizer,
    };
    return kOperation;
}
template class Plan<OptimizerDesc>;

}  // namespace yolk
