// SPDX-License-Identifier: Apache-2.0
#include "encoder_weights.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace yolk::transformer {
namespace {

/// Parts of BERT that come behind the encoder, and a list of 0, 1, 2, ... that old versions stored.
bool encoder_needs_no(std::string_view name) {
    return name == "embeddings.position_ids" || name.starts_with("pooler.") || name.starts_with("cls.");
}

}  // namespace

std::vector<ExpectedTensor> expected_tensors(const EncoderConfig& config) {
    const std::uint64_t width = config.width;
    std::vector<ExpectedTensor> all{{"embeddings.word_embeddings.weight", {config.vocabulary, width}},
                                    {"embeddings.position_embeddings.weight", {config.positions, width}},
                                    {"embeddings.token_type_embeddings.weight", {config.token_types, width}}};
    const auto norm = [&](const std::string& at) {
        all.push_back({at + ".weight", {width}});
        all.push_back({at + ".bias", {width}});
    };
    const auto dense = [&](const std::string& at, std::uint64_t out, std::uint64_t in) {
        all.push_back({at + ".weight", {out, in}});
        all.push_back({at + ".bias", {out}});
    };
    norm("embeddings.LayerNorm");
    for (std::uint32_t layer = 0; layer < config.layers; ++layer) {
        const std::string at = fmt::format("encoder.layer.{}.", layer);
        for (const char* const part : {"query", "key", "value"}) dense(at + "attention.self." + part, width, width);
        dense(at + "attention.output.dense", width, width);
        norm(at + "attention.output.LayerNorm");
        dense(at + "intermediate.dense", config.inner, width);
        dense(at + "output.dense", width, config.inner);
        norm(at + "output.LayerNorm");
    }
    return all;
}

Result<EncoderWeights> read_encoder_weights(const std::filesystem::path& folder, const EncoderConfig& config) {
    return read_model_weights(folder, expected_tensors(config), {.prefix = "bert.", .leaves_out = encoder_needs_no});
}

}  // namespace yolk::transformer
