// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "check_tools.hpp"
#include "error_bounds.hpp"
#include "row_problem.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/reduce.hpp"

namespace yolk::oracle {
namespace {

OracleValue sum_oracle(const ReduceDesc& desc, const std::vector<double>& values) {
    std::vector<double> magnitudes;
    for (const double value : values) magnitudes.push_back(std::abs(value));
    const double count = desc.columns;
    const double sum = pairwise_sum(values);
    const double tolerance = row_sum_error(desc.columns) * pairwise_sum(magnitudes) + count * kOperandFloor;
    if (desc.operation == ReduceOperation::Sum) return {sum, tolerance};
    // The factor and the product are rounded.
    return {sum / count, (tolerance + 2.0 * kFp32Rounding * (std::abs(sum) + tolerance)) / count};
}

// From the back, so that the earliest of equals wins last.
OracleValue max_oracle(const ReduceDesc& desc, const std::vector<double>& values) {
    const auto rounded = [&](std::size_t k) { return std::abs(values[k]) < kOperandFloor ? 0.0 : values[k]; };
    std::size_t best = values.size() - 1;
    for (std::size_t k = values.size(); k-- > 0;) {
        if (rounded(k) >= rounded(best)) best = k;
    }
    return {desc.operation == ReduceOperation::Argmax ? static_cast<double>(best) : rounded(best), 0.0};
}

OracleValue min_oracle(const std::vector<double>& values) {
    double least = std::numeric_limits<double>::infinity();
    for (const double value : values) least = std::min(least, std::abs(value) < kOperandFloor ? 0.0 : value);
    return {least, 0.0};
}

template <class Row>
void for_each_row(const ReduceDesc& desc, std::span<const float> in, Row&& row) {
    for (std::size_t o = 0; o < desc.outer; ++o) {
        for (std::size_t j = 0; j < desc.inner; ++j) row(in.data() + o * desc.columns * desc.inner + j);
    }
}

/// Double precision, pairwise sums, for finite inputs. The tolerance of a sum is the roundings of one chain and of the
/// tree, (ceil(columns / 32) + 5) 2^-24 of the sum of magnitudes, and columns 2^-40 for the operands that count as
/// zero.
std::vector<OracleValue> reduce_oracle(const ReduceDesc& desc, std::span<const float> in) {
    std::vector<OracleValue> out;
    for_each_row(desc, in, [&](const float* first) {
        std::vector<double> values(desc.columns);
        for (std::size_t k = 0; k < values.size(); ++k) values[k] = first[k * desc.inner];
        switch (desc.operation) {
            case ReduceOperation::Sum:
            case ReduceOperation::Mean: out.push_back(sum_oracle(desc, values)); break;
            case ReduceOperation::Min: out.push_back(min_oracle(values)); break;
            default: out.push_back(max_oracle(desc, values));
        }
    });
    return out;
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
