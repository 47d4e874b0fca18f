// SPDX-License-Identifier: Apache-2.0
// A checksum of a file within its own JSON, where other readers see a text: "yolk_checksum":"<32 digits>". It is
// XXH3-128 over all bytes of the file with the digits as zeros, so that no byte is left out. It finds damage, not
// forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace yolk {

inline constexpr std::string_view kSealKey = "yolk_checksum";
/// What stands in the JSON until seal() is called.
inline constexpr std::string_view kNoSeal = "00000000000000000000000000000000";

/// Puts the checksum into its place, which is the first, and lies within the first `within` bytes. Whether it is there.
bool seal(std::span<std::byte> file, std::size_t within = SIZE_MAX);

enum class Seal {
    Missing,  ///< an older file, or another program's
    Fits,
    Broken,  ///< the file was damaged, or was changed by a program that does not know of it
};
[[nodiscard]] Seal seal_of(std::span<const std::byte> file, std::size_t within = SIZE_MAX);

/// For a message about a file whose seal is broken: "its checksum does not fit its bytes: ...".
inline constexpr std::string_view kBrokenSeal =
    "its checksum does not fit its bytes: it was damaged, or changed by another program";

}  // namespace yolk
