// SPDX-License-Identifier: Apache-2.0
#include "reduce_oracle.hpp"

#include <cmath>

#include "error_bounds.hpp"

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

template <class Row>
void for_each_row(const ReduceDesc& desc, const std::vector<float>& in, Row&& row) {
    for (std::size_t o = 0; o < desc.outer; ++o) {
        for (std::size_t j = 0; j < desc.inner; ++j) row(in.data() + o * desc.columns * desc.inner + j);
    }
}

}  // namespace

std::vector<OracleValue> reduce_oracle(const ReduceDesc& desc, const std::vector<float>& in) {
    std::vector<OracleValue> out;
    for_each_row(desc, in, [&](const float* first) {
        std::vector<double> values(desc.columns);
        for (std::size_t k = 0; k < values.size(); ++k) values[k] = first[k * desc.inner];
        const bool is_sum = desc.operation == ReduceOperation::Sum || desc.operation == ReduceOperation::Mean;
        out.push_back(is_sum ? sum_oracle(desc, values) : max_oracle(desc, values));
    });
    return out;
}

}  // namespace yolk::oracle
