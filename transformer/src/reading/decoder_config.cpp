// SPDX-License-Identifier: Apache-2.0
#include "decoder_config.hpp"

#include <algorithm>
#include <string>

#include "model_json.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::transformer {
namespace {

constexpr double kLargest = 1e12;
/// MistralConfig's own, where the file does not say.
constexpr std::uint32_t kMistralWindow = 4096;

Result<RopeScaling> read_rope_scaling(const ModelJson& rope, const char* kind_name) {
    RopeScaling made;
    const Json* const kind = rope.find(kind_name);
    if (kind == nullptr || *kind == "default") return made;
    if (*kind != "llama3")
        return unsupported("'{}' of the rotary positions in {} is {}; \"default\" and \"llama3\" are supported.",
                           kind_name, rope.what, shown(to_line(*kind)));
    made.is_llama3 = true;
    YOLK_TRY(made.factor, rope.real("factor", 1.0, kLargest, made.factor));
    YOLK_TRY(made.low, rope.real("low_freq_factor", 1e-6, kLargest, made.low));
    YOLK_TRY(made.high, rope.real("high_freq_factor", 1e-6, kLargest, made.high));
    YOLK_TRY(made.original, rope.real("original_max_position_embeddings", 1.0, kLargest, made.original));
    if (made.high <= made.low)
        return bad_input("'high_freq_factor' in {} is {} and 'low_freq_factor' {}; the first must be larger.",
                         rope.what, made.high, made.low);
    return made;
}

/// Of files of Transformers 5 in "rope_parameters", of older ones in "rope_theta" and "rope_scaling".
Result<void> read_rope(const ModelJson& config, DecoderConfig& made) {
    for (const char* const name : {"rope_parameters", "rope_scaling"}) {
        const Json* const rope = config.find(name);
        if (rope == nullptr) continue;
        if (!rope->is_object()) return bad_input("'{}' in {} is no JSON object.", name, config.what);
        const ModelJson part{.json = *rope, .what = config.what};
        YOLK_TRY(made.rope_theta, part.real("rope_theta", 1.0, kLargest, made.rope_theta));
        YOLK_TRY_VOID(part.only("partial_rotary_factor", 1.0));
        YOLK_TRY(made.rope_scaling, read_rope_scaling(part, part.find("type") != nullptr ? "type" : "rope_type"));
    }
    YOLK_TRY(made.rope_theta, config.real("rope_theta", 1.0, kLargest, made.rope_theta));
    return config.only("partial_rotary_factor", 1.0);
}

/// What the three families differ in.
Result<void> read_family(const ModelJson& config, DecoderConfig& made) {
    const Json& kind = *config.find("model_type");
    YOLK_TRY(made.most_tokens, config.whole("max_position_embeddings", kMostRows));
    if (kind == "llama") {
        YOLK_TRY(made.attention_bias, config.flag("attention_bias", false));
        made.output_bias = made.attention_bias;
        YOLK_TRY(made.inner_bias, config.flag("mlp_bias", false));
    } else if (kind == "qwen2") {
        made.attention_bias = true;
        YOLK_TRY_VOID(config.only("use_sliding_window", false));
    } else {  // within the window there is no difference
        const auto given = config.json.find("sliding_window");
        if (given == config.json.end()) {
            made.most_tokens = std::min(made.most_tokens, kMistralWindow);
        } else if (!given->is_null()) {
            YOLK_TRY(const std::uint32_t window, config.whole("sliding_window", kMostRows));
            made.most_tokens = std::min(made.most_tokens, window);
        }
    }
    return {};
}

Result<void> check_heads(const ModelJson& config, const DecoderConfig& made) {
    if (made.heads % made.key_heads != 0)
        return bad_input("{} has {} attention heads and 'num_key_value_heads' of {}; the second must divide the first.",
                         config.what, made.heads, made.key_heads);
    if (made.head_width % 2 != 0)
        return bad_input("{} has heads of {} numbers; rotary positions need an even number.", config.what,
                         made.head_width);
    return {};
}

Result<DecoderConfig> read_decoder(const ModelJson& config) {
    const Json* const kind = config.find("model_type");
    if (kind == nullptr) return bad_input("{} has no 'model_type': it describes no model.", config.what);
    if (*kind != "llama" && *kind != "mistral" && *kind != "qwen2")
        return unsupported(
            "{} describes a model of type {}; decoders of the types \"llama\", \"mistral\" and \"qwen2\" are "
            "supported.",
            config.what, shown(to_line(*kind)));
    YOLK_TRY_VOID(config.only("hidden_act", "silu"));
    YOLK_TRY_VOID(config.only("is_encoder_decoder", false));
    YOLK_TRY_VOID(config.only("add_cross_attention", false));
    YOLK_TRY_VOID(config.only("quantization_config", nullptr));
    DecoderConfig made;
    YOLK_TRY(made.vocabulary, config.whole("vocab_size", kMostRows));
    YOLK_TRY(made.width, config.whole("hidden_size", kWidest));
    YOLK_TRY(made.layers, config.whole("num_hidden_layers", kMostLayers));
    YOLK_TRY(made.heads, config.whole("num_attention_heads", kWidest));
    YOLK_TRY(made.key_heads, config.whole_or("num_key_value_heads", kWidest, made.heads));
    if (config.find("head_dim") == nullptr && made.width % made.heads != 0)
        return bad_input("{} has a 'hidden_size' of {} and {} attention heads; the heads must divide it.", config.what,
                         made.width, made.heads);
    YOLK_TRY(made.head_width, config.whole_or("head_dim", kWidest, made.width / made.heads));
    YOLK_TRY(made.inner, config.whole("intermediate_size", 4 * kWidest));
    YOLK_TRY(made.epsilon, config.real("rms_norm_eps", 0x1p-40, 1.0, made.epsilon));
    YOLK_TRY(made.tied, config.flag("tie_word_embeddings", false));
    YOLK_TRY_VOID(check_heads(config, made));
    YOLK_TRY_VOID(read_family(config, made));
    YOLK_TRY_VOID(read_rope(config, made));
    return made;
}

/// One token, or a list of them.
Result<void> read_ends(const ModelJson& file, DecoderConfig& made) {
    const Json* const given = file.find("eos_token_id");
    if (given == nullptr) return {};
    const Json ids = given->is_array() ? *given : Json::array({*given});
    made.ends.clear();
    for (const Json& id : ids) {
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= made.vocabulary)
            return bad_input("'eos_token_id' in {} is {}; the vocabulary has the tokens 0 to {}.", file.what,
                             shown(to_line(*given)), made.vocabulary - 1);
        made.ends.push_back(id.get<std::uint32_t>());
    }
    return {};
}

}  // namespace

Result<DecoderConfig> read_decoder_config(const std::filesystem::path& folder) {
    YOLK_TRY(const ModelJson json, read_model_json(folder / "config.json"));
    YOLK_TRY(DecoderConfig config, read_decoder(json));
    YOLK_TRY_VOID(read_ends(json, config));
    const std::filesystem::path path = folder / "generation_config.json";
    if (!std::filesystem::exists(path)) return config;
    YOLK_TRY(const ModelJson generation, read_model_json(path));
    YOLK_TRY_VOID(read_ends(generation, config));
    return config;
}

}  // namespace yolk::transformer
