// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "yolk/decoder.hpp"

namespace yolk::transformer {

/// config.json and, where it is there, generation_config.json. Errors: no decoder that is known here, a part of the
/// network that is not, values that contradict one another.
[[nodiscard]] Result<DecoderConfig> read_decoder_config(const std::filesystem::path& folder);

}  // namespace yolk::transformer
