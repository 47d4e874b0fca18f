// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "model_weights.hpp"
#include "yolk/decoder.hpp"

namespace yolk::transformer {

/// By the names of Hugging Face's LlamaForCausalLM, in the files' usual order.
[[nodiscard]] std::vector<ExpectedTensor> expected_tensors(const DecoderConfig& config);
/// Errors: Decoder::open's.
[[nodiscard]] Result<ModelWeights> read_decoder_weights(const std::filesystem::path& folder,
                                                        const DecoderConfig& config);

}  // namespace yolk::transformer
