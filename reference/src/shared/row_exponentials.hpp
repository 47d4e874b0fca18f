// SPDX-License-Identifier: Apache-2.0
// Exponentials of a row, for softmax's twin.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "row_twin.hpp"
#include "yolk/exact/exact_log.h"

namespace yolk::reference {

/// The twin's maximum and sum of a row.
struct RowExponentials {
    float largest = 0.0F;
    float sum = 0.0F;
    [[nodiscard]] bool is_finite() const { return std::isfinite(largest); }
};

[[nodiscard]] inline RowExponentials row_exponentials_twin(std::span<const float> row) {
    const auto input = [&](std::size_t k) { return exact::exact_flush_operand(row[k]); };
    RowExponentials result;
    result.largest = input(row_argmax_twin(row.size(), input));
    if (!result.is_finite()) return result;
    result.sum = row_sum_twin(row.size(), [&](std::size_t k) { return exact::exact_exp(input(k) - result.largest); });
    return result;
}

}  // namespace yolk::reference
