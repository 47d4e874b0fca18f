// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "model_weights.hpp"
#include "yolk/encoder.hpp"

namespace yolk::transformer {

/// What an embedding needs, by the names of Hugging Face's BertModel, in the file's usual order.
[[nodiscard]] std::vector<ExpectedTensor> expected_tensors(const EncoderConfig& config);

using EncoderWeights = ModelWeights;
/// model.safetensors. Names may begin with "bert.". Errors: Encoder::open's.
[[nodiscard]] Result<EncoderWeights> read_encoder_weights(const std::filesystem::path& folder,
                                                          const EncoderConfig& config);

}  // namespace yolk::transformer
