// SPDX-License-Identifier: Apache-2.0
// The output folder of a run that is not train()'s own: over a data set.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <string_view>

#include "yolk/internal/core/owned.hpp"
#include "yolk/result.hpp"

namespace yolk::train {

[[nodiscard]] std::filesystem::path model_path(const std::filesystem::path& folder);          ///< model.safetensors
[[nodiscard]] std::filesystem::path configuration_path(const std::filesystem::path& folder);  ///< yolk.toml

/// An adapter of a transformer, as PyPI's `peft` names it.
inline constexpr std::array<std::string_view, 2> kAdapterFiles{"adapter_config.json", "adapter_model.safetensors"};

/// Keeps other runs out of the folder while it lives.
class RunFolder {
   public:
    /// Makes the folder if it is missing, and proves that files can be written to it. Errors, Io: it cannot be written,
    /// or another run is writing there.
    [[nodiscard]] static Result<RunFolder> take(const std::filesystem::path& folder);
    /// Moves the files of a run that is there into a folder of their own in it, which the value names; empty where
    /// there are none (docs/adr/0041). Error: Io; they are where they were.
    [[nodiscard]] Result<std::filesystem::path> set_aside();

    [[nodiscard]] std::filesystem::path model() const;
    [[nodiscard]] std::filesystem::path configuration() const;
    [[nodiscard]] std::filesystem::path metrics() const;
    [[nodiscard]] std::filesystem::path checkpoint() const;
    [[nodiscard]] std::filesystem::path log() const;

   private:
    struct State;
    Owned<State> state_;
};

}  // namespace yolk::train
