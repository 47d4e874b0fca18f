// SPDX-License-Identifier: Apache-2.0
// Files that zlib has packed, whole and in memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "yolk/result.hpp"

namespace yolk::autotune {

enum class Packing {
    Gzip,     ///< a gzip file of one member
    Deflate,  ///< the bare data, as a member of a zip archive has it
};

[[nodiscard]] bool is_gzip(std::span<const std::byte> bytes) noexcept;
/// Error (BadInput): damaged, cut off, something after its end, or more than `limit_bytes` when unpacked, which no
/// memory is taken for; `name` stands for the bytes.
[[nodiscard]] Result<std::string> inflate(std::span<const std::byte> bytes, Packing packing, std::size_t limit_bytes,
                                          std::string_view name);

}  // namespace yolk::autotune
