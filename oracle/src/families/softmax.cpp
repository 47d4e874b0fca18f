// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <span>

#include "check_tools.hpp"
#include "row_exponentials.hpp"
#include "row_problem.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/softmax.hpp"

namespace yolk::oracle {
namespace {

/// Double precision, std::exp, pairwise sums; rows whose maximum is finite. The tolerance follows each rounding
/// (docs/kernels/softmax.md).
std::vector<OracleValue> softmax_oracle(const SoftmaxDesc& desc, std::span<const float> in) {
    std::vector<OracleValue> out;
    for (std::size_t first = 0; first < in.size(); first += desc.columns) {
        const std::span<const float> row = in.subspan(first, desc.columns);
        const RowExponentialsOracle of = row_exponentials_oracle(row);
        for (const float x : row) {
            const double distance = x - of.largest;
            const double distance_off = std::isfinite(distance) ? distance_error(distance) : 0.0;
            if (!desc.logarithm) {
                const double value = std::exp(distance) / of.sum;
                const double relative =
                    1.01 * (distance_off + kExpError + of.sum_error + kReciprocalError + kFp32Rounding);
                out.push_back({value, value * relative + kExpCut});
                continue;
            }
            const double log_sum = std::log(of.sum);
            const double value = distance - log_sum;
            if (!std::isfinite(value)) {
                out.push_back({value, 0.0});
                continue;
            }
            const double off = distance_off + 1.01 * of.sum_error + kLogError * (log_sum + of.sum_error);
            out.push_back({value, off + kFp32Rounding * (std::abs(value) + off)});
        }
    }
    return out;
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
