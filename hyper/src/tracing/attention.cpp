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

Located scale_of(const Traced& q, const Line& line) {
    const Shape shape = q.shape();  // what is not [..., n, d] is refused by matmul
    const double depth = shape.rank() == 0 ? 1.0 : static_cast<double>(shape[shape.rank() - 1]);
    return Located(1.0 / std::sqrt(depth), line);
}

/// Scaled behind the product: the choice that follows has the factor in its kernel, and the product reads q where it
/// lies.
Traced chosen_scores(const Traced& seen, const Traced& q, const Traced& k, const Line& line) {
    return where(seen, matmul(q, transpose(k, line), line) * scale_of(q, line), kUnseen, line);
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
    const Shape queries = q.shape(), keys = k.shape();
    if (!causal || queries.rank() < 2 || keys.rank() < 2)
        return matmul(softmax(matmul(q * scale_of(q, line), transpose(k, line), line), -1, line), v, line);
    const auto rows = static_cast<std::uint32_t>(queries[queries.rank() - 2]);
    const auto columns = static_cast<std::uint32_t>(keys[keys.rank() - 2]);
    return masked_attention(q, k, v, causal_mask(rows, columns), line);
}

Traced masked_attention(const Traced& q, const Traced& k, const Traced& v, const Traced& seen, Line line) {
    return matmul(softmax(chosen_scores(seen, q, k, line), -1, line), v, line);
}

}  // namespace yolk::hyper
