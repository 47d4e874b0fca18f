// SPDX-License-Identifier: Apache-2.0
#include "kernel_rates_host.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

namespace yolk::bench::host {
namespace {

constexpr float kEpsilon = 1e-5F;

/// Calls `range(first, last)` for both halves of the rows.
template <class F>
void by_halves(std::size_t rows, const F& range) {
    std::thread second([&] { range(rows / 2, rows); });
    range(std::size_t{0}, rows / 2);
    second.join();
}

/// Calls `row(in, out)` for each row.
template <class F>
void each_row(Rows rows, std::span<const float> in, std::span<float> out, const F& row) {
    by_halves(rows.count, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) row(in.data() + i * rows.columns, out.data() + i * rows.columns);
    });
}

}  // namespace

void chain(Rows rows, std::span<const float> x, std::span<const float> scale, std::span<const float> bias,
           std::span<float> out) {
    by_halves(rows.count, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
            const std::size_t begin = i * rows.columns;
            for (std::size_t c = 0; c < rows.columns; ++c) {
                const float y = x[begin + c] * scale[begin + c] + bias[c];
                out[begin + c] = y / (1.0F + std::exp(-y));
            }
        }
    });
}

void long_chain(Rows rows, std::span<const float> x, std::span<const float> scale, std::span<const float> bias,
                std::span<float> out) {
    by_halves(rows.count, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
            const std::size_t begin = i * rows.columns;
            for (std::size_t c = 0; c < rows.columns; ++c) {
                const float from = x[begin + c], by = scale[begin + c];
                const float y = from * by + bias[c];
                out[begin + c] = std::abs(std::min((std::max(y, from) - by) * y, from)) + bias[c];
            }
        }
    });
}

void permute(Rows members, std::size_t rows, std::size_t heads, std::size_t width, std::span<const float> in,
             std::span<float> out) {
    each_row(members, in, out, [&](const float* from, float* to) {
        for (std::size_t h = 0; h < heads; ++h) {
            for (std::size_t r = 0; r < rows; ++r)
                std::memcpy(to + (h * rows + r) * width, from + (r * heads + h) * width, width * sizeof(float));
        }
    });
}

void masked(Rows rows, std::size_t period, std::span<const float> mask, std::span<const float> scores, float otherwise,
            std::span<float> out) {
    by_halves(rows.count, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
            const float* of = mask.data() + i % period * rows.columns;
            const float* from = scores.data() + i * rows.columns;
            float* to = out.data() + i * rows.columns;
            for (std::size_t c = 0; c < rows.columns; ++c) to[c] = of[c] != 0.0F ? from[c] : otherwise;
        }
    });
}

void cumulative_sum(Rows rows, std::span<const float> in, std::span<float> out) {
    each_row(rows, in, out, [&](const float* x, float* y) {
        float sum = 0.0F;
        for (std::size_t c = 0; c < rows.columns; ++c) y[c] = sum += x[c];
    });
}

void softmax(Rows rows, std::span<const float> in, std::span<float> out) {
    each_row(rows, in, out, [&](const float* x, float* y) {
        float largest = x[0];
        for (std::size_t c = 1; c < rows.columns; ++c) largest = std::max(largest, x[c]);
        float sum = 0.0F;
        for (std::size_t c = 0; c < rows.columns; ++c) sum += y[c] = std::exp(x[c] - largest);
        const float factor = 1.0F / sum;
        for (std::size_t c = 0; c < rows.columns; ++c) y[c] *= factor;
    });
}

void layer_norm(Rows rows, std::span<const float> in, std::span<float> out) {
    const float share = 1.0F / static_cast<float>(rows.columns);
    each_row(rows, in, out, [&](const float* x, float* y) {
        float sum = 0.0F;
        for (std::size_t c = 0; c < rows.columns; ++c) sum += x[c];
        const float mean = sum * share;
        float squares = 0.0F;
        for (std::size_t c = 0; c < rows.columns; ++c) squares += (x[c] - mean) * (x[c] - mean);
        const float factor = 1.0F / std::sqrt(squares * share + kEpsilon);
        for (std::size_t c = 0; c < rows.columns; ++c) y[c] = (x[c] - mean) * factor;
    });
}

void rms_norm(Rows rows, std::span<const float> in, std::span<float> out) {
    const float share = 1.0F / static_cast<float>(rows.columns);
    each_row(rows, in, out, [&](const float* x, float* y) {
        float squares = 0.0F;
        for (std::size_t c = 0; c < rows.columns; ++c) squares += x[c] * x[c];
        const float factor = 1.0F / std::sqrt(squares * share + kEpsilon);
        for (std::size_t c = 0; c < rows.columns; ++c) y[c] = x[c] * factor;
    });
}

}  // namespace yolk::bench::host
