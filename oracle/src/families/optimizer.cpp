// SPDX-License-Identifier: Apache-2.0
// The table of optimizer: rules, sizes around a workgroup, first and late steps, magnitudes up to the ends of the
// stated ranges.
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "check_tools.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/internal/reference/formulas/optimizer.hpp"
#include "yolk/optimizer.hpp"

namespace yolk::oracle {
namespace {

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
        return bounds_of(desc(), given, case_.learning_rate, case_.step);
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
