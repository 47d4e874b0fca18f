// SPDX-License-Identifier: Apache-2.0
// Low-rank adapters in the layout of PyPI's `peft`: adapter_model.safetensors and adapter_config.json in a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "encoder_weights.hpp"

namespace yolk::transformer {

/// What is added to a matrix [out, in]: scale * B A.
struct AdapterFactors {
    std::uint64_t out = 0, in = 0, rank = 0;
    std::vector<float> a;  ///< [rank, in]
    std::vector<float> b;  ///< [out, rank]
    double scale = 1.0;

    /// The sum, [out, in], in fp32.
    [[nodiscard]] std::vector<float> added_to(std::span<const float> weight) const;
};
/// By the name of the matrix, such as "encoder.layer.0.attention.self.query.weight".
using Adapter = std::map<std::string, AdapterFactors>;

struct AdapterInfo {
    std::string model;  ///< the folder of the model, as it was given
    std::uint32_t rank = 0;
    std::vector<std::string> modules;  ///< last parts of the names of what is adapted: "query", "value"
};

using Matrices = std::map<std::string, hyper::Tensor>;
/// Of the matrices that an adapter changes, so that it is not taken for one of another model. `weights` has them.
[[nodiscard]] std::string hash_of_adapted(const Matrices& weights, const Adapter& adapter);

/// adapter_config.json, which says what model it is for.
[[nodiscard]] Result<void> write_adapter_config(const std::filesystem::path& folder, const AdapterInfo& info);
/// adapter_model.safetensors. Each file is the old one or the new one. Errors: values that are not finite; Io.
[[nodiscard]] Result<void> write_adapter(const std::filesystem::path& folder, const Adapter& adapter,
                                         const std::string& hash);
/// Only what `info` says; no weights.
[[nodiscard]] Result<AdapterInfo> read_adapter_config(const std::filesystem::path& folder);
/// Adds an adapter to weights. Errors, which name file and tensor: no adapter of this kind; matrices that the model has
/// not, or of other shapes; one factor without the other; values that are not finite; an adapter that was made for
/// other weights (where it says for which).
[[nodiscard]] Result<void> add_adapter(const std::filesystem::path& folder, EncoderWeights& weights);

}  // namespace yolk::transformer
