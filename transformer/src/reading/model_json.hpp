// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "yolk/json.hpp"
#include "yolk/result.hpp"

namespace yolk::transformer {

/// A model is at most so long a file of JSON.
inline constexpr std::size_t kMostJsonBytes = std::size_t{64} << 20U;
/// Above them a table or a layer would not fit the device's bindings, or the file is not what it says.
inline constexpr std::uint32_t kWidest = 16384;
inline constexpr std::uint32_t kMostRows = 1U << 20U;
inline constexpr std::uint32_t kMostLayers = 256;

/// One file of JSON, an object.
struct ModelJson {
    Json json;
    std::string what;  ///< "'folder/config.json'"

    /// nullptr for none, and for null.
    [[nodiscard]] const Json* find(const char* name) const;
    /// From 1 to `most`.
    [[nodiscard]] Result<std::uint32_t> whole(const char* name, std::uint32_t most) const;
    /// `otherwise` where it is missing.
    [[nodiscard]] Result<std::uint32_t> whole_or(const char* name, std::uint32_t most, std::uint32_t otherwise) const;
    /// Likewise. Errors: no number, outside the bounds.
    [[nodiscard]] Result<double> real(const char* name, double least, double most, double otherwise) const;
    [[nodiscard]] Result<bool> flag(const char* name, bool otherwise) const;
    /// Error: it is there, and something else.
    [[nodiscard]] Result<void> only(const char* name, const Json& allowed) const;
};
[[nodiscard]] Result<ModelJson> read_model_json(const std::filesystem::path& path, bool is_list = false);

}  // namespace yolk::transformer
