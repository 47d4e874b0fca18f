// SPDX-License-Identifier: Apache-2.0
#include "yolk/oracle/natural_gradient.hpp"

#include <cmath>
#include <cstddef>
#include <span>

#include "row_twin.hpp"
#include "yolk/exact/exact_math.h"

namespace yolk::oracle {
namespace {

using exact::exact_flush;
using exact::exact_flush_operand;

void project_twin(std::span<float> values, bool projects) {
    const float total = row_sum_twin(values.size(), [&](std::size_t k) { return exact_flush(values[k]); });
    const float average = total * static_cast<float>(1.0 / static_cast<double>(values.size()));
    const float mean = projects ? exact_flush(average) : 0.0F;
    for (float& value : values) {
        const float centred = exact_flush(value) - mean;
        value = exact_flush(centred);
    }
}

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

NaturalGradientOutputs<float> natural_gradient_twin(const NaturalGradientDesc& desc,
                                                    const NaturalGradientInputs& inputs) {
    NaturalGradientOutputs<float> out;
    const std::size_t n = desc.n;
    for (std::size_t b = 0; b < desc.blocks && n > 0; ++b) {
        const auto given = std::span(inputs.gradient).subspan(b * n, n);
        std::vector<float> vector(given.begin(), given.end());
        if (!desc.identity) {
            if (desc.project_mean) project_twin(vector, true);
            std::vector<float> product(n);
            for (std::size_t row = 0; row < n; ++row) {
                const float* matrix_row = inputs.preconditioner.data() + (b * n + row) * n;
                product[row] = row_sum_twin(n, [&](std::size_t k) {
                    return exact_flush_operand(matrix_row[k]) * exact_flush_operand(vector[k]);
                });
            }
            vector = product;
        }
        if (desc.identity || desc.project_mean) project_twin(vector, desc.project_mean);
        for (const float value : vector) {
            const float moved = value * -inputs.learning_rate;
            out.step.push_back(exact_flush(moved));
            out.preconditioned.push_back(value);
        }
    }
    return out;
}

NaturalGradientOutputs<OracleValue> natural_gradient_oracle(const NaturalGradientDesc& desc,
                                                            const NaturalGradientInputs& inputs) {
    NaturalGradientOutputs<OracleValue> out;
    const std::size_t n = desc.n;
    // The product's rounding and its sum's; with means, two sums and five roundings (weight, product, difference) each.
    const double roundings =
        desc.project_mean ? 3.0 * row_sum_error(n) + 12.0 * kFp32Rounding : row_sum_error(n) + 1.1 * kFp32Rounding;
    for (std::size_t b = 0; b < desc.blocks && n > 0; ++b) {
        const auto block =
            desc.identity ? std::span<const float>() : std::span(inputs.preconditioner).subspan(b * n * n, n * n);
        const ProjectedMatrix matrix = projected(desc, block);
        for (std::size_t row = 0; row < n; ++row) {
            double sum = 0.0;
            double magnitude = 0.0;
            double dropped = 3.0 * static_cast<double>(n) * kProductFloor;
            for (std::size_t k = n; k-- > 0;) {
                const double g = inputs.gradient[b * n + k];
                sum += matrix.values[row * n + k] * g;
                magnitude += matrix.magnitudes[row * n + k] * std::abs(g);
                // Either factor may count as zero, by what it has, or all that is left of it has, after the mean.
                if (!desc.identity) dropped += kOperandFloor * (matrix.magnitudes[row * n + k] + 4.0 * std::abs(g));
            }
            const OracleValue value{sum, roundings * magnitude + dropped};
            const double rate = inputs.learning_rate;
            out.preconditioned.push_back(value);
            out.step.push_back(
                {-rate * sum, std::abs(rate) * (value.tolerance + kFp32Rounding * (std::abs(sum) + value.tolerance)) +
                                  kProductFloor});
        }
    }
    return out;
}

}  // namespace yolk::oracle
