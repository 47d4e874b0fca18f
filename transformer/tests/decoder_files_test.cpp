// SPDX-License-Identifier: Apache-2.0
// Folders that are not one decoder: each error names the file, and the tensor or the setting.
#include <gmock/gmock.h>

#include <limits>

#include "models.hpp"
#include "yolk/decoder.hpp"

namespace yolk::transformer {
namespace {

std::string decoder_refusal(const std::filesystem::path& folder, ErrorKind kind = ErrorKind::BadInput) {
    const auto opened = Decoder::open(folder, evolve::Devices::none());
    if (opened) return "it was opened";
    EXPECT_EQ(opened.error().kind, kind) << opened.error().message;
    return opened.error().message;
}
StoredTensor& decoder_tensor(std::vector<StoredTensor>& tensors, std::string_view name) {
    const auto found = std::ranges::find(tensors, name, &StoredTensor::name);
    EXPECT_NE(found, tensors.end()) << name;
    return *found;
}

TEST(decoder_files, a_folder_says_what_it_is) {
    ASSERT_OK_AND_ASSIGN(const Decoder llama, Decoder::open(models_folder() / "llama", evolve::Devices::none()));
    EXPECT_EQ(llama.config().key_heads, 2U);
    EXPECT_EQ(llama.config().head_width, 6U);
    EXPECT_EQ(llama.config().most_tokens, 96U);
    EXPECT_TRUE(llama.config().tied);
    EXPECT_FALSE(llama.config().attention_bias);
    EXPECT_EQ(llama.config().ends, std::vector<std::uint32_t>{311});
    ASSERT_OK_AND_ASSIGN(const Decoder qwen2, Decoder::open(models_folder() / "qwen2", evolve::Devices::none()));
    EXPECT_FALSE(qwen2.config().tied);
    EXPECT_TRUE(qwen2.config().attention_bias);
    EXPECT_FALSE(qwen2.config().output_bias);
    EXPECT_EQ(qwen2.config().rope_theta, 1e6);
    EXPECT_EQ(llama.left_out().size() + qwen2.left_out().size(), 0U);
}

TEST(decoder_files, tensors_that_are_known_and_not_needed_are_left_out) {
    const CopiedModel copy("llama");
    copy.change_tensors([](auto& all) {
        all.push_back({.name = "lm_head.weight", .shape = {1}, .values = {0}});
        all.push_back({.name = "model.layers.0.self_attn.rotary_emb.inv_freq", .shape = {1}, .values = {0}});
    });
    ASSERT_OK_AND_ASSIGN(const Decoder opened, Decoder::open(copy.folder(), evolve::Devices::none()));
    EXPECT_EQ(opened.left_out().size(), 2U);
}

struct SpoiltDecoderTensors {
    std::string name;
    std::function<void(std::vector<StoredTensor>&)> spoil;
    std::string message;
};
TEST(decoder_files, tensors_are_those_that_the_configuration_implies) {
    const std::string query = "model.layers.1.self_attn.q_proj.weight";
    const std::vector<SpoiltDecoderTensors> cases{
        {"missing", [&](auto& all) { std::erase_if(all, [&](const auto& t) { return t.name == query; }); },
         "model.safetensors' has no tensor 'model.layers.1.self_attn.q_proj.weight' of the shape \\[24, 24\\]"},
        {"one too many",
         [](auto& all) {
             all.push_back({.name = "model.layers.1.self_attn.q_proj.bias", .shape = {1}, .values = {0}});
         },
         "model.safetensors' has the tensor 'model.layers.1.self_attn.q_proj.bias', for which .* no place"},
        {"shape",
         [&](auto& all) {
             decoder_tensor(all, query).shape = {12, 48};
         },
         "Tensor 'model.layers.1.self_attn.q_proj.weight' of .* is \\[12, 48\\]; config.json implies \\[24, 24\\]"},
        {"value", [&](auto& all) { decoder_tensor(all, query).values[5] = std::numeric_limits<float>::quiet_NaN(); },
         "Tensor 'model.layers.1.self_attn.q_proj.weight' of .* has the value nan at element 5"},
    };
    for (const SpoiltDecoderTensors& one : cases) {
        SCOPED_TRACE(one.name);
        const CopiedModel copy("llama");
        copy.change_tensors(one.spoil);
        EXPECT_THAT(decoder_refusal(copy.folder()), ::testing::ContainsRegex(one.message));
    }
}

struct SpoiltDecoderSetting {
    std::string name;
    Json value;
    ErrorKind kind;
    std::string message;
};
TEST(decoder_files, settings_are_checked) {
    const auto bad = ErrorKind::BadInput;
    const auto other = ErrorKind::Unsupported;
    const std::vector<SpoiltDecoderSetting> cases{
        {"model_type", "bert", other, "config.json' describes a model of type \"bert\""},
        {"model_type", nullptr, bad, "no 'model_type'"},
        {"model_type", "qwen2", bad, "no tensor 'model.layers.0.self_attn.q_proj.bias'"},
        {"tie_word_embeddings", false, bad, "no tensor 'lm_head.weight'"},
        {"attention_bias", true, bad, "no tensor 'model.layers.0.self_attn.q_proj.bias'"},
        {"mlp_bias", true, bad, "no tensor 'model.layers.0.mlp.gate_proj.bias'"},
        {"mlp_bias", "no", bad, "'mlp_bias' in .* is \"no\""},
        {"hidden_act", "gelu", other, "'hidden_act' in .* is \"gelu\""},
        {"num_hidden_layers", 3, bad, "no tensor 'model.layers.2.input_layernorm.weight'"},
        {"num_hidden_layers", 1, bad, "has the tensor 'model.layers.1."},
        {"num_key_value_heads", 4, bad, "k_proj.weight' of .* is \\[12, 24\\]; config.json implies \\[24, 24\\]"},
        {"num_key_value_heads", 3, bad, "4 attention heads and 'num_key_value_heads' of 3"},
        {"num_attention_heads", 5, bad, "'hidden_size' of 24 and 5 attention heads"},
        {"head_dim", 5, bad, "heads of 5 numbers"},
        {"head_dim", 8, bad, "q_proj.weight' of .* config.json implies \\[32, 24\\]"},
        {"vocab_size", 5000, bad, "has 312 tokens, but 'vocab_size' in config.json is 5000: .* another model"},
        {"rms_norm_eps", 0, bad, "'rms_norm_eps' in .* is 0"},
        {"rope_theta", -1, bad, "'rope_theta' in .* is -1"},
        {"rope_scaling", {{"rope_type", "yarn"}}, other, "'rope_type' of the rotary positions in .* is \"yarn\""},
        {"rope_scaling", {{"type", "linear"}, {"factor", 2.0}}, other, "'type' of .* is \"linear\""},
        {"rope_scaling", {{"rope_type", "llama3"}, {"low_freq_factor", 4.0}}, bad, "the first must be larger"},
        {"rope_scaling", 3, bad, "'rope_scaling' in .* is no JSON object"},
        {"partial_rotary_factor", 0.5, other, "'partial_rotary_factor' in .* is 0.5"},
        {"quantization_config", {{"bits", 4}}, other, "'quantization_config'"},
        {"eos_token_id", 312, bad, "'eos_token_id' in .* is 312; the vocabulary has the tokens 0 to 311"},
        {"max_position_embeddings", nullptr, bad, "has no 'max_position_embeddings'"},
    };
    for (const SpoiltDecoderSetting& one : cases) {
        SCOPED_TRACE(one.name + " " + one.value.dump());
        const CopiedModel copy("llama");
        copy.change_json("config.json", [&](Json& json) { json[one.name] = one.value; });
        EXPECT_THAT(decoder_refusal(copy.folder(), one.kind), ::testing::ContainsRegex(one.message));
    }
}

TEST(decoder_files, a_tokenizer_has_no_more_tokens_than_the_table) {
    const CopiedModel copy("llama");
    copy.change_json("config.json", [](Json& json) {
        json["vocab_size"] = 311;
        json["eos_token_id"] = nullptr;
    });
    EXPECT_THAT(decoder_refusal(copy.folder()), ::testing::HasSubstr("has 312 tokens, but 'vocab_size' in config.json "
                                                                     "is 311: it is the tokenizer of another model"));
}

TEST(decoder_files, other_families_keep_their_window) {
    const CopiedModel copy("llama");
    copy.change_json("config.json", [](Json& json) {
        json["model_type"] = "mistral";
        json["sliding_window"] = 32;
    });
    ASSERT_OK_AND_ASSIGN(const Decoder opened, Decoder::open(copy.folder(), evolve::Devices::none()));
    EXPECT_EQ(opened.config().most_tokens, 32U);
    const CopiedModel qwen2("qwen2");
    qwen2.change_json("config.json", [](Json& json) { json["use_sliding_window"] = true; });
    EXPECT_THAT(decoder_refusal(qwen2.folder(), ErrorKind::Unsupported), ::testing::HasSubstr("use_sliding_window"));
}

TEST(decoder_files, several_files_are_one_model) {
    const CopiedModel copy("qwen2");
    copy.change_json("model.safetensors.index.json",
                     [](Json& json) { json["weight_map"]["x"] = "../model.safetensors"; });
    EXPECT_THAT(
        decoder_refusal(copy.folder()),
        ::testing::ContainsRegex("index.json' says that the tensor 'x' is in .*; it must be a file of the same"));
    const CopiedModel twice("qwen2");
    std::filesystem::copy(twice.folder() / "model-00001-of-00002.safetensors", twice.folder() / "copy.safetensors");
    twice.change_json("model.safetensors.index.json", [](Json& json) { json["weight_map"]["x"] = "copy.safetensors"; });
    EXPECT_THAT(decoder_refusal(twice.folder()), ::testing::ContainsRegex("Both .* and .* have the tensor"));
    const CopiedModel half("qwen2");
    std::filesystem::remove(half.folder() / "model-00002-of-00002.safetensors");
    EXPECT_THAT(decoder_refusal(half.folder(), ErrorKind::Io),
                ::testing::HasSubstr("model-00002-of-00002.safetensors"));
}

TEST(decoder_files, the_file_of_generation_says_what_ends_a_text) {
    const CopiedModel copy("llama");
    ASSERT_OK(write_file_atomically(copy.folder() / "generation_config.json",
                                    std::string_view(R"({"eos_token_id": [7, 311]})")));
    ASSERT_OK_AND_ASSIGN(const Decoder opened, Decoder::open(copy.folder(), evolve::Devices::none()));
    EXPECT_EQ(opened.config().ends, (std::vector<std::uint32_t>{7, 311}));
}

TEST(decoder_files, damaged_files_are_refused) {
    for (const char* const file : {"config.json", "tokenizer.json", "model.safetensors"}) {
        const CopiedModel copy("llama");
        ASSERT_OK_AND_ASSIGN(const std::string text, read_text(copy.folder() / file, 1U << 24U));
        for (const std::size_t size : {std::size_t{0}, std::size_t{7}, text.size() / 2, text.size() - 3}) {
            ASSERT_OK(write_file_atomically(copy.folder() / file, std::string_view(text).substr(0, size)));
            EXPECT_THAT(decoder_refusal(copy.folder()), ::testing::HasSubstr(file)) << size;
        }
        std::filesystem::remove(copy.folder() / file);
        EXPECT_THAT(decoder_refusal(copy.folder(), ErrorKind::Io), ::testing::HasSubstr(file));
    }
}

}  // namespace
}  // namespace yolk::transformer
