// SPDX-License-Identifier: Apache-2.0
#include "covariance_oracle.hpp"

#include <cmath>

#include "error_bounds.hpp"
#include "yolk/internal/reference/matrix_elements.hpp"

namespace yolk::oracle {

namespace {

struct Weights {
    bool keeps_old = false;
    double decay = 1.0;
    double fresh = 0.0;
};

Weights weights_of(const CovarianceDesc& desc, bool first) {
    Weights weights{.keeps_old = desc.average && !first};
    if (desc.samples == 0) return weights;
    weights.decay = desc.decay;
    weights.fresh = (weights.keeps_old ? 1.0 - weights.decay : 1.0) / desc.samples;
    return weights;
}

struct Sum {
    double value = 0.0;
    double norm = 0.0;
    double dropped = 0.0;
};

/// X^T X of a block, by outer products.
std::vector<Sum> sums_of(const CovarianceDesc& desc, std::span<const float> x, std::uint32_t block) {
    std::vector<Sum> sums(std::size_t{desc.n} * desc.n);
    for (std::uint32_t sample = desc.samples; sample-- > 0;) {
        for (std::uint32_t i = 0; i < desc.n; ++i) {
            const double a = x[reference::covariance_element(desc, block, sample, i)];
            for (std::uint32_t j = 0; j < desc.n; ++j) {
                const double b = x[reference::covariance_element(desc, block, sample, j)];
                Sum& sum = sums[std::size_t{i} * desc.n + j];
                sum.value += a * b;
                sum.norm += std::abs(a * b);
                if (std::abs(a) < kOperandFloor || std::abs(b) < kOperandFloor) sum.dropped += std::abs(a * b);
            }
        }
    }
    return sums;
}

/// Adds the damping to a block of `values`.
void damp(const CovarianceDesc& desc, std::vector<OracleValue>& values, std::size_t base) {
    double trace = 0.0;
    double magnitude = 0.0;
    double off = 0.0;
    for (std::size_t k = 0; k < desc.n; ++k) {
        const OracleValue& c = values[base + k * (std::size_t{desc.n} + 1)];
        trace += c.value;
        magnitude += std::abs(c.value) + c.tolerance;
        off += c.tolerance + kProductFloor;
    }
    OracleValue shift{desc.damping, 0.0};
    if (desc.damping_kind == CovarianceDamping::Relative) {
        const double weight = static_cast<double>(desc.damping) / desc.n;
        shift.value = trace * weight;
        // The sum's error, then the roundings of the weight and of the product.
        const double sum_off = off + row_sum_error(desc.n) * magnitude;
        shift.tolerance = weight * sum_off * (1.0 + 2.1 * kFp32Rounding) + 2.1 * kFp32Rounding * std::abs(shift.value) +
                          kProductFloor;
    }
    for (std::size_t k = 0; k < desc.n; ++k) {
        OracleValue& c = values[base + k * (std::size_t{desc.n} + 1)];
        c.value += shift.value;
        c.tolerance += shift.tolerance;
        c.tolerance += kFp32Rounding * (std::abs(c.value) + c.tolerance);
    }
}

}  // namespace

std::vector<std::vector<OracleValue>> covariance_oracle(const CovarianceDesc& desc, std::span<const float> x,
                                                        std::span<const float> old, bool first) {
    std::vector<OracleValue> covariance, damped;
    const Weights weights = weights_of(desc, first);
    // A term meets its product's rounding and `samples` additions; a sum, those of the weight and of the product with
    // it.
    const double roundings = (static_cast<double>(desc.samples) + 3.0) * kFp32Rounding;
    const double depth = roundings / (1.0 - roundings);
    for (std::uint32_t b = 0; b < desc.blocks; ++b) {
        const std::size_t base = covariance.size();
        for (const Sum& sum : sums_of(desc, x, b)) {
            OracleValue c{weights.fresh * sum.value, weights.fresh * (depth * sum.norm + sum.dropped) + kProductFloor};
            if (weights.keeps_old) {
                const double kept = weights.decay * static_cast<double>(old[covariance.size()]);
                c.value += kept;
                c.tolerance += kFp32Rounding * std::abs(kept) + 2.0 * kProductFloor;
                c.tolerance += kFp32Rounding * (std::abs(c.value) + c.tolerance);
            }
            covariance.push_back(c);
        }
        if (desc.damping_kind == CovarianceDamping::None) continue;
        damped.insert(damped.end(), covariance.begin() + static_cast<std::ptrdiff_t>(base), covariance.end());
        damp(desc, damped, base);
    }
    return {covariance, damped};
}

}  // namespace yolk::oracle
