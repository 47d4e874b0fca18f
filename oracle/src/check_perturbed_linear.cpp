// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "check_tools.hpp"
#include "yolk/oracle/check.hpp"
#include "yolk/oracle/perturbed_linear.hpp"

namespace yolk::oracle {

namespace {

struct Case {
    std::uint32_t members, rows, in, out, rank;
    bool shared_input;
    std::int32_t first_member;
    float sigma;
};

// Empty extents, ones, primes, around a block of 8 noise elements and a tile of 8 outputs; ranks around a block; the
// mean; a sigma that the operand rule makes zero; and chains that lavapipe 22.3 makes a plan split, in k (rank 1) and
// in k * rank.
constexpr std::array kCases{
    Case{0, 1, 4, 3, 1, true, 0, 0.1F},     Case{2, 0, 4, 3, 1, false, 0, 0.1F},
    Case{2, 1, 4, 0, 1, true, 0, 0.1F},     Case{2, 2, 0, 5, 3, false, 0, 0.1F},
    Case{1, 1, 1, 1, 1, true, 0, 0.1F},     Case{1, 1, 1, 1, 1, false, -1, 0.1F},
    Case{5, 3, 7, 7, 1, false, -1, 0.2F},   Case{4, 2, 8, 8, 2, true, 2, 0.05F},
    Case{3, 1, 9, 9, 3, false, 1, 1.0F},    Case{2, 3, 13, 17, 4, true, 6, 0.1F},
    Case{3, 2, 16, 15, 7, false, 0, 0.1F},  Case{2, 1, 31, 33, 8, true, -1, 3.0F},
    Case{2, 2, 17, 16, 9, false, 4, 0.1F},  Case{2, 1, 64, 5, 32, true, 0, 0.1F},
    Case{67, 1, 4, 2, 1, true, 0, 0.2F},    Case{2, 1, 5, 3, 2, false, 0, 1e-13F},
    Case{1, 1, 70001, 2, 1, true, 3, 0.1F}, Case{1, 1, 17001, 1, 32, false, 2, 0.1F},
};

std::vector<PerturbedLinearConfig> draw_configs(const CheckContext& context) {
    constexpr std::array<std::uint32_t, 5> kWorkgroups{1, 8, 32, 128, 256};
    std::vector<PerturbedLinearConfig> configs{PerturbedLinearConfig{}};
    Draws draws(context.seed, 1);
    while (configs.size() < context.configurations) {
        configs.push_back({.workgroup_size = draws.one_of(kWorkgroups), .outputs_per_invocation = 1 + draws.below(8)});
    }
    return configs;
}

struct Inputs {
    std::vector<float> weights;
    std::vector<float> input;
};

// In [-1, 1), now and then an operand that the operand rule drops, one of them denormal.
Inputs draw_inputs(const CheckContext& context, const PerturbedLinearDesc& desc) {
    Draws draws(context.seed, 2);
    const std::size_t input_rows = std::size_t{desc.shared_input ? 1 : desc.members} * desc.rows;
    Inputs inputs{draws.uniforms(std::size_t{desc.out} * desc.in, -1.0F, 1.0F),
                  draws.uniforms(input_rows * desc.in, -1.0F, 1.0F)};
    for (std::size_t i = 3; i < inputs.weights.size(); i += 11) inputs.weights[i] = i % 2 == 0 ? 0x1p-41F : 0x1p-130F;
    for (std::size_t i = 5; i < inputs.input.size(); i += 13) inputs.input[i] = i % 2 == 0 ? -0x1p-41F : 0x1p-140F;
    return inputs;
}

std::string name_of(const Case& c, const PerturbedLinearDesc& desc, std::uint32_t poison) {
    return fmt::format(
        "members {} from {}, rows {}{}, {} -> {}, rank {}, sigma {}, workgroup {}, outputs {}, poison {:08x}",
        c.members, c.first_member, c.rows, c.shared_input ? " shared" : "", c.in, c.out, c.rank, c.sigma,
        desc.config.workgroup_size, desc.config.outputs_per_invocation, poison);
}

struct Buffers {
    GuardedBuffer weights, input, output, scratch;
};

Result<Buffers> make_buffers(const CheckContext& context, const PerturbedLinearDesc& desc, const Inputs& inputs,
                             std::uint64_t scratch_bytes, std::uint32_t poison) {
    const auto create = [&](std::uint64_t size_bytes, const char* label) {
        return GuardedBuffer::create(context.device, context.dispatcher, size_bytes, poison, label);
    };
    YOLK_TRY(GuardedBuffer weights, create(4 * inputs.weights.size(), "perturbed_linear.weights"));
    YOLK_TRY(GuardedBuffer input, create(4 * inputs.input.size(), "perturbed_linear.input"));
    YOLK_TRY(GuardedBuffer output,
             create(std::uint64_t{4} * desc.members * desc.rows * desc.out, "perturbed_linear.output"));
    YOLK_TRY(GuardedBuffer scratch, create(scratch_bytes, "perturbed_linear.scratch"));
    YOLK_TRY_VOID(weights.upload(inputs.weights));
    YOLK_TRY_VOID(input.upload(inputs.input));
    return Buffers{std::move(weights), std::move(input), std::move(output), std::move(scratch)};
}

Result<std::vector<float>> run_case(const CheckContext& context, const Case& c, const PerturbedLinearDesc& desc,
                                    const Inputs& inputs, const NoiseTime& when, std::uint32_t poison,
                                    CheckReport& report) {
    YOLK_TRY(const PerturbedLinearPlan plan, plan_perturbed_linear(context.device, desc));
    YOLK_TRY(const Buffers buffers, make_buffers(context, desc, inputs, plan.scratch().size_bytes, poison));
    YOLK_TRY(
        const BoundPerturbedLinear bound,
        plan.bind({.weights = buffers.weights.view(), .input = buffers.input.view(), .output = buffers.output.view()},
                  buffers.scratch.view()));
    YOLK_TRY_VOID(run_recorded(context, [&](Recorder& recorder) { bound.record(recorder, when, c.first_member); }));
    const std::string name = name_of(c, desc, poison);
    YOLK_TRY_VOID(hold_guards(report, name, buffers.weights, "weights"));
    YOLK_TRY_VOID(hold_guards(report, name, buffers.input, "input"));
    YOLK_TRY_VOID(hold_guards(report, name, buffers.output, "output"));
    YOLK_TRY_VOID(hold_guards(report, name, buffers.scratch, "scratch"));
    return buffers.output.download<float>();
}

Result<void> check_case(const CheckContext& context, const Case& c, const std::vector<PerturbedLinearConfig>& configs,
                        CheckReport& report) {
    PerturbedLinearDesc desc{.members = c.members,
                             .rows = c.rows,
                             .in = c.in,
                             .out = c.out,
                             .rank = c.rank,
                             .parameter = ParameterId{11},
                             .shared_input = c.shared_input};
    const NoiseTime when{.seed = context.seed + 1, .generation = 9, .time = 4, .sigma = c.sigma};
    const Inputs inputs = draw_inputs(context, desc);
    const std::vector<float> twin = perturbed_linear_twin(desc, inputs.weights, inputs.input, when, c.first_member);
    const PerturbedLinearOracle oracle =
        perturbed_linear_oracle(desc, inputs.weights, inputs.input, when, c.first_member);
    std::vector<OracleValue> values;
    for (std::size_t i = 0; i < oracle.values.size(); ++i) values.push_back({oracle.values[i], oracle.tolerances[i]});
    for (const PerturbedLinearConfig& config : configs) {
        desc.config = config;
        for (const std::uint32_t poison : kPoisons) {
            YOLK_TRY(const std::vector<float> got, run_case(context, c, desc, inputs, when, poison, report));
            ++report.cases;
            hold_to_twin(report, name_of(c, desc, poison), got, twin);
            hold_to_oracle(report, name_of(c, desc, poison), got, values);
        }
    }
    return {};
}

}  // namespace

Result<CheckReport> check_perturbed_linear(const CheckContext& context) {
    CheckReport report;
    report.kernel = "perturbed_linear";
    report.exactness = "P";
    const std::vector<PerturbedLinearConfig> configs = draw_configs(context);
    for (const Case& c : kCases) YOLK_TRY_VOID(check_case(context, c, configs, report));
    return report;
}

}  // namespace yolk::oracle
