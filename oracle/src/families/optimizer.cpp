// SPDX-License-Identifier: Apache-2.0
// The table of optimizer: rules, sizes around a workgroup, first and late steps, magnitudes up to the ends of the
// stated ranges.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "check_tools.hpp"
#include "error_bounds.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/optimizer.hpp"

namespace yolk::oracle {
namespace {

/// A few flushes below 2^-100.
const double kStepFlushed = std::ldexp(1.0, -97);

/// beta m + share g: one rounding per product, one of the share itself, one of the sum.
OracleValue mixed(double beta, double m, double share, double g) {
    const double value = beta * m + share * g;
    return {value,
            kFp32Rounding * (std::abs(beta * m) + 2.0 * std::abs(share * g) + 1.01 * std::abs(value)) + kStepFlushed};
}

/// Kingma and Ba 2015, Algorithm 1, on an ascent direction. Relative errors in half ulps: v 4, its unbiasing 2, so 3
/// for the root, plus 1.7 of exact_sqrt; epsilon's addition 1; exact_reciprocal 2.2; the unbiasing of m and the last
/// product 3: together below 11.
OracleValue adam_direction(const OptimizerDesc& desc, const OracleValue& m, double v, double t) {
    const double unbias1 = 1.0 / (1.0 - std::pow(static_cast<double>(desc.beta1), t));
    const double unbias2 = 1.0 / (1.0 - std::pow(static_cast<double>(desc.beta2), t));
    const double denominator = std::sqrt(v * unbias2) + static_cast<double>(desc.epsilon);
    const double value = m.value * unbias1 / denominator;
    // A second moment that was flushed leaves the denominator short of its root.
    const double flushed = std::sqrt(kStepFlushed * unbias2) / denominator;
    return {value, m.tolerance * 1.01 * unbias1 / denominator + std::abs(value) * (11.0 * kFp32Rounding + flushed) +
                       kStepFlushed};
}

/// One step from given fp32 values by the textbook formulas, with pow, sqrt and division in double.
std::vector<OracleValues> optimizer_oracle(const OptimizerDesc& desc, std::span<const float> gradient,
                                           std::span<const float> parameters, std::span<const float> state,
                                           float learning_rate, std::uint32_t step) {
    OracleValues moved, next(state.size());
    const auto beta1 = static_cast<double>(desc.beta1);
    const auto beta2 = static_cast<double>(desc.beta2);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const auto g = static_cast<double>(gradient[i]);
        OracleValue direction{g, kStepFlushed};
        if (desc.rule == OptimizerRule::Momentum) {
            direction = next[i] = mixed(beta1, static_cast<double>(state[i]), 1.0, g);
        } else if (desc.rule == OptimizerRule::Adam) {
            const std::size_t second = parameters.size() + i;
            next[i] = mixed(beta1, static_cast<double>(state[i]), 1.0 - beta1, g);
            next[second] = mixed(beta2, static_cast<double>(state[second]), 1.0 - beta2, g * g);
            next[second].tolerance += kFp32Rounding * (1.0 - beta2) * g * g;  // the square's own rounding
            direction = adam_direction(desc, next[i], next[second].value, static_cast<double>(step) + 1.0);
        }
        const auto rate = static_cast<double>(learning_rate);
        const double value = static_cast<double>(parameters[i]) + rate * direction.value;
        const double tolerance = rate * direction.tolerance +
                                 kFp32Rounding * (1.01 * std::abs(rate * direction.value) + 1.01 * std::abs(value));
        moved.push_back({value, tolerance + std::ldexp(1.0, -40)});  // a parameter below 2^-40 is made zero
    }
    return {moved, next};
}

struct OptimizerCase {
    std::uint32_t elements = 1;
    float learning_rate = 0.1F;
    std::uint32_t step = 0;
    float gradient_size = 1.0F;  ///< largest magnitude drawn
};
constexpr std::array<OptimizerCase, 9> kOptimizerCases{{{0, 0.1F, 0, 1.0F},
                                                        {1, 0.2F, 0, 1.0F},
                                                        {7, 0.05F, 1, 10.0F},
                                                        {64, 1e-3F, 9, 0.01F},
                                                        {257, 0.3F, 1000, 3.0F},
                                                        {61, 1.0F, 2, 0x1p-45F},  // squares near the flush
                                                        {61, 1.0F, 5, 0x1p-90F},  // products below it
                                                        {61, 0x1p-40F, 3, 0x1p20F},
                                                        {61, 0x1p-20F, 100000, 0x1p47F}}};
constexpr std::array kCheckedOptimizers{OptimizerRule::Sgd, OptimizerRule::Momentum, OptimizerRule::Adam};

struct OptimizerInputs {
    std::vector<float> gradient, parameters, state;
};

OptimizerInputs draw_inputs(const OptimizerCase& item, const OptimizerDesc& desc, Draws& draws) {
    const std::size_t count = item.elements;
    OptimizerInputs inputs{.gradient = draws.uniforms(count, -item.gradient_size, item.gradient_size),
                           .parameters = draws.uniforms(count, -1.0F, 1.0F),
                           .state = {}};
    for (std::size_t i = 0; i < count; i += 5) inputs.parameters[i] = 0.0F;
    for (std::size_t i = 0; i < count; i += 7) inputs.gradient[i] = 0.0F;
    inputs.state.resize(count * optimizer_state_arrays(desc.rule));
    if (item.step == 0) return inputs;
    for (std::size_t i = 0; i < inputs.state.size(); ++i) {
        const float m = draws.uniform(-item.gradient_size, item.gradient_size);
        inputs.state[i] = i < count ? m : m * m;  // second moments are not negative
        if (std::abs(inputs.state[i]) < 0x1p-100F) inputs.state[i] = 0.0F;
    }
    return inputs;
}

class OptimizerProblem final : public OperationProblem<OptimizerDesc> {
   public:
    OptimizerProblem(const OptimizerCase& item, const OptimizerDesc& desc, OptimizerInputs inputs)
        : OperationProblem(
              desc,
              fmt::format("up to {}, betas {} and {}, step {}", item.gradient_size, desc.beta1, desc.beta2, item.step),
              item.learning_rate, item.step),
          case_(item),
          inputs_(std::move(inputs)) {}

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        return {
            bytes_of_values(inputs_.gradient), bytes_of_values(inputs_.parameters), bytes_of_values(inputs_.state), {}};
    }
    /// Of an element: one multiply-add, another for the momentum, and about 50 operations for Adam's square root and
    /// quotient.
    [[nodiscard]] double operations() const override {
        return case_.elements *
               (desc().rule == OptimizerRule::Adam ? 58.0 : 2.0 + 2.0 * optimizer_state_arrays(desc().rule));
    }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& /*made*/) const override {
        return optimizer_oracle(desc(), given.in<float>(0), given.in<float>(1), given.in<float>(2), case_.learning_rate,
                                case_.step);
    }

   private:
    OptimizerCase case_;
    OptimizerInputs inputs_;
};

