// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <vector>

#include "check_tools.hpp"
#include "row_problem.hpp"
#include "yolk/cumulative_sum.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/reference/formulas/cumulative_sum.hpp"

namespace yolk::oracle {
namespace {

std::vector<Bounded> cumulative_sum_oracle(const CumulativeSumDesc& desc, const HostViews& given) {
    return bounds_of(desc, given)[0];
}

using CumulativeSumProblem = RowProblem<CumulativeSumDesc, &cumulative_sum_oracle, 1>;

struct CumulativeSumCase {
    std::uint32_t outer, columns, inner;
    RowInputs inputs;
};

// Nothing, one element, around the runs of 32 and the chunks of 1,024, primes, inner dimensions, more rows than a
// workgroup has chunks; two levels of chunks' totals are in primitives/tests/cumulative_sum_test.cpp.
constexpr auto kCumulativeSumCases = std::to_array<CumulativeSumCase>({
    {0, 5, 3, RowInputs::Plain},
    {3, 0, 2, RowInputs::Plain},
    {3, 5, 0, RowInputs::Plain},
    {1, 1, 1, RowInputs::Plain},
    {3, 31, 1, RowInputs::Wide},
    {2, 32, 1, RowInputs::Plain},
    {5, 33, 7, RowInputs::Tiny},
    {67, 5, 1, RowInputs::Plain},
    {3, 1023, 1, RowInputs::Wide},
    {2, 1024, 3, RowInputs::Plain},
    {3, 1025, 1, RowInputs::Plain},
    {1, 1025, 37, RowInputs::Wide},
    {2, 4099, 5, RowInputs::Plain},
});

Problems cumulative_sum_cases(std::uint64_t seed) {
    Problems problems;
    for (const CumulativeSumCase& c : kCumulativeSumCases) {
        const CumulativeSumDesc desc{.outer = c.outer, .columns = c.columns, .inner = c.inner};
        problems.push_back(std::make_unique<CumulativeSumProblem>(desc, c.inputs, seed));
    }
    return problems;
}

Problems cumulative_sum_benchmarks() {
    return problems_of<CumulativeSumProblem>({{.outer = 1, .columns = 1U << 20U},
                                              {.outer = 4096, .columns = 256},
                                              {.outer = 64, .columns = 256, .inner = 64}});
}

}  // namespace

const Family& cumulative_sum_family() noexcept {
    static constexpr Family kFamily{
        .name = "cumulative_sum",
        .exactness = "P",
        .cases = &cumulative_sum_cases,
        .benchmarks = &cumulative_sum_benchmarks,
        .operation = &kOperationText<CumulativeSumDesc, &make_problem<CumulativeSumProblem>>};
    return kFamily;
}

}  // namespace yolk::oracle
