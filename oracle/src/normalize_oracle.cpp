// SPDX-License-Identifier: Apache-2.0
#include "normalize_oracle.hpp"

#include <cmath>
#include <limits>
#include <span>

#include "error_bounds.hpp"
#include "yolk/reference/normalize.hpp"

namespace yolk::oracle {

namespace {

/// The part of a scale or bias that belongs to a member; empty where there is none.
std::span<const float> of_member(const NormalizeDesc& desc, RowVector kind, const std::vector<float>& vector,
                                 std::size_t member) {
    if (kind == RowVector::None) return {};
    return std::span(vector).subspan(kind == RowVector::PerMember ? member * desc.columns : 0, desc.columns);
}

/// row(inputs, scale, bias)
template <class Row>
void for_each_normalized_row(const NormalizeDesc& desc, const reference::NormalizeInputs& inputs, Row&& row) {
    if (desc.columns == 0) return;
    for (std::size_t member = 0; member < desc.members; ++member) {
        for (std::size_t r = 0; r < desc.rows; ++r) {
            const std::size_t first = (member * desc.rows + r) * desc.columns;
            row(std::span(inputs.in).subspan(first, desc.columns), of_member(desc, desc.scale, inputs.scale, member),
                of_member(desc, desc.bias, inputs.bias, member));
        }
    }
}

/// A value in double and how far the kernel's may be off it.
struct RowEstimate {
    double value = 0.0;
    double off = 0.0;
};

/// The kernel's mean: the sum's error, those of factor and product, and what counts as zero.
RowEstimate mean_of(std::span<const double> row) {
    std::vector<double> magnitudes;
    for (const double x : row) magnitudes.push_back(std::abs(x));
    const auto count = static_cast<double>(row.size());
    const double mean = pairwise_sum(row) / count;
    const double sum_off = row_sum_error(row.size()) * pairwise_sum(magnitudes) / count + kOperandFloor;
    return {mean, sum_off + 2.01 * kFp32Rounding * (std::abs(mean) + sum_off) + kOperandFloor};
}

/// mean(d^2) + epsilon: each square is off by 2 |d| off + off^2 and a rounding, then the sum, the factor, the product
/// and the sum with epsilon.
RowEstimate mean_square_of(const NormalizeDesc& desc, std::span<const RowEstimate> deviations) {
    std::vector<double> squares;
    std::vector<double> errors;
    for (const RowEstimate& d : deviations) {
        squares.push_back(d.value * d.value);
        errors.push_back(2.0 * std::abs(d.value) * d.off + d.off * d.off);
    }
    const auto count = static_cast<double>(deviations.size());
    const double square = pairwise_sum(squares) / count;
    const double off = pairwise_sum(errors) / count;
    const double relative = 1.01 * (row_sum_error(deviations.size()) + 4.0 * kFp32Rounding);
    return {square + desc.epsilon, off + relative * (square + off + desc.epsilon)};
}

void normalize_row_oracle(const NormalizeDesc& desc, std::span<const float> row, std::span<const float> scale,
                          std::span<const float> bias, std::vector<OracleValue>& out) {
    const std::vector<double> values(row.begin(), row.end());
    const RowEstimate mean = desc.rule == NormalizeRule::Layer ? mean_of(values) : RowEstimate{};
    std::vector<RowEstimate> deviations;
    for (const double x : values) {
        const double d = x - mean.value;
        const double before = mean.off + kOperandFloor;
        deviations.push_back({d, before + kFp32Rounding * (std::abs(d) + before) + kOperandFloor});
    }
    const RowEstimate square = mean_square_of(desc, deviations);
    const double root = 1.0 / std::sqrt(square.value);
    // 1/sqrt(1 - q) - 1 where the square is off by the share q; infinite where it may have vanished.
    const double q = square.off / square.value;
    const double of_square = q < 1.0 ? 1.0 / std::sqrt(1.0 - q) - 1.0 : std::numeric_limits<double>::infinity();
    const double relative = 1.01 * (of_square + (1.0 + of_square) * (kSqrtError + kReciprocalError));
    for (std::size_t k = 0; k < row.size(); ++k) {
        double value = deviations[k].value * root;
        double off = deviations[k].off * root * (1.0 + relative) + std::abs(value) * relative;
        off += kFp32Rounding * (std::abs(value) + off);
        if (!scale.empty()) {
            const double factor = std::abs(static_cast<double>(scale[k]));
            off = off * factor + kOperandFloor * (std::abs(value) + off) + kProductFloor;
            value *= scale[k];
            off += kFp32Rounding * (std::abs(value) + off);
        }
        if (!bias.empty()) {
            value += bias[k];
            off += kOperandFloor + kFp32Rounding * (std::abs(value) + off + kOperandFloor);
        }
        out.push_back({value, off});
    }
}

}  // namespace

std::vector<OracleValue> normalize_oracle(const NormalizeDesc& desc, const reference::NormalizeInputs& inputs) {
    std::vector<OracleValue> out;
    for_each_normalized_row(desc, inputs,
                            [&](std::span<const float> row, std::span<const float> scale, std::span<const float> bias) {
                                normalize_row_oracle(desc, row, scale, bias, out);
                            });
    return out;
}

}  // namespace yolk::oracle
