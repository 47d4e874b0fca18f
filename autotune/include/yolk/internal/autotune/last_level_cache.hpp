// SPDX-License-Identifier: Apache-2.0
// How much memory a device keeps near: data that are used again and again are read from there, and times flatter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "yolk/internal/runtime/device_info.hpp"

namespace yolk::autotune {

/// The largest cache of any GPU that is known (Ponte Vecchio), for one of which nothing is.
inline constexpr std::uint64_t kLargestCacheBytes = std::uint64_t{408} << 20U;

/// The caches of the highest level that this machine's processors have, all of them together; nothing where the folder
/// (Linux: sysfs) does not say.
[[nodiscard]] std::optional<std::uint64_t> processor_cache_bytes(
    const std::filesystem::path& processors = "/sys/devices/system/cpu");

/// Of a GPU by its ids, since Vulkan does not tell: the largest of the chips that share a block of device ids; of a
/// chip that is not listed the largest of its vendor's, of an unknown vendor's the largest of all. Too much costs
/// memory and the time to fill it, too little flatters times. A pure function.
[[nodiscard]] std::uint64_t gpu_cache_bytes(const DeviceInfo& info);

/// CPU drivers: the processor's, where it is known. GPUs: gpu_cache_bytes, and where one shares the processor's memory
/// no less than the processor's, which may serve both.
[[nodiscard]] std::uint64_t last_level_cache_bytes(const DeviceInfo& info);

/// How many sets of buffers, `set_bytes` each, are taken in turn so that a set is out of the cache when its turn comes
/// again: they pass `cache_bytes` together, but take no more than an eighth of the largest heap, and no more than 64.
[[nodiscard]] std::size_t buffer_sets(std::uint64_t set_bytes, std::uint64_t cache_bytes, const DeviceInfo& info);

}  // namespace yolk::autotune
