// SPDX-License-Identifier: Apache-2.0
// The pipeline cache file: what a driver gave, in an envelope that tells a torn or foreign file. Pure, but for the
// folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/result.hpp"

namespace yolk {

inline constexpr std::size_t kPipelineFileHeaderBytes = 64;

/// "pipelines-<vendor>-<device>-<driver version>-<uuid>.bin", numbers in hexadecimal. An update of the driver starts a
/// new file.
[[nodiscard]] std::string pipeline_file_name(const DeviceInfo& device);

/// Header (magic, version, driver version, device UUID, length and XXH3 of the payload; little-endian), then the
/// payload.
[[nodiscard]] std::vector<std::byte> encode_pipeline_file(const DeviceInfo& device, std::span<const std::byte> payload);

/// The payload. Errors (bad input, a reason for people): not such a file, another version, torn, of another device or
/// driver.
[[nodiscard]] Result<std::vector<std::byte>> decode_pipeline_file(const DeviceInfo& device,
                                                                  std::span<const std::byte> file);

}  // namespace yolk
