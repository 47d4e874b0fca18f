// SPDX-License-Identifier: Apache-2.0
// Tokenizers and settings of models, damaged at random: what is read is sound, and the rest is refused in words.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>

#include "adapter_file.hpp"
#include "byte_pair.hpp"
#include "decoder_config.hpp"
#include "encoder_config.hpp"
#include "models.hpp"
#include "word_piece.hpp"
#include "yolk/internal/testing/mutation.hpp"

namespace yolk::transformer {
namespace {

using Folder = std::filesystem::path;
constexpr std::string_view kText = "The r\xC3\xA9sum\xC3\xA9's 12 <|end|> words";

Result<void> read_words(const Folder& folder) {
    YOLK_TRY(const WordPiece tokenizer, WordPiece::read(folder / "tokenizer.json"));
    const Result<std::vector<std::uint32_t>> ids = tokenizer.ids(kText, 16);
    EXPECT_OK(ids);
    EXPECT_LE(ids->size(), std::max<std::size_t>(16, tokenizer.around()));
    EXPECT_TRUE(std::ranges::all_of(*ids, [&](std::uint32_t id) { return id < tokenizer.size(); }));
    return {};
}
Result<void> read_pairs_of_bytes(const Folder& folder) {
    YOLK_TRY(const BytePair tokenizer, BytePair::read(folder / "tokenizer.json"));
    const Result<std::vector<std::uint32_t>> ids = tokenizer.ids(kText);
    EXPECT_OK(ids);
    EXPECT_TRUE(std::ranges::all_of(*ids, [&](std::uint32_t id) { return id < tokenizer.size(); }));
    (void)tokenizer.text(*ids);
    return {};
}
Result<void> read_encoder(const Folder& folder) {
    YOLK_TRY(const EncoderConfig config, read_encoder_config(folder));
    EXPECT_GT(config.heads, 0U);
    EXPECT_EQ(config.width % config.heads, 0U);
    return {};
}
Result<void> read_decoder(const Folder& folder) {
    YOLK_TRY(const DecoderConfig config, read_decoder_config(folder));
    EXPECT_GT(config.key_heads, 0U);
    EXPECT_EQ(config.heads % config.key_heads, 0U);
    return {};
}
Result<void> read_adapter(const Folder& folder) {
    YOLK_TRY(const AdapterInfo info, read_adapter_config(folder));
    EXPECT_GT(info.rank, 0U);
    return {};
}

struct ModelFile {
    std::string name, model, file;
    Result<void> (*read)(const Folder&);
};
void PrintTo(const ModelFile& file, std::ostream* out) { *out << file.name; }
const std::vector<ModelFile> kFiles{{"word_piece", "bert", "tokenizer.json", read_words},
                                    {"byte_pair", "llama", "tokenizer.json", read_pairs_of_bytes},
                                    {"encoder", "bert", "config.json", read_encoder},
                                    {"decoder", "llama", "config.json", read_decoder},
                                    {"adapter", "bert", "adapter_config.json", read_adapter}};

class mutated_models : public ::testing::TestWithParam<ModelFile> {};

TEST_P(mutated_models, are_read_soundly_or_refused) {
    const ModelFile& file = GetParam();
    const CopiedModel copy(file.model);
    ASSERT_OK(write_adapter_config(copy.folder(), {.model = "bert", .rank = 4, .modules = {"query", "value"}}));
    ASSERT_OK(file.read(copy.folder()));
    ASSERT_OK_AND_ASSIGN(const std::vector<std::byte> whole, read_file(copy.folder() / file.file, 1U << 24U));
    ::yolk::testing::Mutator mutate(20261128);
    const int files = ::yolk::testing::mutation_count(500);
    int refused = 0;
    for (int i = 0; i < files && !HasFailure(); ++i) {
        const std::vector<std::byte> bytes = mutate(whole);
        std::filesystem::remove(copy.folder() / file.file);  // truncating it would make the file system wait
        std::ofstream(copy.folder() / file.file, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        const Result<void> read = file.read(copy.folder());
        if (HasFailure()) std::filesystem::copy(copy.folder() / file.file, "mutated-" + file.name);
        if (read) continue;
        ++refused;
        EXPECT_THAT(read.error().kind, ::testing::AnyOf(ErrorKind::BadInput, ErrorKind::Unsupported));
        EXPECT_FALSE(read.error().message.empty());
    }
    EXPECT_GT(refused, files / 10);
    EXPECT_LT(refused, files);
}

INSTANTIATE_TEST_SUITE_P(, mutated_models, ::testing::ValuesIn(kFiles),
                         [](const auto& file) { return file.param.name; });

}  // namespace
}  // namespace yolk::transformer
