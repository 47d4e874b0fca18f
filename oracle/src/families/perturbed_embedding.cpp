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
#include "yolk/internal/reference/formulas/perturbed_embedding.hpp"
#include "yolk/perturbed_embedding.hpp"

namespace yolk::oracle {
namespace {

class PerturbedEmbeddingProblem final : public OperationProblem<PerturbedEmbeddingDesc> {
   public:
    explicit PerturbedEmbeddingProblem(const PerturbedEmbeddingDesc& desc, std::int32_t first_member = 0,
                                       float sigma = 0.1F, std::uint64_t seed = 1)
        : OperationProblem(desc, fmt::format("members from {}, sigma {}", first_member, sigma),
                           NoiseContext{.seed = seed, .generation = 9, .time = 4, .sigma = sigma}, {first_member}) {}

    [[nodiscard]] Work work() const override {
        return {.operations = 2.0 * desc().rank * static_cast<double>(elements(2)),
                .bytes = 8.0 * static_cast<double>(elements(2))};
    }

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        return {bytes_of_values(drawn_operands(when().seed, 6, elements(0))), bytes_of_values(ids()),
                bytes_of_values(std::vector<std::uint32_t>{kStatusBefore})};
    }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& /*made*/) const override {
        const auto list = given.in<std::uint32_t>(1);
        double counted = 0.0;
        for (const std::uint32_t id : list) counted += id >= desc().table_rows ? 1.0 : 0.0;
        if (desc().shared_ids) counted *= desc().members;
        if (elements(2) == 0) counted = 0.0;
        std::vector<OracleValues> values = bounds_of(desc(), given, argument<0>(), argument<1>());
        values.back() = {{kStatusBefore + counted, 0.0}};
        return values;
    }

   private:
    static constexpr std::uint32_t kStatusBefore = 5;  ///< counts are added to what is there

    /// Repeated ones, and every seventh out of range: the number of rows, or the largest.
    [[nodiscard]] std::vector<std::uint32_t> ids() const {
        Draws draws(when().seed, 7);
        std::vector<std::uint32_t> list(elements(1));
        for (std::size_t i = 0; i < list.size(); ++i) {
            const bool outside = desc().table_rows == 0 || i % 7 == 4;
            list[i] = outside ? (i % 2 == 0 ? desc().table_rows : 0xFFFFFFFFU) : draws.below(desc().table_rows);
        }
        return list;
    }

    [[nodiscard]] const NoiseContext& when() const { return argument<0>(); }
};

struct PerturbedEmbeddingCase {
    std::uint32_t members, rows, table_rows, columns, rank;
    bool shared_ids;
    std::int32_t first_member;
    float sigma;
    bool antithetic = true;
};

// Empty in each way, no table, ones, around a block of eight, primes; ranks around a block, up to 32; the mean, members
// that begin with the second side of a pair; a sigma that the operand rule makes zero; whole vectors of four, one of
// two that an invocation has.
constexpr auto kPerturbedEmbeddingCases = std::to_array<PerturbedEmbeddingCase>({
    {0, 2, 3, 5, 1, false, 0, 0.1F},   {2, 0, 3, 5, 1, true, 0, 0.1F},          {2, 2, 3, 0, 1, true, 0, 0.1F},
    {3, 2, 0, 5, 1, false, 0, 0.1F},   {1, 1, 1, 1, 1, true, 0, 0.1F},          {1, 1, 1, 1, 1, false, -1, 0.1F},
    {5, 3, 7, 7, 1, false, -1, 0.2F},  {4, 5, 13, 8, 2, true, 2, 1.0F},         {3, 9, 5, 9, 3, false, 1, 0.1F},
    {4, 7, 11, 12, 4, true, 3, 0.1F},  {2, 6, 9, 13, 7, false, 0, 0.1F},        {6, 2, 17, 31, 8, true, -1, 0.1F},
    {3, 5, 6, 5, 9, false, 5, 0.1F},   {2, 3, 8, 17, 32, true, 0, 3.0F},        {67, 2, 5, 3, 1, false, 0, 0.1F},
    {2, 5, 4, 6, 6, true, 0, 1e-13F},  {5, 3, 7, 7, 2, false, -1, 0.2F, false}, {4, 3, 9, 9, 5, true, 3, 0.2F, false},
    {5, 3, 6, 12, 1, false, -1, 0.2F}, {4, 3, 9, 20, 2, true, 3, 0.2F, false},  {3, 4, 5, 4, 6, false, 1, 0.1F},
});

std::unique_ptr<Problem> embedding_problem(const PerturbedEmbeddingCase& c, std::uint64_t seed) {
    return std::make_unique<PerturbedEmbeddingProblem>(PerturbedEmbeddingDesc{.members = c.members,
                                                                              .rows = c.rows,
                                                                              .table_rows = c.table_rows,
                                                                              .columns = c.columns,
                                                                              .rank = c.rank,
                                                                              .parameter = ParameterId{13},
                                                                              .shared_ids = c.shared_ids,
                                                                              .antithetic = c.antithetic},
                                                       c.first_member, c.sigma, seed);
}

Problems perturbed_embedding_cases(std::uint64_t seed) {
    Problems problems;
    for (const PerturbedEmbeddingCase& c : kPerturbedEmbeddingCases)
        problems.push_back(embedding_problem(c, seed + problems.size()));
    return problems;
}

Problems perturbed_embedding_benchmarks() {
    Problems problems;
    problems.push_back(embedding_problem({1024, 16, 256, 64, 1, false, 0, 0.1F}, 42));
    return problems;
}

}  // namespace

const Family& perturbed_embedding_family() noexcept {
    static constexpr Family kFamily{
        .name = "perturbed_embedding",
        .exactness = "P",
        .cases = &perturbed_embedding_cases,
        .benchmarks = &perturbed_embedding_benchmarks,
        .configurations_per_case = 2,
        .operation = &kOperationText<PerturbedEmbeddingDesc, &make_problem<PerturbedEmbeddingProblem>>};
    return kFamily;
}

}  // namespace yolk::oracle
