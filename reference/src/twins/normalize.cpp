// SPDX-License-Identifier: Apache-2.0
#include "yolk/normalize.hpp"

#include <cmath>

#include "row_twin.hpp"
#include "twin_source.hpp"
#include "yolk/exact/exact_math.h"

namespace yolk::reference {

namespace {

/// The part of a scale or bias that belongs to a member; empty where there is none.
std::span<const float> of_member(const NormalizeDesc& desc, RowVector kind, std::span<const float> vector,
                                 std::size_t member) {
    if (kind == RowVector::None) return {};
    return vector.subspan(kind == RowVector::PerMember ? member * desc.columns : 0, desc.columns);
}

void normalize_row_twin(const NormalizeDesc& desc, std::span<const float> row, std::span<const float> scale,
                        std::span<const float> bias, std::span<float> out) {
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
        out[k] = is_finite ? y : row_nan();
    }
}

}  // namespace

void run_twin(const NormalizeDesc& desc, const HostViews& views) {
    const auto in = views.in<float>(0);
    const auto out = views.out<float>(3);
    for (std::size_t first = 0; first < in.size(); first += desc.columns) {
        const std::size_t member = first / desc.columns / desc.rows;
        normalize_row_twin(desc, in.subspan(first, desc.columns),
                           of_member(desc, desc.scale, views.in<float>(1), member),
                           of_member(desc, desc.bias, views.in<float>(2), member), out.subspan(first, desc.columns));
    }
}
template struct Twin<NormalizeDesc>;

}  // namespace yolk::reference
