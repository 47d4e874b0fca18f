// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <vector>

#include "check_tools.hpp"
#include "program_oracle.hpp"
#include "row_problem.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/primitives/row_steps.hpp"
#include "yolk/reduce.hpp"

namespace yolk::oracle {
namespace {

std::vector<Bounded> reduce_oracle(const ReduceDesc& desc, const HostViews& given) {
    return program_bounds(row_program_of(desc), given, std::size_t{desc.outer} * desc.inner);
}

using ReduceProblem = RowProblem<ReduceDesc, &reduce_oracle, 1>;

struct ReduceCase {
    std::uint32_t outer, columns, inner;
    RowInputs inputs;
};

// Nothing, one element, around the 32 chains, primes, more rows than a workgroup has; inner dimensions; scales.
constexpr auto kReduceCases = std::to_array<ReduceCase>({
    {0, 5, 3, RowInputs::Plain},
    {3, 5, 0, RowInputs::Plain},
    {1, 1, 1, RowInputs::Plain},
    {3, 31, 1, RowInputs::Plain},
    {3, 32, 1, RowInputs::Huge},
    {9, 33, 1, RowInputs::Ties},
    {2, 63, 5, RowInputs::Wide},
    {257, 7, 1, RowInputs::Ties},
    {3, 65, 37, RowInputs::Plain},
    {5, 1021, 1, RowInputs::Wide},
    {2, 4099, 1, RowInputs::Plain},
    {7, 129, 1, RowInputs::Tiny},
});

Problems reduce_cases(std::uint64_t seed) {
    Problems problems;
    for (const ReduceCase& c : kReduceCases) {
        for (std::uint32_t operation = 0; operation < enum_words(ReduceOperation{}).size(); ++operation) {
            const ReduceDesc desc{.operation = static_cast<ReduceOperation>(operation),
                                  .outer = c.outer,
                                  .columns = c.columns,
                                  .inner = c.inner};
            problems.push_back(std::make_unique<ReduceProblem>(desc, c.inputs, seed));
        }
    }
    return problems;
}

Problems reduce_benchmarks() {
    return problems_of<ReduceProblem>({{.outer = 65536, .columns = 64},
                                       {.outer = 4096, .columns = 1024},
                                       {.outer = 64, .columns = 1024, .inner = 64}});
}

Problems large_reductions() {
    Problems problems;
    for (const auto& [rows, columns] : kLargeRows) {
        for (const ReduceOperation operation :
             {ReduceOperation::Sum, ReduceOperation::Mean, ReduceOperation::Max, ReduceOperation::Argmax})
            problems.push_back(
                make_problem<ReduceProblem>({.operation = operation, .outer = rows, .columns = columns}));
    }
    return problems;
}

}  // namespace

const Family& reduce_family() noexcept {
    static constexpr Family kFamily{.name = "reduce",
                                    .exactness = "P",
                                    .cases = &reduce_cases,
                                    .benchmarks = &reduce_benchmarks,
                                    .configurations_per_case = 2,
                                    .operation = &kOperationText<ReduceDesc, &make_problem<ReduceProblem>>,
                                    .large = &large_reductions};
    return kFamily;
}

}  // namespace yolk::oracle
