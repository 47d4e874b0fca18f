// SPDX-License-Identifier: Apache-2.0
// The file of a byte model, which is also the checkpoint of its run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "byte_setup.hpp"
#include "yolk/internal/core/state_file.hpp"

namespace yolk::train {

// Of training, as the kinds of core are; here, since no other module reads it.
inline constexpr StateKind kByteModelKind{"byte-model",
                                          1,
                                          0,
                                          std::size_t{256} << 20U,
                                          "a byte model",
                                          "give the model.safetensors in the output folder of `yolk train bytes`",
                                          "train again"};

struct ByteModelState {
    evolve::NamedValues settings{};  ///< byte_settings()
    std::uint32_t generation = 0;
    std::string state_hash{};
    std::vector<float> weights{}, residual{};  ///< the residual is empty without feedback
};

[[nodiscard]] std::filesystem::path byte_model_path(const std::filesystem::path& folder);
/// Atomically. Errors: Io.
[[nodiscard]] Result<void> save_byte_model(const std::filesystem::path& file, const ByteModelState& state,
                                           const ByteSetup& setup);
/// With the setup that its settings make. Errors: a file that is missing, damaged, of another kind, or whose tensors do
/// not fit its settings or are no whole numbers from -127 to 127.
struct LoadedByteModel {
    ByteModelState state{};
    ByteSetup setup{};
};
[[nodiscard]] Result<LoadedByteModel> load_byte_model(const std::filesystem::path& file);

}  // namespace yolk::train
