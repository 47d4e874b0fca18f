// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "check_tools.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/internal/reference/formulas/perturbed_network.hpp"
#include "yolk/perturbed_network.hpp"

namespace yolk::oracle {
namespace {

class PerturbedNetworkProblem final : public OperationProblem<PerturbedNetworkDesc> {
   public:
    explicit PerturbedNetworkProblem(const PerturbedNetworkDesc& desc, std::int32_t first_member = 0,
                                     std::uint64_t seed = 42)
        : OperationProblem(desc, fmt::format("members from {}", first_member),
                           NoiseContext{.seed = seed, .generation = 9, .time = 4, .sigma = 0.1F}, {first_member}) {}

    [[nodiscard]] std::vector<ByteVector> contents() const override {
        const std::uint64_t seed = argument<0>().seed;
        const std::vector<std::uint32_t>& widths = desc().widths;
        std::vector<ByteVector> all;
        const auto add = [&](std::uint32_t stream, std::size_t count) {
            all.push_back(bytes_of_values(drawn_operands(seed, stream, count)));
        };
        for (std::uint32_t l = 0; l < desc().layers(); ++l) add(2 * l, std::size_t{widths[l]} * widths[l + 1]);
        for (std::uint32_t l = 0; l < desc().layers(); ++l) {
            if (desc().has_bias(l)) add(2 * l + 1, widths[l + 1]);
        }
        const std::size_t members = desc().shared_input ? 1 : desc().members;
        add(2 * kMostNetworkLayers, members * desc().rows * widths.front());
        return all;
    }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& /*made*/) const override {
        return bounds_of(desc(), given, argument<0>(), argument<1>());
    }
    [[nodiscard]] bool has_twin(std::size_t /*written*/) const override {
        return desc().determinism == Determinism::Exact;
    }
    /// The products of the weights only, so that noise and activations show as cost.
    [[nodiscard]] double operations() const override {
        return 2.0 * desc().members * desc().rows * static_cast<double>(network_products(desc()));
    }
};

struct NetworkCase {
    PerturbedNetworkDesc desc;
    std::int32_t first_member = 0;
};

// Empty extents, ones, primes; one to four layers, the widest, the most products; each activation, between layers and
// at the end; some and all biases; ranks around a block of noise; the mean; members that begin with the second side of
// a pair; rows around what an invocation serves.
std::vector<NetworkCase> network_cases() {
    using A = Activation;
    std::vector<NetworkCase> cases{
        {{.members = 0, .rows = 2, .widths = {3, 2}}},
        {{.members = 2, .rows = 0, .widths = {3, 2}}},
        {{.members = 1, .rows = 1, .widths = {1, 1}}},
        {{.members = 1, .rows = 1, .widths = {1, 1}, .biases = 1, .shared_input = true}, -1},
        {{.members = 5, .rows = 3, .widths = {7, 5, 3}, .activations = {A::Tanh}, .biases = 3}, -1},
        {{.members = 67, .rows = 8, .widths = {8, 16, 16, 4}, .activations = {A::Tanh, A::Tanh, A::Tanh}}},
        {{.members = 6,
          .rows = 17,
          .widths = {5, 3, 4, 2},
          .activations = {A::Tanh, A::Relu, A::Sigmoid},
          .biases = 7,
          .rank = 2,
          .shared_input = true},
         1},
        {{.members = 3,
          .rows = 5,
          .widths = {2, 3, 1, 5, 2},
          .activations = {A::Gelu, A::Silu, A::Sigmoid, A::Relu},
          .biases = 10,
          .rank = 3},
         3},
        {{.members = 4, .rows = 65, .widths = {64, 2}, .activations = {A::Silu}, .shared_input = true}},
        {{.members = 2, .rows = 4, .widths = {2, 64}, .activations = {A::Tanh}, .biases = 1}, 5},
        {{.members = 3, .rows = 2, .widths = {5, 4, 4}, .rank = 8, .antithetic = false}, 2},
        {{.members = 2, .rows = 3, .widths = {3, 2, 2}, .activations = {A::Gelu}, .biases = 1, .rank = 9}},
        {{.members = 2, .rows = 1, .widths = {3, 4}, .rank = 32, .shared_input = true}},
    };
    NetworkCase fast = cases[6];
    fast.desc.determinism = Determinism::Fast;
    cases.push_back(fast);
    return cases;
}

Problems perturbed_network_cases(std::uint64_t seed) {
    Problems problems;
    for (const NetworkCase& c : network_cases())
        problems.push_back(std::make_unique<PerturbedNetworkProblem>(c.desc, c.first_member, seed));
    return problems;
}

Problems perturbed_network_benchmarks() {
    Problems problems;
    const auto add = [&](PerturbedNetworkDesc desc) {
        problems.push_back(std::make_unique<PerturbedNetworkProblem>(desc));
    };
    const std::array tanh{Activation::Tanh, Activation::Tanh, Activation::Tanh, Activation::Identity};
    add({.members = 4096, .rows = 8, .widths = {8, 16, 16, 4}, .activations = tanh, .shared_input = true});
    add({.members = 4096, .rows = 8, .widths = {8, 16, 16, 4}, .activations = tanh, .biases = 7});
    add({.members = 65536, .rows = 1, .widths = {4, 16, 2}, .activations = {Activation::Tanh}, .biases = 3});
    return problems;
}

}  // namespace

const Family& perturbed_network_family() noexcept {
    static constexpr Family kFamily{
        .name = "perturbed_network",
        .exactness = "P+T",
        .cases = &perturbed_network_cases,
        .benchmarks = &perturbed_network_benchmarks,
        .each_configuration_once = true,
        .operation = &kOperationText<PerturbedNetworkDesc, &make_problem<PerturbedNetworkProblem>>};
    return kFamily;
}

}  // namespace yolk::oracle
