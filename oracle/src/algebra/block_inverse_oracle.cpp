// SPDX-License-Identifier: Apache-2.0
#include "block_inverse_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "yolk/internal/oracle/error_bounds.hpp"

namespace yolk::oracle {

namespace {

using BlockMatrix = std::vector<double>;

constexpr double kRetryFloor = 0x1p-20;

BlockMatrix product(const BlockMatrix& a, const BlockMatrix& b, std::size_t n) {
    BlockMatrix c(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < n; ++k) {
            for (std::size_t j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
        }
    }
    return c;
}

BlockMatrix magnitudes(const BlockMatrix& a) {
    BlockMatrix m(a.size());
    std::ranges::transform(a, m.begin(), [](double x) { return std::abs(x); });
    return m;
}

/// |L| |D| |L^T| of a = L D L^T.
BlockMatrix factor_magnitudes(BlockMatrix a, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) {
        for (std::size_t i = k + 1; i < n; ++i) {
            const double l = a[i * n + k] / a[k * n + k];
            for (std::size_t j = k + 1; j <= i; ++j) a[i * n + j] -= l * a[j * n + k];
        }
        for (std::size_t i = k + 1; i < n; ++i) a[i * n + k] /= a[k * n + k];
    }
    BlockMatrix m(n * n, 0.0);
    const auto l = [&](std::size_t i, std::size_t k) { return i == k ? 1.0 : std::abs(a[i * n + k]); };
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            for (std::size_t k = 0; k <= std::min(i, j); ++k)
                m[i * n + j] += l(i, k) * std::abs(a[k * n + k]) * l(j, k);
        }
    }
    return m;
}

/// What each element of the inverse may be off: |A^-1| |E| |A^-1| for a backward error of
/// |E| <= gamma |L| |D| |L^T| (Higham 2002, theorem 10.3 for the factorization, 8.5 for the solves), gamma of 3 n
/// roundings and ten more for reciprocals and scaling; the damping's own roundings on the diagonal; what the operand
/// rule drops, 2^-40 a time against a diagonal of at least 1.
BlockMatrix inverse_tolerance(const BlockMatrix& a, const BlockMatrix& inverse, std::size_t n) {
    const double roundings = (3.0 * static_cast<double>(n) + 10.0) * kFp32Rounding;
    const double gamma = roundings / (1.0 - roundings);
    const double dropped = static_cast<double>(n + 1) * 0x1p-34;
    BlockMatrix error = factor_magnitudes(a, n);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            error[i * n + j] = gamma * error[i * n + j] + dropped * std::sqrt(a[i * n + i] * a[j * n + j]);
        }
        error[i * n + i] += static_cast<double>(n + 4) * kFp32Rounding * a[i * n + i];
    }
    const BlockMatrix size = magnitudes(inverse);
    BlockMatrix tolerance = product(product(size, error, n), size, n);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            double& t = tolerance[i * n + j];
            t = 1.05 * t + 0x1p-36 / std::sqrt(a[i * n + i] * a[j * n + j]);
        }
    }
    return tolerance;
}

}  // namespace

std::vector<double> damped_block(const BlockInverseDesc& desc, std::span<const float> block, float own_damping,
                                 std::uint32_t retries) {
    const std::size_t n = desc.n;
    BlockMatrix a(n * n);
    double trace = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j)
            a[i * n + j] = static_cast<double>(block[std::max(i, j) * n + std::min(i, j)]);
        trace += a[i * n + i];
    }
    const double mean = trace / static_cast<double>(n);
    const double given =
        desc.damping_per_block ? static_cast<double>(own_damping) : static_cast<double>(desc.damping) * mean;
    double added = given;
    if (retries > 0) added = std::max(given, kRetryFloor * (mean + given)) * std::pow(16.0, retries);
    for (std::size_t i = 0; i < n; ++i) a[i * n + i] += added;
    return a;
}

// NOLINTNEXTLINE(readability-function-cognitive-complexity): the loops of one elimination
std::vector<double> inverse_in_double(std::span<const double> matrix, std::uint32_t count) {
    const std::size_t n = count;
    BlockMatrix a(matrix.begin(), matrix.end());
    BlockMatrix x(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) x[i * n + i] = 1.0;
    std::vector<std::size_t> column_of(n);
    std::vector<bool> used(n, false);
    for (std::size_t step = 0; step < n; ++step) {
        std::size_t row = step;
        std::size_t column = 0;
        double best = 0.0;
        for (std::size_t i = step; i < n; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
                if (used[j] || std::abs(a[i * n + j]) <= best) continue;
                best = std::abs(a[i * n + j]);
                row = i;
                column = j;
            }
        }
        if (best == 0.0) return {};
        std::swap_ranges(&a[step * n], &a[step * n] + n, &a[row * n]);
        std::swap_ranges(&x[step * n], &x[step * n] + n, &x[row * n]);
        used[column] = true;
        column_of[step] = column;
        const double pivot = a[step * n + column];
        for (std::size_t i = 0; i < n; ++i) {
            const double factor = a[i * n + column] / pivot;
            if (i == step || factor == 0.0) continue;
            for (std::size_t j = 0; j < n; ++j) {
                a[i * n + j] -= factor * a[step * n + j];
                x[i * n + j] -= factor * x[step * n + j];
            }
        }
    }
    BlockMatrix result(n * n);
    for (std::size_t step = 0; step < n; ++step) {
        const std::size_t column = column_of[step];
        for (std::size_t j = 0; j < n; ++j) result[column * n + j] = x[step * n + j] / a[step * n + column];
    }
    return result;
}

double residual_in_double(std::span<const double> matrix, std::span<const float> inverse, std::uint32_t count) {
    const std::size_t n = count;
    double sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            double element = i == j ? -1.0 : 0.0;
            for (std::size_t k = 0; k < n; ++k) element += matrix[i * n + k] * static_cast<double>(inverse[k * n + j]);
            sum += element * element;
        }
    }
    return std::sqrt(sum / static_cast<double>(n));
}

std::vector<Bounded> block_inverse_oracle(const BlockInverseDesc& desc, std::span<const float> in,
                                          std::span<const float> damping, std::span<const std::uint32_t> status) {
    const std::size_t n = desc.n;
    std::vector<Bounded> values;
    if (n == 0) return values;
    for (std::size_t b = 0; b < desc.blocks; ++b) {
        if (!is_inverted(status[b])) {
            values.insert(values.end(), n * n, Bounded{});
            continue;
        }
        const BlockMatrix a = damped_block(desc, in.subspan(b * n * n, n * n),
                                           desc.damping_per_block ? damping[b] : 0.0F, retries_of(status[b]));
        const BlockMatrix inverse = inverse_in_double(a, desc.n);
        const BlockMatrix tolerance = inverse_tolerance(a, inverse, n);
        for (std::size_t e = 0; e < n * n; ++e) values.push_back({inverse[e], tolerance[e]});
    }
    return values;
}

}  // namespace yolk::oracle
