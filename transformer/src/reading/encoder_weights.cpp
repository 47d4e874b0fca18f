// SPDX-License-Identifier: Apache-2.0
#include "encoder_weights.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/safetensors.hpp"

namespace yolk::transformer {
namespace {

constexpr std::size_t kMostWeightBytes = std::size_t{16} << 30U;
constexpr std::string_view kPrefix = "bert.";

/// Parts of BERT that come behind the encoder, and a list of 0, 1, 2, ... that old versions stored.
bool is_known_and_not_needed(std::string_view name) {
    return name == "embeddings.position_ids" || name.starts_with("pooler.") || name.starts_with("cls.");
}

std::string_view plain_name(std::string_view name) {
    return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

Result<hyper::Tensor> take_tensor(StoredTensor& stored, const ExpectedTensor& expected, const std::string& what) {
    const std::string label = fmt::format("Tensor '{}' of {}", shown(stored.name), what);
    if (stored.shape != expected.shape) {
        return bad_input("{} is [{}]; config.json implies [{}]. Weights and configuration are of two models.", label,
                         fmt::join(stored.shape, ", "), fmt::join(expected.shape, ", "));
    }
    if (stored.values.empty())
        return unsupported("{} has the dtype {}; F32, F16 and BF16 are supported.", label, stored.dtype);
    const auto bad = std::ranges::find_if(stored.values, [](float value) { return !std::isfinite(value); });
    if (bad != stored.values.end())
        return bad_input("{} has the value {} at element {}; weights must be finite.", label, *bad,
                         bad - stored.values.begin());
    return hyper::Tensor::create(Shape(expected.shape), std::move(stored.values));
}

Result<TensorFile> read_tensor_file(const std::filesystem::path& folder, const std::string& what) {
    const std::filesystem::path path = folder / "model.safetensors";
    if (!std::filesystem::exists(path) && std::filesystem::exists(folder / "model.safetensors.index.json"))
        return unsupported("The weights in '{}' are in several files; save them as one model.safetensors.",
                           shown(folder));
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(path, kMostWeightBytes));
    return decode_foreign_safetensors(bytes, what);
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
    const std::string what = fmt::format("'{}'", shown(folder / "model.safetensors"));
    YOLK_TRY(TensorFile file, read_tensor_file(folder, what));
    std::map<std::string, StoredTensor*, std::less<>> stored;
    for (StoredTensor& tensor : file.tensors) {
        const auto [known, is_new] = stored.emplace(plain_name(tensor.name), &tensor);
        if (!is_new)
            return bad_input("{} has both '{}' and '{}'.", what, shown(known->second->name), shown(tensor.name));
    }
    EncoderWeights weights;
    for (const ExpectedTensor& expected : expected_tensors(config)) {
        const auto found = stored.find(expected.name);
        if (found == stored.end()) {
            return bad_input("{} has no tensor '{}' of the shape [{}], which config.json implies.", what, expected.name,
                             fmt::join(expected.shape, ", "));
        }
        YOLK_TRY(hyper::Tensor tensor, take_tensor(*found->second, expected, what));
        weights.tensors.emplace(expected.name, std::move(tensor));
        stored.erase(found);
    }
    for (const auto& [name, tensor] : stored) {
        if (!is_known_and_not_needed(name)) {
            return bad_input("{} has the tensor '{}', for which a model as config.json describes it has no place.",
                             what, shown(tensor->name));
        }
        weights.left_out.push_back(tensor->name);
    }
    return weights;
}

}  // namespace yolk::transformer
