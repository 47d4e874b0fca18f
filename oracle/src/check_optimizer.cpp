// SPDX-License-Identifier: Apache-2.0
// The table of optimizer: rules, sizes around a workgroup, first and late steps, magnitudes up to the ends of the
// stated ranges.
#include <fmt/format.h>

#include "check_tools.hpp"
#include "yolk/oracle/check.hpp"
#include "yolk/oracle/optimizer.hpp"

namespace yolk::oracle {
namespace {

struct Case {
    std::uint32_t elements = 1;
    float learning_rate = 0.1F;
    std::uint32_t step = 0;
    float gradient_size = 1.0F;  ///< largest magnitude drawn
};
constexpr std::array<Case, 9> kCases{{{0, 0.1F, 0, 1.0F},
                                      {1, 0.2F, 0, 1.0F},
                                      {7, 0.05F, 1, 10.0F},
                                      {64, 1e-3F, 9, 0.01F},
                                      {257, 0.3F, 1000, 3.0F},
                                      {61, 1.0F, 2, 0x1p-45F},  // squares near the flush
                                      {61, 1.0F, 5, 0x1p-90F},  // products below it
                                      {61, 0x1p-40F, 3, 0x1p20F},
                                      {61, 0x1p-20F, 100000, 0x1p47F}}};
constexpr std::array kRules{OptimizerRule::Sgd, OptimizerRule::Momentum, OptimizerRule::Adam};

struct Inputs {
    std::vector<float> gradient, parameters, state;
};

Inputs draw_inputs(const Case& item, const OptimizerDesc& desc, Draws& draws) {
    const std::size_t count = item.elements;
    Inputs inputs{.gradient = draws.uniforms(count, -item.gradient_size, item.gradient_size),
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

Result<Inputs> run_kernel(const CheckContext& context, CheckReport& report, const std::string& name,
                          const OptimizerDesc& desc, const Case& item, const Inputs& inputs, std::uint32_t poison) {
    const auto& [device, dispatcher, seed, configurations, all_configurations, progress] = context;
    const std::uint64_t bytes = std::uint64_t{4} * item.elements;
    YOLK_TRY(auto gradient, GuardedBuffer::create(device, dispatcher, bytes, poison, "gradient"));
    YOLK_TRY(auto parameters, GuardedBuffer::create(device, dispatcher, bytes, poison, "parameters"));
    YOLK_TRY(auto state, GuardedBuffer::create(device, dispatcher, 4 * inputs.state.size(), poison, "state"));
    YOLK_TRY_VOID(gradient.upload(inputs.gradient));
    YOLK_TRY_VOID(parameters.upload(inputs.parameters));
    YOLK_TRY_VOID(state.upload(inputs.state));
    YOLK_TRY(const OptimizerPlan plan, plan_optimizer(device, desc));
    YOLK_TRY(const BoundOptimizer bound,
             plan.bind({.gradient = gradient.view(), .parameters = parameters.view(), .state = state.view()}));
    YOLK_TRY_VOID(
        run_recorded(context, [&](Recorder& recorder) { bound.record(recorder, item.learning_rate, item.step); }));
    YOLK_TRY_VOID(hold_guards(report, name, parameters, "the parameters"));
    YOLK_TRY_VOID(hold_guards(report, name, state, "the state"));
    Inputs after{.gradient = inputs.gradient, .parameters = {}, .state = {}};
    YOLK_TRY(after.parameters, parameters.download<float>());
    YOLK_TRY(after.state, state.download<float>());
    return after;
}

std::vector<OracleValue> tolerances(const std::vector<OptimizerValue>& values) {
    std::vector<OracleValue> result;
    for (const OptimizerValue& value : values) result.push_back({value.value, value.tolerance});
    return result;
}

Result<void> check_case(const CheckContext& context, CheckReport& report, const Case& item, OptimizerDesc desc,
                        Draws& draws) {
    const Inputs inputs = draw_inputs(item, desc, draws);
    const OptimizerOracle oracle =
        optimizer_oracle(desc, inputs.gradient, inputs.parameters, inputs.state, item.learning_rate, item.step);
    Inputs twin = inputs;
    optimizer_twin(desc, twin.gradient, twin.parameters, twin.state, item.learning_rate, item.step);
    for (const std::uint32_t poison : kPoisons) {
        const std::string name = fmt::format("{} of {} elements up to {}, step {} (workgroup {})", to_string(desc.rule),
                                             item.elements, item.gradient_size, item.step, desc.config.workgroup_size);
        YOLK_TRY(const Inputs after, run_kernel(context, report, name, desc, item, inputs, poison));
        ++report.cases;
        hold_to_oracle(report, name + ", parameters", after.parameters, tolerances(oracle.parameters));
        hold_to_oracle(report, name + ", state", after.state, tolerances(oracle.state));
        hold_to_twin(report, name + ", parameters", after.parameters, twin.parameters);
        hold_to_twin(report, name + ", state", after.state, twin.state);
    }
    return {};
}

}  // namespace

Result<CheckReport> check_optimizer(const CheckContext& context) {
    CheckReport report;
    report.kernel = "optimizer";
    report.exactness = "P";
    Draws draws(context.seed, 5);
    for (const Case& item : kCases) {
        for (const OptimizerRule rule : kRules) {
            for (std::uint32_t index = 0; index < context.configurations; ++index) {
                OptimizerDesc desc{.rule = rule, .element_count = item.elements, .config = {}};
                if (index > 0) {
                    desc.config.workgroup_size = draws.one_of(std::array<std::uint32_t, 5>{1, 7, 32, 128, 256});
                    desc.beta1 = draws.uniform(0.0F, 0.99F);
                    desc.beta2 = draws.uniform(0.0F, 0.9999F);
                }
                YOLK_TRY_VOID(check_case(context, report, item, desc, draws));
            }
        }
    }
    return report;
}

}  // namespace yolk::oracle