void add(Problems& problems, const OptimizerCase& item, OptimizerDesc desc, Draws& draws) {
    desc.element_count = item.elements;
    problems.push_back(std::make_unique<OptimizerProblem>(item, desc, draw_inputs(item, desc, draws)));
}

Problems optimizer_cases(std::uint64_t seed) {
    Problems problems;
    Draws draws(seed, 5);
    for (const OptimizerCase& item : kOptimizerCases) {
        for (const OptimizerRule rule : kCheckedOptimizers) {
            add(problems, item, {.rule = rule, .config = {}}, draws);
            if (rule == OptimizerRule::Sgd) continue;  // has no decays
            const float beta1 = draws.uniform(0.0F, 0.99F);
            const float beta2 = draws.uniform(0.0F, 0.9999F);
            add(problems, item, {.rule = rule, .beta1 = beta1, .beta2 = beta2, .config = {}}, draws);
        }
    }
    return problems;
}

Problems optimizer_benchmarks() {
    Problems problems;
    Draws draws(42, 5);
    for (const OptimizerRule rule : kCheckedOptimizers)
        add(problems, {.elements = 1U << 20U}, {.rule = rule, .config = {}}, draws);
    return problems;
}

std::unique_ptr<Problem> make_optimizer_problem(const OptimizerDesc& desc) {
    Draws draws(42, 5);
    const OptimizerCase item{.elements = desc.element_count};
    return std::make_unique<OptimizerProblem>(item, desc, draw_inputs(item, desc, draws));
}

}  // namespace

const Family& optimizer_family() noexcept {
    static constexpr Family kFamily{.name = "optimizer",
                                    .exactness = "P",
                                    .cases = &optimizer_cases,
                                    .benchmarks = &optimizer_benchmarks,
                                    .operation = &kOperationText<OptimizerDesc, &make_optimizer_problem>};
    return kFamily;
}

}  // namespace yolk::oracle
