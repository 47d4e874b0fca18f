// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/normalize.hpp"

#include <cmath>
#include <span>

#include "row_twin.hpp"
#include "yolk/exact/exact_math.h"

namespace yolk::reference {

namespace {

/// The part of a scale or bias that belongs to a member; empty where there is none.
std::span<const float> of_member(const NormalizeDesc& desc, RowVector kind, const std::vector<float>& vector,
                                 std::size_t member) {
    if (kind == RowVector::None) return {};
    return std::span(vector).subspan(kind == RowVector::PerMember ? member * desc.columns : 0, desc.columns);
}

/// row(inputs, scale, bias)
template <class Row>
void for_each_normalized_row(const NormalizeDesc& desc, const NormalizeInputs& inputs, Row&& row) {
    if (desc.columns == 0) return;
    for (std::size_t member = 0; member < desc.members; ++member) {
        for (std::size_t r = 0; r < desc.rows; ++r) {
            const std::size_t first = (member * desc.rows + r) * desc.columns;
            row(std::span(inputs.in).subspan(first, desc.columns), of_member(desc, desc.scale, inputs.scale, member),
                of_member(desc, desc.bias, inputs.bias, member));
        }
    }
}

void normalize_row_twin(const NormalizeDesc& desc, std::span<const float> row, std::span<const float> scale,
                        std::span<const float> bias, std::vector<float>& out) {
    const float factor = 1.0F / static_cast<float>(desc.columns);
    const auto value = [&](std::size_t k) { return exact::exact_flush_operand(row[k]); };
    const bool is_layer = desc.rule == NormalizeRule::Layer;
    const float mean = is_layer ? exact::exact_flush_operand(row_sum_twin(row.size(), value) * factor) : 0.0F;
    const auto deviation = [&](std::size_t k) {
        return is_layer ? exact::exact_flush_operand(value(k) - mean) : value(k);
    };
    const float squares = row_sum_twin(row.size(), [&](std::size_t k) { return deviation(k) * deviation(k); });
    const float mean_square = squares * factor + desc.epsilon;
    const bool is_finite = std::abs(mean_square) <= 0x1p100F;
    const float inverse = exact::exact_reciprocal(exact::exact_sqrt(mean_square));
    for (std::size_t k = 0; k < row.size(); ++k) {
        float y = deviation(k) * inverse;
        if (!scale.empty()) y = exact::exact_flush(y * exact::exact_flush_operand(scale[k]));
        if (!bias.empty()) y = y + exact::exact_flush_operand(bias[k]);
        out.push_back(is_finite ? y : row_nan());
    }
}

}  // namespace

std::vector<float> normalize_twin(const NormalizeDesc& desc, const NormalizeInputs& inputs) {
    std::vector<float> out;
    for_each_normalized_row(desc, inputs,
                            [&](std::span<const float> row, std::span<const float> scale, std::span<const float> bias) {
                                normalize_row_twin(desc, row, scale, bias, out);
                            });
    return out;
}

}  // namespace yolk::reference
