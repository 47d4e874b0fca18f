// SPDX-License-Identifier: Apache-2.0
#include "encoder_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "yolk/internal/hyper/control.hpp"
#include "yolk/internal/hyper/masked_attention.hpp"
#include "yolk/internal/hyper/traced_layers.hpp"

namespace yolk::transformer {
namespace {

using namespace hyper;

AnyHyperfunction function_of(const ExpectedTensor& tensor, const Tensor& values) {
    const auto extent = [&](std::size_t d) { return static_cast<std::uint32_t>(tensor.shape[d]); };
    if (tensor.shape.size() == 1) {
        const VectorWeight weight{.size = extent(0), .values = values};
        const bool scales = tensor.name.ends_with("LayerNorm.weight");
        return hyperfunction(tensor.name, weight,
                             [scales](const Traced& w, const Traced& x) { return scales ? x * w : x + w; },
                             {.optimize = true});
    }
    const MatrixWeight weight{.out = extent(0), .in = extent(1), .values = values};
    const bool is_table = tensor.name.ends_with("embeddings.weight");
    return hyperfunction(
        tensor.name, weight,
        [is_table](const Traced& w, const Traced& x) { return is_table ? embedding(w, x) : linear(w, x); },
        {.optimize = true});
}

/// Abramowitz and Stegun 7.1.26: within 1.5e-7.
Traced error_function(const Traced& x) {
    const Traced size = absolute(x);
    const Traced t = 1.0 / (size * 0.3275911 + 1.0);
    Traced series = t * 1.061405429 - 1.453152027;
    for (const double next : {1.421413741, -0.284496736, 0.254829592}) series = series * t + next;
    const Traced value = 1.0 - series * t * exp(-(x * x));
    return where(less_than(x, 0.0), -value, value);
}

}  // namespace

EncoderGraph::EncoderGraph(const EncoderConfig& config, const EncoderWeights& weights) : config_(config) {
    for (const ExpectedTensor& tensor : expected_tensors(config))
        functions_.push_back(function_of(tensor, weights.tensors.at(tensor.name)));
}

Traced EncoderGraph::apply(const std::string& name, const Traced& x) const {
    const auto found = std::ranges::find(functions_, name, &AnyHyperfunction::name);
    return (*found)(x);  // the names are those of expected_tensors()
}
Traced EncoderGraph::dense(const std::string& at, const Traced& x) const {
    return apply(at + ".bias", apply(at + ".weight", x));
}
Traced EncoderGraph::norm(const std::string& at, const Traced& x) const {
    return dense(at, layer_norm(x, {.epsilon = config_.epsilon}));
}

Traced EncoderGraph::heads(const Traced& x) const {
    return permute(reshape(x, {x.shape()[0], config_.heads, config_.width / config_.heads}), {1, 0, 2});
}

Traced EncoderGraph::attention(const std::string& at, const Traced& x, const Traced& seen) const {
    const auto part = [&](const char* name) { return heads(dense(at + "self." + name, x)); };
    const Traced mixed = masked_attention(part("query"), part("key"), part("value"), seen);
    return dense(at + "output.dense", reshape(permute(mixed, {1, 0, 2}), {x.shape()[0], config_.width}));
}

Traced EncoderGraph::activated(const Traced& x) const {
    switch (config_.activation) {
        case EncoderActivation::Gelu: return x * 0.5 * (error_function(x * std::sqrt(0.5)) + 1.0);
        case EncoderActivation::GeluTanh: return gelu(x);
        case EncoderActivation::Relu: return relu(x);
    }
    return x;
}

Traced EncoderGraph::operator()(const Traced& ids, const Traced& seen) const {
    const auto length = static_cast<std::size_t>(ids.shape()[0]);
    std::vector<float> places(length);
    std::iota(places.begin(), places.end(), 0.0F);
    const Traced type = apply("embeddings.token_type_embeddings.weight", Tensor::vector({0.0F}));
    const Traced place = apply("embeddings.position_embeddings.weight", Tensor::vector(std::move(places)));
    Traced x = norm("embeddings.LayerNorm", apply("embeddings.word_embeddings.weight", ids) + place + type);
    for (std::uint32_t layer = 0; layer < config_.layers; ++layer) {
        const std::string at = fmt::format("encoder.layer.{}.", layer);
        x = norm(at + "attention.output.LayerNorm", x + attention(at + "attention.", x, seen));
        const Traced inner = activated(dense(at + "intermediate.dense", x));
        x = norm(at + "output.LayerNorm", x + dense(at + "output.dense", inner));
    }
    const Traced mean = sum(x * reshape(seen, {length, 1}), 0) / sum(seen);
    if (!config_.normalize) return mean;
    return mean / maximum(sqrt(sum(mean * mean)), 1e-12);
}

Result<TracedExample> trace_encoder(const EncoderGraph& graph, std::uint32_t length) {
    const ValueType list{ValueKind::Tensor, Shape{length}};
    const std::vector<std::pair<std::string, ValueType>> inputs{{kIds, list}, {kSeen, list}};
    TracedExample traced;
    YOLK_TRY(traced.graph, trace("encoder", inputs, [&](std::span<const Traced> given) {
                 return TracedValues{graph(given[0], given[1])};
             }));
    traced.values.resize(traced.graph.variables.size());
    return traced;
}

std::map<std::string, Value> encoder_inputs(std::span<const std::uint32_t> ids, std::uint32_t length) {
    std::vector<float> padded(length, 0.0F), seen(length, 0.0F);
    std::ranges::copy(ids, padded.begin());  // exact: a table has fewer rows than 2^24
    std::fill_n(seen.begin(), ids.size(), 1.0F);
    return {{kIds, Tensor::vector(std::move(padded))}, {kSeen, Tensor::vector(std::move(seen))}};
}

}  // namespace yolk::transformer
