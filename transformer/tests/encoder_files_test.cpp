// SPDX-License-Identifier: Apache-2.0
// Folders that are not one model: each error names the file, and the tensor or the setting.
#include <gmock/gmock.h>

#include <limits>

#include "models.hpp"
#include "yolk/encoder.hpp"

namespace yolk::transformer {
namespace {

std::string refusal_of(const std::filesystem::path& folder, ErrorKind kind = ErrorKind::BadInput) {
    const auto opened = Encoder::open(folder, evolve::Devices::none());
    if (opened) return "it was opened";
    EXPECT_EQ(opened.error().kind, kind) << opened.error().message;
    return opened.error().message;
}
StoredTensor& tensor_of(std::vector<StoredTensor>& tensors, std::string_view name) {
    const auto found = std::ranges::find(tensors, name, &StoredTensor::name);
    EXPECT_NE(found, tensors.end()) << name;
    return *found;
}

TEST(encoder_files, a_folder_says_what_it_is) {
    ASSERT_OK_AND_ASSIGN(const Encoder encoder, Encoder::open(models_folder() / "bert", evolve::Devices::none()));
    EXPECT_EQ(encoder.config().width, 24U);
    EXPECT_EQ(encoder.config().layers, 2U);
    EXPECT_EQ(encoder.config().most_tokens, 24U);
    EXPECT_TRUE(encoder.config().normalize);
    EXPECT_EQ(encoder.config().activation, EncoderActivation::Gelu);
    EXPECT_THAT(encoder.left_out(),
                ::testing::ElementsAre("embeddings.position_ids", "pooler.dense.bias", "pooler.dense.weight"));
}

TEST(encoder_files, names_may_begin_with_the_models) {
    const CopiedModel copy;
    copy.change_tensors([](auto& tensors) {
        for (StoredTensor& tensor : tensors) tensor.name = "bert." + tensor.name;
        tensors.push_back({.name = "cls.predictions.bias", .shape = {2}, .values = {0, 0}});
    });
    ASSERT_OK_AND_ASSIGN(const Encoder encoder, Encoder::open(copy.folder(), evolve::Devices::none()));
    EXPECT_THAT(encoder.left_out(), ::testing::Contains("cls.predictions.bias"));
}

struct SpoiltTensors {
    std::string name;
    std::function<void(std::vector<StoredTensor>&)> spoil;
    std::string message;
};
TEST(encoder_files, tensors_are_those_that_the_configuration_implies) {
    const std::string query = "encoder.layer.1.attention.self.query.weight";
    const std::vector<SpoiltTensors> cases{
        {"missing", [&](auto& all) { std::erase_if(all, [&](const auto& t) { return t.name == query; }); },
         "model.safetensors' has no tensor 'encoder.layer.1.attention.self.query.weight' of the shape \\[24, 24\\]"},
        {"one too many",
         [](auto& all) { all.push_back({.name = "encoder.layer.2.output.dense.bias", .shape = {1}, .values = {0}}); },
         "model.safetensors' has the tensor 'encoder.layer.2.output.dense.bias', for which .* no place"},
        {"shape",
         [&](auto& all) {
             tensor_of(all, query).shape = {12, 48};
         },
         "Tensor 'encoder.layer.1.attention.self.query.weight' of .* is \\[12, 48\\]; config.json implies \\[24, "
         "24\\]"},
        {"value", [&](auto& all) { tensor_of(all, query).values[5] = std::numeric_limits<float>::quiet_NaN(); },
         "Tensor 'encoder.layer.1.attention.self.query.weight' of .* has the value nan at element 5"},
        {"both names", [&](auto& all) { all.push_back({.name = "bert." + query, .shape = {0}, .values = {}}); },
         "has both '"},
    };
    for (const SpoiltTensors& one : cases) {
        SCOPED_TRACE(one.name);
        const CopiedModel copy;
        copy.change_tensors(one.spoil);
        EXPECT_THAT(refusal_of(copy.folder()), ::testing::ContainsRegex(one.message));
    }
}

TEST(encoder_files, a_tensor_of_integers_is_refused) {
    const CopiedModel copy;
    const auto path = copy.folder() / "model.safetensors";
    ASSERT_OK_AND_ASSIGN(std::string text, read_text(path, 1U << 24U));
    const std::size_t at = text.find("\"dtype\":\"F32\"", text.find("word_embeddings"));
    ASSERT_NE(at, std::string::npos);
    text.replace(at + 9, 3, "I32");
    ASSERT_OK(write_file_atomically(path, text));
    EXPECT_THAT(refusal_of(copy.folder(), ErrorKind::Unsupported),
                ::testing::ContainsRegex("Tensor 'embeddings.word_embeddings.weight' of .* has the dtype I32"));
}

struct SpoiltSetting {
    std::string file, name;
    Json value;
    ErrorKind kind;
    std::string message;
};
TEST(encoder_files, settings_are_checked) {
    const auto bad = ErrorKind::BadInput;
    const auto other = ErrorKind::Unsupported;
    const std::vector<SpoiltSetting> cases{
        {"config.json", "model_type", "llama", other, "config.json' describes a model of type \"llama\""},
        {"config.json", "model_type", nullptr, bad, "no 'model_type'"},
        {"config.json", "num_hidden_layers", 3, bad, "no tensor 'encoder.layer.2.attention.self.query.weight'"},
        {"config.json", "num_hidden_layers", 1, bad, "has the tensor 'encoder.layer.1."},
        {"config.json", "num_attention_heads", 5, bad, "'hidden_size' of 24 and 5 attention heads"},
        {"config.json", "hidden_size", 48, bad, "implies \\[.*, 48\\]"},
        {"config.json", "hidden_size", -1, bad, "'hidden_size' in .* is -1; it must be a whole number from 1"},
        {"config.json", "hidden_size", "wide", bad, "is \"wide\""},
        {"config.json", "intermediate_size", nullptr, bad, "has no 'intermediate_size'"},
        {"config.json", "vocab_size", 40000, bad, "words, but 'vocab_size' in config.json is 40000: .* another model"},
        {"config.json", "vocab_size", 20, bad, "it is the tokenizer of another model"},
        {"config.json", "hidden_act", "swish", other, "'hidden_act' in .* is \"swish\""},
        {"config.json", "position_embedding_type", "relative_key", other, "only \"absolute\""},
        {"config.json", "is_decoder", true, other, "'is_decoder' in .* is true"},
        {"config.json", "layer_norm_eps", 0, bad, "'layer_norm_eps' in .* is 0"},
        {"1_Pooling/config.json", "pooling_mode_cls_token", true, other, "only the mean"},
        {"1_Pooling/config.json", "pooling_mode", "max", other, "only \"mean\""},
        {"sentence_bert_config.json", "max_seq_length", 41, bad, "'max_seq_length' in .* is 41; .* from 1 to 40"},
        {"sentence_bert_config.json", "max_seq_length", 2, bad, "puts 2 tokens around a text of at most 2"},
    };
    for (const SpoiltSetting& one : cases) {
        SCOPED_TRACE(one.file + " " + one.name + " " + one.value.dump());
        const CopiedModel copy;
        copy.change_json(one.file, [&](Json& json) { json[one.name] = one.value; });
        EXPECT_THAT(refusal_of(copy.folder(), one.kind), ::testing::ContainsRegex(one.message));
    }
}

TEST(encoder_files, other_steps_are_refused) {
    const CopiedModel copy;
    copy.change_json("modules.json", [](Json& json) { json[2]["type"] = "sentence_transformers.models.Dense"; });
    EXPECT_THAT(refusal_of(copy.folder(), ErrorKind::Unsupported), ::testing::HasSubstr("models.Dense"));
}

TEST(encoder_files, without_its_files_it_is_no_model) {
    EXPECT_THAT(refusal_of(models_folder() / "words.json"), ::testing::HasSubstr("is no folder"));
    for (const char* const file : {"config.json", "tokenizer.json", "model.safetensors"}) {
        const CopiedModel copy;
        std::filesystem::remove(copy.folder() / file);
        EXPECT_THAT(refusal_of(copy.folder(), ErrorKind::Io), ::testing::HasSubstr(file));
    }
    const CopiedModel copy;
    std::filesystem::remove(copy.folder() / "model.safetensors");
    ASSERT_OK(write_file_atomically(copy.folder() / "model.safetensors.index.json", std::string_view("{}")));
    EXPECT_THAT(refusal_of(copy.folder()), ::testing::ContainsRegex("index.json' has no 'weight_map'"));
}

TEST(encoder_files, damaged_files_are_refused_or_read) {
    for (const char* const file : {"config.json", "tokenizer.json", "model.safetensors"}) {
        const CopiedModel copy;
        ASSERT_OK_AND_ASSIGN(const std::string text, read_text(copy.folder() / file, 1U << 24U));
        for (const std::size_t size : {std::size_t{0}, std::size_t{7}, text.size() / 2, text.size() - 3}) {
            ASSERT_OK(write_file_atomically(copy.folder() / file, std::string_view(text).substr(0, size)));
            EXPECT_THAT(refusal_of(copy.folder()), ::testing::HasSubstr(file)) << size;
        }
    }
}

}  // namespace
}  // namespace yolk::transformer
