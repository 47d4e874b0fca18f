// SPDX-License-Identifier: Apache-2.0
#include "encoder_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "model_json.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::transformer {
namespace {

Result<EncoderActivation> read_activation(const ModelJson& config) {
    const Json* const value = config.find("hidden_act");
    const std::string name = value == nullptr ? "gelu" : value->is_string() ? value->get<std::string>() : "";
    if (name == "gelu") return EncoderActivation::Gelu;
    if (name == "gelu_new" || name == "gelu_pytorch_tanh") return EncoderActivation::GeluTanh;
    if (name == "relu") return EncoderActivation::Relu;
    return unsupported("'hidden_act' in {} is {}; gelu, gelu_new, gelu_pytorch_tanh and relu are supported.",
                       config.what, shown(to_line(*value)));
}

Result<EncoderConfig> read_network(const ModelJson& config) {
    const Json* const kind = config.find("model_type");
    if (kind == nullptr) return bad_input("{} has no 'model_type': it describes no model.", config.what);
    if (*kind != "bert")
        return unsupported("{} describes a model of type {}; encoders of type \"bert\" are supported.", config.what,
                           shown(to_line(*kind)));
    YOLK_TRY_VOID(config.only("position_embedding_type", "absolute"));
    YOLK_TRY_VOID(config.only("is_decoder", false));
    YOLK_TRY_VOID(config.only("add_cross_attention", false));
    EncoderConfig made;
    YOLK_TRY(made.vocabulary, config.whole("vocab_size", kMostRows));
    YOLK_TRY(made.width, config.whole("hidden_size", kWidest));
    YOLK_TRY(made.layers, config.whole("num_hidden_layers", kMostLayers));
    YOLK_TRY(made.heads, config.whole("num_attention_heads", kWidest));
    YOLK_TRY(made.inner, config.whole("intermediate_size", kWidest));
    YOLK_TRY(made.positions, config.whole("max_position_embeddings", kMostRows));
    YOLK_TRY(made.token_types, config.whole("type_vocab_size", kMostRows));
    YOLK_TRY(made.activation, read_activation(config));
    if (made.width % made.heads != 0)
        return bad_input("{} has a 'hidden_size' of {} and {} attention heads; the heads must divide it.", config.what,
                         made.width, made.heads);
    if (const Json* const epsilon = config.find("layer_norm_eps")) {
        made.epsilon = epsilon->is_number() ? epsilon->get<double>() : 0.0;
        if (!(made.epsilon >= 0x1p-40 && made.epsilon <= 1.0))
            return bad_input("'layer_norm_eps' in {} is {}; it must be from 2^-40 to 1.", config.what,
                             shown(to_line(*epsilon)));
    }
    return made;
}

/// "sentence_transformers.models.Pooling" and, of later versions, longer names: the class.
std::string class_of(const Json& module) {
    const auto type = module.is_object() ? module.find("type") : module.end();
    if (!module.is_object() || type == module.end() || !type->is_string()) return {};
    const std::string name = type->get<std::string>();
    return name.substr(name.rfind('.') + 1);
}

Result<void> check_pooling(const std::filesystem::path& folder) {
    YOLK_TRY(const ModelJson pooling, read_model_json(folder / "config.json"));
    const Json* const mode = pooling.find("pooling_mode");
    if (mode != nullptr && *mode != "mean")
        return unsupported("'pooling_mode' in {} is {}; only \"mean\" is supported.", pooling.what,
                           shown(to_line(*mode)));
    for (const auto& [name, value] : pooling.json.items()) {
        const bool is_mode = name.starts_with("pooling_mode_");
        if (is_mode && value != (name == "pooling_mode_mean_tokens"))
            return unsupported("'{}' in {} is {}; only the mean over tokens is supported.", shown(name), pooling.what,
                               shown(to_line(value)));
    }
    return {};
}

/// The steps of sentence-transformers: the encoder, the mean and perhaps the length 1.
Result<void> read_steps(const std::filesystem::path& folder, EncoderConfig& config) {
    const std::filesystem::path path = folder / "modules.json";
    if (!std::filesystem::exists(path)) return {};
    YOLK_TRY(const ModelJson modules, read_model_json(path, true));
    config.normalize = false;
    for (const Json& module : modules.json) {
        const std::string name = class_of(module);
        if (name == "Pooling") {
            const auto where = module.find("path");
            YOLK_TRY_VOID(check_pooling(
                folder / (where != module.end() && where->is_string() ? where->get<std::string>() : "1_Pooling")));
        } else if (name == "Normalize") {
            config.normalize = true;
        } else if (name != "Transformer") {
            return unsupported("{} has the step {}; Transformer, Pooling and Normalize are supported.", modules.what,
                               shown(to_line(module)));
        }
    }
    return {};
}

Result<void> read_length(const std::filesystem::path& folder, EncoderConfig& config) {
    config.most_tokens = config.positions;
    const std::filesystem::path path = folder / "sentence_bert_config.json";
    if (!std::filesystem::exists(path)) return {};
    YOLK_TRY(const ModelJson lengths, read_model_json(path));
    if (lengths.find("max_seq_length") == nullptr) return {};
    YOLK_TRY(config.most_tokens, lengths.whole("max_seq_length", config.positions));
    return {};
}

}  // namespace

Result<EncoderConfig> read_encoder_config(const std::filesystem::path& folder) {
    YOLK_TRY(const ModelJson json, read_model_json(folder / "config.json"));
    YOLK_TRY(EncoderConfig config, read_network(json));
    YOLK_TRY_VOID(read_steps(folder, config));
    YOLK_TRY_VOID(read_length(folder, config));
    if (config.most_tokens < 2)
        return bad_input("'{}' allows texts of {} token(s); at least 2 are needed.", shown(folder), config.most_tokens);
    return config;
}

}  // namespace yolk::transformer
