// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/result.hpp"
#include "yolk/tensor.hpp"

namespace yolk::transformer {

struct ExpectedTensor {
    std::string name;
    std::vector<std::uint64_t> shape;
};

struct ModelWeights {
    std::map<std::string, hyper::Tensor> tensors;  ///< those that were expected
    std::vector<std::string> left_out;             ///< others of the file, which are known and not needed
};

struct WeightRules {
    std::string_view prefix{};                            ///< names may begin with it
    bool (*leaves_out)(std::string_view name) = nullptr;  ///< known, and not needed
};
/// model.safetensors, or the files that model.safetensors.index.json names. Errors, with file and tensor: one that is
/// missing, unknown, of another shape or dtype, or not finite.
[[nodiscard]] Result<ModelWeights> read_model_weights(const std::filesystem::path& folder,
                                                      std::span<const ExpectedTensor> expected,
                                                      const WeightRules& rules);

}  // namespace yolk::transformer
