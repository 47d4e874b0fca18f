// SPDX-License-Identifier: Apache-2.0
#include "decoder_weights.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace yolk::transformer {
namespace {

/// Angles that old versions stored.
bool decoder_needs_no(std::string_view name) { return name.ends_with(".rotary_emb.inv_freq"); }
/// A tied output matrix may be stored as well.
bool tied_decoder_needs_no(std::string_view name) { return name == "lm_head.weight" || decoder_needs_no(name); }

}  // namespace

std::vector<ExpectedTensor> expected_tensors(const DecoderConfig& config) {
    const std::uint64_t width = config.width;
    const std::uint64_t query = std::uint64_t{config.heads} * config.head_width;
    const std::uint64_t key = std::uint64_t{config.key_heads} * config.head_width;
    std::vector<ExpectedTensor> all{{"model.embed_tokens.weight", {config.vocabulary, width}}};
    const auto dense = [&](const std::string& at, std::uint64_t out, std::uint64_t in, bool has_bias) {
        all.push_back({at + ".weight", {out, in}});
        if (has_bias) all.push_back({at + ".bias", {out}});
    };
    for (std::uint32_t layer = 0; layer < config.layers; ++layer) {
        const std::string at = fmt::format("model.layers.{}.", layer);
        all.push_back({at + "input_layernorm.weight", {width}});
        dense(at + "self_attn.q_proj", query, width, config.attention_bias);
        dense(at + "self_attn.k_proj", key, width, config.attention_bias);
        dense(at + "self_attn.v_proj", key, width, config.attention_bias);
        dense(at + "self_attn.o_proj", width, query, config.output_bias);
        all.push_back({at + "post_attention_layernorm.weight", {width}});
        dense(at + "mlp.gate_proj", config.inner, width, config.inner_bias);
        dense(at + "mlp.up_proj", config.inner, width, config.inner_bias);
        dense(at + "mlp.down_proj", width, config.inner, config.inner_bias);
    }
    all.push_back({"model.norm.weight", {width}});
    if (!config.tied) all.push_back({"lm_head.weight", {config.vocabulary, width}});
    return all;
}

Result<ModelWeights> read_decoder_weights(const std::filesystem::path& folder, const DecoderConfig& config) {
    return read_model_weights(folder, expected_tensors(config),
                              {.leaves_out = config.tied ? tied_decoder_needs_no : decoder_needs_no});
}

}  // namespace yolk::transformer
