// SPDX-License-Identifier: Apache-2.0
#include "decoder_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "yolk/internal/hyper/traced_layers.hpp"

namespace yolk::transformer {
namespace {

using namespace hyper;

/// Far below any score: its exponential is 0.
constexpr double kHidden = -1e30;

/// A tied table of tokens takes ids [tokens], and as the output matrix rows [tokens, width].
Traced table_of_tokens(const Traced& w, const Traced& x) {
    return x.shape().rank() == 1 ? embedding(w, x) : linear(w, x);
}

AnyHyperfunction decoder_function(const ExpectedTensor& tensor, const Tensor& values) {
    const auto extent = [&](std::size_t d) { return static_cast<std::uint32_t>(tensor.shape[d]); };
    if (tensor.shape.size() == 1) {
        const VectorWeight weight{.size = extent(0), .values = values};
        const bool scales = tensor.name.ends_with("norm.weight");
        return hyperfunction(tensor.name, weight,
                             [scales](const Traced& w, const Traced& x) { return scales ? x * w : x + w; },
                             {.optimize = true});
    }
    const MatrixWeight weight{.out = extent(0), .in = extent(1), .values = values};
    return hyperfunction(tensor.name, weight, table_of_tokens, {.optimize = true});
}

/// Radians from one place to the next, slower from number to number of a head; of Llama 3 the slow ones are stretched.
std::vector<float> speeds_of(const DecoderConfig& config) {
    const RopeScaling& scaling = config.rope_scaling;
    std::vector<float> speeds;
    for (std::uint32_t i = 0; i < config.head_width; i += 2) {
        double speed = std::pow(config.rope_theta, -static_cast<double>(i) / config.head_width);
        if (scaling.is_llama3) {
            const double turns = scaling.original * speed / (2.0 * std::numbers::pi);  // within the original length
            const double kept = std::clamp((turns - scaling.low) / (scaling.high - scaling.low), 0.0, 1.0);
            speed *= kept + (1.0 - kept) / scaling.factor;
        }
        speeds.push_back(static_cast<float>(speed));
    }
    return speeds;
}

/// x [tokens, heads, width] turned by each token's angles: number i together with i + width / 2.
Traced rotated(const Traced& x, const Sight& sight) {
    const std::uint64_t half = x.shape()[2] / 2;
    const auto of_heads = [&](const Traced& angles) { return reshape(angles, {x.shape()[0], 1, half}); };
    const Traced cosine = of_heads(sight.cosine), sine = of_heads(sight.sine);
    const std::vector<Traced> parts = split(x, {half, half}, -1);
    return concat({parts[0] * cosine - parts[1] * sine, parts[1] * cosine + parts[0] * sine}, -1);
}

/// [rows, heads, width] to [heads, rows, width].
Traced by_heads(const Traced& x) { return permute(x, {1, 0, 2}); }

}  // namespace

std::pair<Tensor, Tensor> rope_tables(const DecoderConfig& config, std::uint32_t places) {
    const std::vector<float> speeds = speeds_of(config);
    std::vector<float> cosines, sines;
    for (std::uint32_t place = 0; place < places; ++place) {
        for (const float speed : speeds) {
            const double angle = static_cast<float>(place) * speed;
            cosines.push_back(static_cast<float>(std::cos(angle)));
            sines.push_back(static_cast<float>(std::sin(angle)));
        }
    }
    const Shape shape{places, speeds.size()};
    return {Tensor::create(shape, std::move(cosines)).value(), Tensor::create(shape, std::move(sines)).value()};
}

DecoderGraph::DecoderGraph(DecoderConfig config, const ModelWeights& weights) : config_(std::move(config)) {
    for (const ExpectedTensor& tensor : expected_tensors(config_))
        functions_.push_back(decoder_function(tensor, weights.tensors.at(tensor.name)));
}

Traced DecoderGraph::apply(const std::string& name, const Traced& x) const {
    const auto found = std::ranges::find(functions_, name, &AnyHyperfunction::name);
    return (*found)(x);  // the names are those of expected_tensors()
}
Traced DecoderGraph::dense(const std::string& at, const Traced& x, bool has_bias) const {
    const Traced y = apply(at + ".weight", x);
    return has_bias ? apply(at + ".bias", y) : y;
}
Traced DecoderGraph::norm(const std::string& at, const Traced& x) const {
    return apply(at + ".weight", rms_norm(x, {.epsilon = config_.epsilon}));
}

Traced DecoderGraph::attention(std::uint32_t layer, const Traced& x, const Sight& sight) const {
    const std::string at = fmt::format("model.layers.{}.self_attn.", layer);
    const std::uint64_t tokens = x.shape()[0], width = config_.head_width, sharing = config_.heads / config_.key_heads;
    const auto part = [&](const char* name, std::uint32_t count) {
        return reshape(dense(at + name, x, config_.attention_bias), {tokens, count, width});
    };
    const Traced query =
        by_heads(rotated(part("q_proj", config_.heads), sight) * (1.0 / std::sqrt(config_.head_width)));
    const auto [keys, values] =
        sight.remember(layer, rotated(part("k_proj", config_.key_heads), sight), part("v_proj", config_.key_heads));
    const std::uint64_t places = keys.shape()[0];
    // Queries of one head of keys are rows of one product, so that keys need not be repeated.
    const Shape together{config_.key_heads, sharing * tokens, width};
    const Traced scores = reshape(matmul(reshape(query, together), transpose(by_heads(keys))),
                                  {config_.key_heads, sharing, tokens, places});
    const Traced shares = softmax(where(sight.seen, scores, kHidden));
    const Traced mixed = matmul(reshape(shares, {config_.key_heads, sharing * tokens, places}), by_heads(values));
    const Traced rows = by_heads(reshape(mixed, {config_.heads, tokens, width}));  // and back
    return dense(at + "o_proj", reshape(rows, {tokens, config_.heads * width}), config_.output_bias);
}

Traced DecoderGraph::inner(const std::string& at, const Traced& x) const {
    const auto part = [&](const char* name, const Traced& from) { return dense(at + name, from, config_.inner_bias); };
    return part("down_proj", silu(part("gate_proj", x)) * part("up_proj", x));
}

Traced DecoderGraph::logits(const Traced& ids, const Sight& sight) const {
    Traced x = apply("model.embed_tokens.weight", ids);
    for (std::uint32_t layer = 0; layer < config_.layers; ++layer) {
        const std::string at = fmt::format("model.layers.{}.", layer);
        x = x + attention(layer, norm(at + "input_layernorm", x), sight);
        x = x + inner(at + "mlp.", norm(at + "post_attention_layernorm", x));
    }
    return apply(config_.tied ? "model.embed_tokens.weight" : "lm_head.weight", norm("model.norm", x));
}

Traced DecoderGraph::operator()(const Traced& ids) const {
    const auto length = static_cast<std::uint32_t>(ids.shape()[0]);
    const auto [cosines, sines] = rope_tables(config_, length);
    return logits(ids, {.cosine = cosines,
                        .sine = sines,
                        .seen = causal_mask(length),
                        .remember = [](std::uint32_t, Traced keys, Traced values) {
                            return std::pair(std::move(keys), std::move(values));
                        }});
}

}  // namespace yolk::transformer
