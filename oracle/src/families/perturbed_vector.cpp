// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "check_tools.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/internal/reference/formulas/perturbed_vector.hpp"
#include "yolk/perturbed_vector.hpp"

namespace yolk::oracle {
namespace {

class PerturbedVectorProblem final : public OperationProblem<PerturbedVectorDesc> {
   public:
    explicit PerturbedVectorProblem(const PerturbedVectorDesc& desc, std::int32_t first_member = 0, float sigma = 0.1F,
                                    std::uint64_t seed = 1)
        : OperationProblem(desc, fmt::format("members from {}, sigma {}", first_member, sigma),
                           NoiseContext{.seed = seed, .generation = 9, .time = 4, .sigma = sigma}, {first_member}) {}

    [[nodiscard]] Work work() const override {
        return {.operations = 2.0 * static_cast<double>(count()),
                .bytes = 4.0 * static_cast<double>(count() + desc().element_count)};
    }

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        return {bytes_of_values(drawn_operands(when().seed, 5, desc().element_count))};
    }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& /*made*/) const override {
        return bounds_of(desc(), given, argument<0>(), argument<1>());
    }

   private:
    [[nodiscard]] std::uint64_t count() const { return std::uint64_t{desc().members} * desc().element_count; }
    [[nodiscard]] const NoiseContext& when() const { return argument<0>(); }
};

struct PerturbedVectorCase {
    std::uint32_t members, element_count;
    std::int32_t first_member;
    float sigma;
    bool frozen = false;
    bool antithetic = true;
};

// Empty in both ways, ones, around a block of eight, primes, around a workgroup of 64 blocks; the mean, members that
// begin with the second side of a pair; a sigma that the operand rule makes zero, and a large one.
constexpr auto kPerturbedVectorCases = std::to_array<PerturbedVectorCase>({
    {0, 5, 0, 0.1F},
    {3, 0, 0, 0.1F},
    {1, 1, 0, 0.1F},
    {1, 1, -1, 0.1F},
    {5, 7, -1, 0.2F},
    {4, 8, 2, 1.0F},
    {3, 9, 1, 0.1F},
    {2, 511, 6, 0.1F},
    {3, 513, 5, 0.1F},
    {67, 13, 0, 0.1F},
    {2, 17, 0, 1e-13F},
    {2, 17, 0, 1e20F},
    {5, 19, -1, 0.1F, true},
    {5, 19, -1, 0.1F, false, false},
    {4, 9, 3, 0.1F, false, false},
});

std::unique_ptr<Problem> vector_problem(const PerturbedVectorCase& c, std::uint64_t seed) {
    return std::make_unique<PerturbedVectorProblem>(PerturbedVectorDesc{.members = c.members,
                                                                        .element_count = c.element_count,
                                                                        .parameter = ParameterId{12},
                                                                        .frozen = c.frozen,
                                                                        .antithetic = c.antithetic},
                                                    c.first_member, c.sigma, seed);
}

Problems perturbed_vector_cases(std::uint64_t seed) {
    Problems problems;
    for (const PerturbedVectorCase& c : kPerturbedVectorCases)
        problems.push_back(vector_problem(c, seed + problems.size()));
    return problems;
}

Problems perturbed_vector_benchmarks() {
    Problems problems;
    problems.push_back(vector_problem({4096, 256, 0, 0.1F}, 42));
    return problems;
}

}  // namespace

const Family& perturbed_vector_family() noexcept {
    static constexpr Family kFamily{
        .name = "perturbed_vector",
        .exactness = "P",
        .cases = &perturbed_vector_cases,
        .benchmarks = &perturbed_vector_benchmarks,
        .configurations_per_case = 2,
        .operation = &kOperationText<PerturbedVectorDesc, &make_problem<PerturbedVectorProblem>>};
    return kFamily;
}

}  // namespace yolk::oracle
