// SPDX-License-Identifier: Apache-2.0
#include "natural_gradient_oracle.hpp"

#include <cmath>
#include <cstddef>

#include "error_bounds.hpp"

namespace yolk::oracle {

namespace {

/// A block's matrix in double, and for each element the magnitudes that its entries come from.
struct ProjectedMatrix {
    std::vector<double> values;
    std::vector<double> magnitudes;
};

ProjectedMatrix projected(const NaturalGradientDesc& desc, std::span<const float> preconditioner) {
    const std::size_t n = desc.n;
    ProjectedMatrix matrix{std::vector<double>(n * n), std::vector<double>(n * n)};
    for (std::size_t i = 0; i < n * n; ++i) {
        matrix.values[i] = desc.identity ? (i % (n + 1) == 0 ? 1.0 : 0.0) : preconditioner[i];
        matrix.magnitudes[i] = std::abs(matrix.values[i]);
    }
    if (!desc.project_mean) return matrix;
    const auto take_means_off = [&](std::size_t step, std::size_t line) {
        for (std::size_t first = 0; first < n; ++first) {
            double sum = 0.0;
            double magnitude = 0.0;
            for (std::size_t k = 0; k < n; ++k) {
                sum += matrix.values[first * line + k * step];
                magnitude += matrix.magnitudes[first * line + k * step];
            }
            for (std::size_t k = 0; k < n; ++k) {
                matrix.values[first * line + k * step] -= sum / static_cast<double>(n);
                matrix.magnitudes[first * line + k * step] += magnitude / static_cast<double>(n);
            }
        }
    };
    take_means_off(1, n);  // from the right: the mean off g
    take_means_off(n, 1);  // from the left: the mean off P g
    return matrix;
}

}  // namespace

std::vector<std::vector<OracleValue>> natural_gradient_oracle(const NaturalGradientDesc& desc,
                                                              std::span<const float> preconditioner,
                                                              std::span<const float> gradient, float learning_rate) {
    std::vector<OracleValue> step, preconditioned;
    const std::size_t n = desc.n;
    // The product's rounding and its sum's; with means, two sums and five roundings (weight, product, difference) each.
    const double roundings =
        desc.project_mean ? 3.0 * row_sum_error(n) + 12.0 * kFp32Rounding : row_sum_error(n) + 1.1 * kFp32Rounding;
    for (std::size_t b = 0; b < desc.blocks && n > 0; ++b) {
        const auto block = desc.identity ? std::span<const float>() : preconditioner.subspan(b * n * n, n * n);
        const ProjectedMatrix matrix = projected(desc, block);
        for (std::size_t row = 0; row < n; ++row) {
            double sum = 0.0;
            double magnitude = 0.0;
            double dropped = 3.0 * static_cast<double>(n) * kProductFloor;
            for (std::size_t k = n; k-- > 0;) {
                const double g = gradient[b * n + k];
                sum += matrix.values[row * n + k] * g;
                magnitude += matrix.magnitudes[row * n + k] * std::abs(g);
                // Either factor may count as zero, by what it has, or all that is left of it has, after the mean.
                if (!desc.identity) dropped += kOperandFloor * (matrix.magnitudes[row * n + k] + 4.0 * std::abs(g));
            }
            const OracleValue value{sum, roundings * magnitude + dropped};
            const double rate = learning_rate;
            preconditioned.push_back(value);
            step.push_back(
                {-rate * sum, std::abs(rate) * (value.tolerance + kFp32Rounding * (std::abs(sum) + value.tolerance)) +
                                  kProductFloor});
        }
    }
    return {step, preconditioned};
}

}  // namespace yolk::oracle
