// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "check_tools.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/internal/reference/formulas/perturbed_linear.hpp"
#include "yolk/perturbed_linear.hpp"

namespace yolk::oracle {
namespace {

/// Whose noise all problems draw.
PerturbedLinearDesc of_parameter_11(PerturbedLinearDesc desc) {
    desc.parameter = ParameterId{11};
    return desc;
}

class PerturbedLinearProblem final : public OperationProblem<PerturbedLinearDesc> {
   public:
    explicit PerturbedLinearProblem(const PerturbedLinearDesc& desc, std::int32_t first_member = 0, float sigma = 0.1F,
                                    std::uint64_t seed = 42, bool plain = false)
        : OperationProblem(of_parameter_11(desc), fmt::format("from member {}, sigma {}", first_member, sigma),
                           NoiseContext{.seed = seed + 1, .generation = 9, .time = 4, .sigma = sigma},
                           OrDefault<std::int32_t>{first_member}),
          plain_(plain) {}

    /// On matrix units where they may take the base.
    [[nodiscard]] std::vector<Configuration> also_checked(const DeviceInfo& info) const override {
        const ConfigSpace<PerturbedLinearConfig> space = space_of(info, desc());
        const PerturbedLinearConfig units{.base = 2};
        if (!space.check(units)) return {};
        return {space.configuration(units)};
    }
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        const Inputs inputs = draw_inputs();
        return {bytes_in_format(desc().weights_format, inputs.weights),
                bytes_in_format(desc().input_format, inputs.input)};
    }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& /*given*/,
                                                   const HostViews& /*made*/) const override {
        const Inputs inputs = draw_inputs();
        PerturbedLinearDesc wide = desc();
        wide.weights_format = wide.input_format = FloatFormat::F32;
        return bounds_of(wide, {inputs.weights, inputs.input}, argument<0>(), argument<1>());
    }
    [[nodiscard]] bool has_twin(std::size_t /*written*/) const override {
        return desc().determinism == Determinism::Exact;
    }
    /// The base product's only, so that rank and noise show as cost.
    [[nodiscard]] Work work() const override {
        const double instances = static_cast<double>(desc().members) * desc().rows;
        const double weights = static_cast<double>(desc().in) * desc().out;
        const double input = (desc().shared_input ? desc().rows : instances) * inner();
        const auto element_bytes = [](FloatFormat format) { return format == FloatFormat::F32 ? 4.0 : 2.0; };
        return {.operations = 2.0 * instances * weights,
                .bytes = element_bytes(desc().weights_format) * weights + element_bytes(desc().input_format) * input +
                         4.0 * instances * outer()};
    }

   private:
    struct Inputs {
        std::vector<float> weights, input;
    };
    [[nodiscard]] std::uint32_t inner() const { return desc().transposed ? desc().out : desc().in; }
    [[nodiscard]] std::uint32_t outer() const { return desc().transposed ? desc().in : desc().out; }
    /// In [-1, 1), in cases now and then an operand that the operand rule drops, one of them denormal; not in
    /// benchmarks, since denormal numbers cost processors a hundred cycles.
    [[nodiscard]] Inputs draw_inputs() const {
        Draws draws(argument<0>().seed, 2);
        const std::size_t rows = std::size_t{desc().shared_input ? 1 : desc().members} * desc().rows;
        Inputs inputs{draws.uniforms(std::size_t{desc().out} * desc().in, -1.0F, 1.0F),
                      draws.uniforms(rows * inner(), -1.0F, 1.0F)};
        round_inputs(inputs);
        if (!plain_) return inputs;
        for (std::size_t i = 3; i < inputs.weights.size(); i += 11)
            inputs.weights[i] = i % 2 == 0 ? 0x1p-41F : 0x1p-130F;
        for (std::size_t i = 5; i < inputs.input.size(); i += 13) inputs.input[i] = i % 2 == 0 ? -0x1p-41F : 0x1p-140F;
        round_inputs(inputs);
        return inputs;
    }
    void round_inputs(Inputs& inputs) const {
        for (float& weight : inputs.weights) weight = in_format(desc().weights_format, weight);
        for (float& x : inputs.input) x = in_format(desc().input_format, x);
    }

    bool plain_;
};

struct PerturbedLinearCase {
    std::uint32_t members, rows, in, out, rank;
    bool shared_input;
    std::int32_t first_member;
    float sigma;
    bool transposed = false;
    FloatFormat input = FloatFormat::F32;
    FloatFormat weights = FloatFormat::F32;
    bool antithetic = true;
    Determinism determinism = Determinism::Exact;
    Activation activation = Activation::Identity;
};

