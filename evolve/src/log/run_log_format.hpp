// SPDX-License-Identifier: Apache-2.0
// Bytes of a run's log (run_log.hpp has the layout); shared by its reader and its writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "yolk/result.hpp"
#include "yolk/run_log.hpp"

namespace yolk::evolve {

inline constexpr std::string_view kRunLogMagic = "YOLKLOG\n";
/// Magic, version, bytes of the text.
inline constexpr std::size_t kRunLogFixedBytes = kRunLogMagic.size() + 8;
/// Settings are a few hundred bytes; the names of frozen parameters may be many.
inline constexpr std::uint32_t kMaxRunLogText = 1U << 20U;
inline constexpr std::size_t kRunLogHashBytes = 8;

[[nodiscard]] std::uint64_t record_bytes(const RunLogHeader& header) noexcept;
/// The whole header, checksum included. Error, BadInput: more text than a reader takes.
[[nodiscard]] Result<std::vector<std::byte>> encode_header(const RunLogHeader& header);
[[nodiscard]] std::uint64_t last_hash(std::span<const std::byte> bytes) noexcept;
/// Of the text alone; `has_tail`: of a log of version 2. `what` names the file in errors. Errors, BadInput: text that
/// is not of this form.
[[nodiscard]] Result<RunLogHeader> decode_header(std::string_view text, std::string_view what, bool has_tail);

/// Errors: weights of another kind or count than the header's, a digest that is not 32 hexadecimal digits.
[[nodiscard]] Result<std::vector<std::byte>> encode_record(const RunLogHeader& header, std::uint64_t header_hash,
                                                           const LoggedGeneration& generation);
[[nodiscard]] std::uint64_t record_hash(std::uint64_t header_hash, std::span<const std::byte> record);
/// Of a record whose checksum is right. Nothing: flags that this version does not know.
[[nodiscard]] std::optional<LoggedGeneration> decode_record(const RunLogHeader& header,
                                                            std::span<const std::byte> record);

}  // namespace yolk::evolve
