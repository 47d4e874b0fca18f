// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "yolk/encoder.hpp"

namespace yolk::transformer {

/// config.json and, where they are, modules.json and sentence_bert_config.json. Errors: no encoder that is known here,
/// values that contradict one another.
[[nodiscard]] Result<EncoderConfig> read_encoder_config(const std::filesystem::path& folder);

}  // namespace yolk::transformer
