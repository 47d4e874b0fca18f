// SPDX-License-Identifier: Apache-2.0
#include "cross_entropy_oracle.hpp"

#include <cmath>
#include <span>

#include "row_exponentials.hpp"
#include "yolk/reference/cross_entropy.hpp"

namespace yolk::oracle {

namespace {

/// row(logits of the row, its target)
template <class Row>
void for_each_row(const CrossEntropyDesc& desc, const reference::CrossEntropyInputs& inputs, Row&& row) {
    for (std::size_t member = 0; member < desc.members; ++member) {
        for (std::size_t r = 0; r < desc.rows; ++r) {
            const std::size_t flat = member * desc.rows + r;
            row(std::span(inputs.logits).subspan(flat * desc.columns, desc.columns),
                inputs.targets[desc.shared_targets ? r : flat]);
        }
    }
}

}  // namespace

std::vector<OracleValue> cross_entropy_oracle(const CrossEntropyDesc& desc,
                                              const reference::CrossEntropyInputs& inputs) {
    std::vector<OracleValue> losses;
    for_each_row(desc, inputs, [&](std::span<const float> row, std::uint32_t target) {
        const RowExponentialsOracle of = row_exponentials_oracle(row);
        const double distance = of.largest - row[target];
        const double log_sum = std::log(of.sum);
        const double value = log_sum + distance;
        if (!std::isfinite(value)) {
            losses.push_back({value, 0.0});
            return;
        }
        const double off = distance_error(distance) + 1.01 * of.sum_error + kLogError * (log_sum + of.sum_error);
        losses.push_back({value, off + kFp32Rounding * (std::abs(value) + off)});
    });
    return losses;
}

}  // namespace yolk::oracle
