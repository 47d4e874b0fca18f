// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "yolk/result.hpp"

namespace yolk::autotune {

[[nodiscard]] bool is_gzip(std::span<const std::byte> bytes) noexcept;
/// What a gzip file of one member has. Error (BadInput): damaged, cut off, something after its end, or more than
/// `limit_bytes` when unpacked; `name` stands for the file.
[[nodiscard]] Result<std::string> gunzip(std::span<const std::byte> bytes, std::size_t limit_bytes,
                                         std::string_view name);

}  // namespace yolk::autotune
