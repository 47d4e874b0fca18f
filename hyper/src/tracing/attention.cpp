// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <utility>

#include "tracer.hpp"
#include "yolk/internal/hyper/masked_attention.hpp"
#include "yolk/internal/hyper/traced_layers.hpp"

namespace yolk::hyper {
namespace {

/// Far below any score: its exponential is 0, and unlike an infinity it stays finite where a row has nothing else.
constexpr double kUnseen = -1e30;

Traced scores_of(const Traced& q, const Traced& k, const Line& line) {
    const Shape shape = q.shape();  // what is not [..., n, d] is refused by matmul
    const double depth = shape.rank() == 0 ? 1.0 : static_cast<double>(shape[shape.rank() - 1]);
    return matmul(q * Located(1.0 / std::sqrt(depth), line), transpose(k, line), line);
}

}  // namespace

Traced causal_mask(std::uint32_t rows, std::uint32_t columns) {
    std::vector<float> seen(std::size_t{rows} * columns, 0.0F);
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) seen[i * columns + j] = j + rows <= i + columns ? 1.0F : 0.0F;
    }
    return Traced(Tensor::create({rows, columns}, std::move(seen)).value());
}

Traced attention(const Traced& q, const Traced& k, const Traced& v, bool causal, Line line) {
    Traced scores = scores_of(q, k, line);
    if (const Shape square = scores.shape(); causal && square.rank() >= 2) {
        const auto rows = static_cast<std::uint32_t>(square[square.rank() - 2]);
        const auto columns = static_cast<std::uint32_t>(square[square.rank() - 1]);
        scores = where(causal_mask(rows, columns), scores, kUnseen, line);
    }
    return matmul(softmax(scores, -1, line), v, line);
}

Traced masked_attention(const Traced& q, const Traced& k, const Traced& v, const Traced& seen, Line line) {
    const Traced scores = where(seen, scores_of(q, k, line), kUnseen, line);
    return matmul(softmax(scores, -1, line), v, line);
}

}  // namespace yolk::hyper
