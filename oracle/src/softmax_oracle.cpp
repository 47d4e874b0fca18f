// SPDX-License-Identifier: Apache-2.0
#include "softmax_oracle.hpp"

#include <cmath>
#include <span>

#include "row_exponentials.hpp"

namespace yolk::oracle {

namespace {

template <class Row>
void for_each_row(const SoftmaxDesc& desc, const std::vector<float>& in, Row&& row) {
    if (desc.columns == 0) return;
    for (std::size_t first = 0; first < in.size(); first += desc.columns) {
        row(std::span(in).subspan(first, desc.columns));
    }
}

}  // namespace

std::vector<OracleValue> softmax_oracle(const SoftmaxDesc& desc, const std::vector<float>& in) {
    std::vector<OracleValue> out;
    for_each_row(desc, in, [&](std::span<const float> row) {
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
    });
    return out;
}

}  // namespace yolk::oracle
