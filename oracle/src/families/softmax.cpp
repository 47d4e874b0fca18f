// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <vector>

#include "check_tools.hpp"
#include "program_oracle.hpp"
#include "row_problem.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/primitives/row_steps.hpp"
#include "yolk/softmax.hpp"

namespace yolk::oracle {
namespace {

std::vector<Bounded> softmax_oracle(const SoftmaxDesc& desc, const HostViews& given) {
    return program_bounds(row_program_of(desc), given, given.in<float>(0).size());
}

/// Two exponentials of 24 operations and a few more.
using SoftmaxProblem = RowProblem<SoftmaxDesc, &softmax_oracle, 55>;

struct SoftmaxCase {
    std::uint32_t members, rows, columns;
    RowInputs inputs;
};

// Nothing, one element, around the 32 chains, primes, more rows than a workgroup has; scales, masked elements.
constexpr auto kSoftmaxCases = std::to_array<SoftmaxCase>({
    {0, 3, 5, RowInputs::Plain},
    {3, 0, 5, RowInputs::Plain},
    {3, 5, 0, RowInputs::Plain},
    {1, 1, 1, RowInputs::Plain},
    {2, 3, 2, RowInputs::Ties},
    {2, 5, 31, RowInputs::Masked},
    {1, 7, 32, RowInputs::Plain},
    {3, 3, 33, RowInputs::Steep},
    {1, 5, 65, RowInputs::Huge},
    {2, 2, 1021, RowInputs::Masked},
    {1, 2, 4099, RowInputs::Plain},
    {257, 3, 10, RowInputs::Plain},
    {2, 4, 40, RowInputs::Tiny},
});

Problems softmax_cases(std::uint64_t seed) {
    Problems problems;
    for (const SoftmaxCase& c : kSoftmaxCases) {
        for (const bool logarithm : {false, true}) {
            problems.push_back(std::make_unique<SoftmaxProblem>(
                SoftmaxDesc{.members = c.members, .rows = c.rows, .columns = c.columns, .logarithm = logarithm},
                c.inputs, seed));
        }
    }
    return problems;
}

Problems softmax_benchmarks() {
    return problems_of<SoftmaxProblem>({{.members = 4096, .rows = 16, .columns = 10},
                                        {.members = 64, .rows = 64, .columns = 256},
                                        {.members = 16, .rows = 16, .columns = 4096}});
}

Problems large_softmaxes() {
    Problems problems;
    for (const auto& [rows, columns] : kLargeRows) {
        for (const bool logarithm : {false, true})
            problems.push_back(
                make_problem<SoftmaxProblem>({.rows = rows, .columns = columns, .logarithm = logarithm}));
    }
    return problems;
}

}  // namespace

const Family& softmax_family() noexcept {
    static constexpr Family kFamily{.name = "softmax",
                                    .exactness = "P",
                                    .cases = &softmax_cases,
                                    .benchmarks = &softmax_benchmarks,
                                    .configurations_per_case = 2,
                                    .operation = &kOperationText<SoftmaxDesc, &make_problem<SoftmaxProblem>>,
                                    .large = &large_softmaxes};
    return kFamily;
}

}  // namespace yolk::oracle
