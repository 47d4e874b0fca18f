// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "yolk/encoder.hpp"
#include "yolk/tensor.hpp"

namespace yolk::transformer {

struct ExpectedTensor {
    std::string name;
    std::vector<std::uint64_t> shape;
};
/// What an embedding needs, by the names of Hugging Face's BertModel, in the file's usual order.
[[nodiscard]] std::vector<ExpectedTensor> expected_tensors(const EncoderConfig& config);

struct EncoderWeights {
    std::map<std::string, hyper::Tensor> tensors;  ///< those of expected_tensors()
    std::vector<std::string> left_out;             ///< others of the file, which are known and not needed
};
/// model.safetensors. Names may begin with "bert.". Errors: Encoder::open's.
[[nodiscard]] Result<EncoderWeights> read_encoder_weights(const std::filesystem::path& folder,
                                                          const EncoderConfig& config);

}  // namespace yolk::transformer
