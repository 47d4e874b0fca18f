// SPDX-License-Identifier: Apache-2.0
// What a run of the byte model starts from: its text, its parameters, and how evolve sees it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/byte_model.hpp"
#include "yolk/bytes.hpp"
#include "yolk/internal/evolve/options.hpp"
#include "yolk/internal/evolve/ranks.hpp"
#include "yolk/internal/evolve/setting_reader.hpp"

namespace yolk::train {

using SharedBytes = std::shared_ptr<const std::vector<std::uint8_t>>;

struct ByteSetup {
    ByteSettings settings{};
    ParameterTable table{};
    std::vector<float> initial{};  ///< whole numbers from -127 to 127
    evolve::EvolutionOptions evolution{};
};

/// Names and values of everything that the weights depend on; `text_hash` is the whole file's.
[[nodiscard]] evolve::NamedValues byte_settings(const ByteSettings& settings, const std::string& text_hash);
/// Error: a setting that is missing or no number.
[[nodiscard]] Result<ByteSettings> byte_settings_of(const evolve::SettingReader& reader);

/// Error: a setting outside its limits.
[[nodiscard]] Result<ByteSetup> set_up_bytes(const ByteSettings& settings);

struct ByteText {
    SharedBytes training{}, held_out{};
    std::string hash{};
};
/// Errors: a file that is missing or empty, a part that is shorter than a stretch.
[[nodiscard]] Result<ByteText> read_byte_text(const std::filesystem::path& file, const ByteSettings& settings);

/// Members reading `bytes` of text, and the unperturbed model over all of it.
[[nodiscard]] ByteModelDesc byte_members_desc(const ByteSettings& settings, std::size_t bytes);
[[nodiscard]] ByteModelDesc byte_mean_desc(const ByteSettings& settings, std::size_t bytes);

}  // namespace yolk::train