// Empty extents, ones, primes, around a block of 8 noise elements and tiles of 8, 16 and 64 outputs; ranks around a
// block, up to 32; the mean; members that begin with the second side of a pair; a sigma that the operand rule makes
// zero; and chains that lavapipe 22.3 makes a plan split, in k (rank 1) and in k * rank. Formats of 16 bits. Then
// fast ones, one of them split, three such as matrix units take: a shared x, one of each member, and transposed. At
// last the largest blocks of GPUs, whole, with a rest on every side; and activations, one after a split chain.
constexpr auto kPerturbedLinearCases = std::to_array<PerturbedLinearCase>({
    {0, 1, 4, 3, 1, true, 0, 0.1F},
    {2, 0, 4, 3, 1, false, 0, 0.1F},
    {2, 1, 4, 0, 1, true, 0, 0.1F},
    {2, 2, 0, 5, 3, false, 0, 0.1F},
    {1, 1, 1, 1, 1, true, 0, 0.1F},
    {1, 1, 1, 1, 1, false, -1, 0.1F},
    {5, 3, 7, 7, 1, false, -1, 0.2F},
    {4, 2, 8, 8, 2, true, 2, 0.05F},
    {3, 1, 9, 9, 3, false, 1, 1.0F},
    {2, 3, 13, 17, 4, true, 6, 0.1F},
    {3, 2, 16, 15, 7, false, 0, 0.1F},
    {2, 1, 31, 33, 8, true, -1, 3.0F},
    {2, 2, 17, 16, 9, false, 4, 0.1F},
    {2, 1, 64, 5, 32, true, 0, 0.1F},
    {67, 1, 4, 2, 1, true, 0, 0.2F},
    {2, 1, 5, 3, 2, false, 0, 1e-13F},
    {1, 1, 70001, 2, 1, true, 3, 0.1F},
    {1, 1, 17001, 1, 32, false, 2, 0.1F},
    {33, 1, 64, 64, 1, false, 0, 0.1F},
    {9, 8, 64, 72, 4, false, 3, 0.1F},
    {6, 5, 65, 67, 2, false, -1, 0.1F},
    {2, 1, 3, 0, 1, true, 0, 0.1F, true},
    {1, 1, 1, 1, 1, true, -1, 0.1F, true},
    {17, 1, 64, 64, 1, false, 0, 0.1F, true},
    {4, 2, 17, 8, 4, true, 1, 0.1F, true},
    {6, 2, 20, 33, 8, false, 5, 0.1F, true},
    {3, 3, 36, 15, 12, true, -1, 0.1F, true},
    {2, 1, 5, 64, 32, false, 0, 0.1F, true},
    {1, 1, 2, 70001, 2, true, 0, 0.1F, true},
    {3, 2, 9, 7, 1, false, -1, 0.1F, false, FloatFormat::F32, FloatFormat::BF16},
    {5, 3, 12, 64, 2, true, 1, 0.1F, false, FloatFormat::F16, FloatFormat::F16},
    {2, 2, 33, 12, 3, false, 0, 0.1F, true, FloatFormat::BF16, FloatFormat::BF16},
    {5, 3, 12, 17, 2, false, -1, 0.2F, false, FloatFormat::F32, FloatFormat::F32, false},
    {17, 1, 9, 16, 1, true, 3, 0.1F, false, FloatFormat::F32, FloatFormat::F32, false},
    {4, 2, 20, 11, 9, false, 0, 0.1F, true, FloatFormat::F32, FloatFormat::F32, false},
    {5, 3, 13, 17, 3, true, 0, 0.2F, false, FloatFormat::F32, FloatFormat::F32, true, Determinism::Fast},
    {3, 2, 40, 36, 2, false, -1, 0.1F, true, FloatFormat::F32, FloatFormat::F32, true, Determinism::Fast},
    {9, 8, 64, 72, 4, false, 3, 0.1F, false, FloatFormat::F32, FloatFormat::F32, true, Determinism::Fast},
    {1, 1, 70001, 2, 1, true, 3, 0.1F, false, FloatFormat::F32, FloatFormat::F32, true, Determinism::Fast},
    {4, 16, 32, 64, 2, true, 0, 0.1F, false, FloatFormat::F16, FloatFormat::F16, true, Determinism::Fast},
    {4, 8, 48, 32, 1, false, -1, 0.1F, false, FloatFormat::F16, FloatFormat::F16, true, Determinism::Fast},
    {16, 1, 32, 16, 4, false, 1, 0.1F, true, FloatFormat::F16, FloatFormat::F16, true, Determinism::Fast},
    {33, 4, 28, 132, 1, false, 0, 0.1F},
    {33, 4, 28, 132, 1, false, 0, 0.1F, false, FloatFormat::F32, FloatFormat::F32, true, Determinism::Fast},
    {.members = 5,
     .rows = 3,
     .in = 13,
     .out = 17,
     .rank = 1,
     .shared_input = false,
     .first_member = -1,
     .sigma = 0.2F,
     .activation = Activation::Tanh},
    {.members = 6,
     .rows = 4,
     .in = 16,
     .out = 20,
     .rank = 2,
     .shared_input = true,
     .first_member = 1,
     .sigma = 0.2F,
     .activation = Activation::Gelu},
    {.members = 9,
     .rows = 2,
     .in = 12,
     .out = 33,
     .rank = 4,
     .shared_input = false,
     .first_member = 0,
     .sigma = 0.5F,
     .transposed = true,
     .activation = Activation::Silu},
    {.members = 3,
     .rows = 2,
     .in = 24,
     .out = 16,
     .rank = 9,
     .shared_input = false,
     .first_member = 2,
     .sigma = 0.3F,
     .determinism = Determinism::Fast,
     .activation = Activation::Relu},
    {.members = 1,
     .rows = 1,
     .in = 70001,
     .out = 2,
     .rank = 1,
     .shared_input = true,
     .first_member = 3,
     .sigma = 0.1F,
     .activation = Activation::Sigmoid},
    {.members = 64,
     .rows = 64,
     .in = 8,
     .out = 64,
     .rank = 1,
     .shared_input = false,
     .first_member = 0,
     .sigma = 0.1F,
     .activation = Activation::Tanh},
});

