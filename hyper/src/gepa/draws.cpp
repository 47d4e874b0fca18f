// SPDX-License-Identifier: Apache-2.0
#include "draws.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "yolk/internal/core/noise.hpp"

namespace yolk::hyper::prompts {
namespace {

/// Apart from streams that number parameters or examples from 0.
constexpr std::uint32_t kFirstStream = 0x00670000U;

}  // namespace

std::uint64_t draw_word(const Draw& draw, std::uint32_t index) {
    const NoiseStream stream{.seed = draw.seed,
                             .parameter = kFirstStream + static_cast<std::uint32_t>(draw.purpose),
                             .domain = Domain::Data,
                             .time = draw.time};
    const PhiloxCounter words = philox_block(stream, index);
    return (std::uint64_t{words[0]} << 32U) | words[1];
}

std::uint32_t draw_below(const Draw& draw, std::uint32_t index, std::uint64_t count) {
    return static_cast<std::uint32_t>(draw_word(draw, index) % count);  // the bias is below 2^-32
}

double draw_fraction(const Draw& draw, std::uint32_t index) {
    return static_cast<double>(draw_word(draw, index) >> 11U) * 0x1p-53;
}

std::size_t draw_weighted(const Draw& draw, std::uint32_t index, std::span<const double> weights) {
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    const bool usable =
        std::isfinite(sum) && sum > 0.0 && std::ranges::all_of(weights, [](double w) { return w >= 0; });
    if (!usable) return draw_below(draw, index, weights.size());
    double left = draw_fraction(draw, index) * sum;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (left < weights[i]) return i;
        left -= weights[i];
    }
    // Roundings may leave a little: it belongs to the last that can be drawn.
    std::size_t last = weights.size() - 1;
    while (weights[last] == 0.0) --last;
    return last;
}

void shuffle(const Draw& draw, std::uint32_t first_index, std::span<std::uint32_t> values) {
    for (std::size_t i = values.size(); i-- > 1;)
        std::swap(values[i], values[draw_below(draw, first_index + static_cast<std::uint32_t>(i), i + 1)]);
}

}  // namespace yolk::hyper::prompts
