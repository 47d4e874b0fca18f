// SPDX-License-Identifier: Apache-2.0
// How much memory a device keeps near: data that are used again and again are read from there, and times flatter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "yolk/runtime/device_info.hpp"

namespace yolk::autotune {

/// For devices that are no processors: Vulkan does not tell. Above the caches of current GPUs (H200 50 MiB, RTX 4090
/// 72 MiB, RX 6900 XT 128 MiB).
inline constexpr std::uint64_t kAssumedCacheBytes = std::uint64_t{128} << 20U;

/// The caches of the highest level that this machine's processors have, all of them together; nothing where the folder
/// (Linux: sysfs) does not say.
[[nodiscard]] std::optional<std::uint64_t> processor_cache_bytes(
    const std::filesystem::path& processors = "/sys/devices/system/cpu");

/// CPU drivers: the processor's, where it is known; else kAssumedCacheBytes.
[[nodiscard]] std::uint64_t last_level_cache_bytes(const DeviceInfo& info);

/// How many sets of buffers, `set_bytes` each, are taken in turn so that a set is out of the cache when its turn comes
/// again: they pass `cache_bytes` together, but take no more than an eighth of the largest heap, and no more than 64.
[[nodiscard]] std::size_t buffer_sets(std::uint64_t set_bytes, std::uint64_t cache_bytes, const DeviceInfo& info);

}  // namespace yolk::autotune