std::unique_ptr<Problem> linear_problem(const PerturbedLinearCase& c, std::uint64_t seed, bool plain) {
    return std::make_unique<PerturbedLinearProblem>(PerturbedLinearDesc{.members = c.members,
                                                                        .rows = c.rows,
                                                                        .in = c.in,
                                                                        .out = c.out,
                                                                        .rank = c.rank,
                                                                        .shared_input = c.shared_input,
                                                                        .weights_format = c.weights,
                                                                        .input_format = c.input,
                                                                        .transposed = c.transposed,
                                                                        .antithetic = c.antithetic,
                                                                        .activation = c.activation,
                                                                        .determinism = c.determinism},
                                                    c.first_member, c.sigma, seed, plain);
}

Problems perturbed_linear_cases(std::uint64_t seed) {
    Problems problems;
    for (const PerturbedLinearCase& c : kPerturbedLinearCases) problems.push_back(linear_problem(c, seed, true));
    return problems;
}

Problems perturbed_linear_benchmarks() {
    Problems problems;
    for (const std::uint32_t rank : {1U, 4U}) {
        problems.push_back(linear_problem({4096, 1, 64, 64, rank, false, 0, 0.1F}, 42, false));
        problems.push_back(linear_problem({256, 8, 1024, 1024, rank, false, 0, 0.1F}, 42, false));
    }
    problems.push_back(linear_problem({4096, 1, 64, 64, 1, false, 0, 0.1F, true}, 42, false));
    problems.push_back(linear_problem({4096, 1, 64, 64, 1, true, 0, 0.1F}, 42, false));
    problems.push_back(linear_problem({.members = 256,
                                       .rows = 8,
                                       .in = 1024,
                                       .out = 1024,
                                       .rank = 1,
                                       .shared_input = false,
                                       .first_member = 0,
                                       .sigma = 0.1F,
                                       .determinism = Determinism::Fast},
                                      42, false));
    return problems;
}

// As of matmul; GPUs take smaller tiles from rank 2 and from rank 5 on.
Problems large_perturbed_linears() {
    Problems problems;
    const auto add = [&](PerturbedLinearDesc desc) {
        desc.rows = 1;
        for (const bool exact : {desc.in % 4 != 0, desc.in % 4 == 0}) {
            desc.determinism = exact ? Determinism::Exact : Determinism::Fast;
            problems.push_back(make_problem<PerturbedLinearProblem>(desc));
        }
    };
    for (const std::uint32_t odd : {0U, 1U}) {
        for (const std::uint32_t rank : {1U, 4U, 8U})
            add({.members = 4096, .in = 4096 + odd, .out = 4096, .rank = rank});
        for (const auto& [members, out] : {std::array{512U, 512U}, std::array{256U, 256U}, std::array{16U, 4096U},
                                           std::array{4096U, 16U}, std::array{4096U, 10U}})
            add({.members = members, .in = 512 + odd, .out = out});
    }
    add({.members = 4096, .in = 4096, .out = 4096, .shared_input = true});
    return problems;
}

}  // namespace

const Family& perturbed_linear_family() noexcept {
    static constexpr Family kFamily{
        .name = "perturbed_linear",
        .exactness = "P+T",
        .cases = &perturbed_linear_cases,
        .benchmarks = &perturbed_linear_benchmarks,
        .each_configuration_once = true,
        .operation = &kOperationText<PerturbedLinearDesc, &make_problem<PerturbedLinearProblem>>,
        .large = &large_perturbed_linears};
    return kFamily;
}

}  // namespace yolk::oracle
