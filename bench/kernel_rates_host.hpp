// SPDX-License-Identifier: Apache-2.0
// What kernel_rates_bench.cpp times beside kernels: the loops that one would write for a processor, compiled with -O3
// and -ffast-math, on x86-64 for processors with AVX2 and FMA (CMakeLists.txt), half of the rows on each of two
// threads.
#pragma once

#include <cstddef>
#include <span>

namespace yolk::bench::host {

struct Rows {
    std::size_t count = 0;
    std::size_t columns = 0;
};

/// silu(x * scale + bias), scale [count, columns], bias [columns], in one pass.
void chain(Rows rows, std::span<const float> x, std::span<const float> scale, std::span<const float> bias,
           std::span<float> out);
/// |min((max(y, x) - scale) y, x)| + bias, where y = x * scale + bias.
void long_chain(Rows rows, std::span<const float> x, std::span<const float> scale, std::span<const float> bias,
                std::span<float> out);
/// [members, rows, heads, width] to [members, heads, rows, width]; `rows` counts members.
void permute(Rows members, std::size_t rows, std::size_t heads, std::size_t width, std::span<const float> in,
             std::span<float> out);
/// Scores where the mask [period, columns] is not 0, else `otherwise`; row i takes row i % period of the mask.
void masked(Rows rows, std::size_t period, std::span<const float> mask, std::span<const float> scores, float otherwise,
            std::span<float> out);
void cumulative_sum(Rows rows, std::span<const float> in, std::span<float> out);
void softmax(Rows rows, std::span<const float> in, std::span<float> out);
void layer_norm(Rows rows, std::span<const float> in, std::span<float> out);
void rms_norm(Rows rows, std::span<const float> in, std::span<float> out);

}  // namespace yolk::bench::host
