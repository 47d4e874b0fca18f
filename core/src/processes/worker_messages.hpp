// SPDX-License-Identifier: Apache-2.0
// Messages between a process and its worker: the number of bytes that follow, then each field's length and bytes.
// Lengths are 64 bits, little-endian.
#pragma once

#include <optional>

#include "yolk/internal/core/worker.hpp"

namespace yolk {

[[nodiscard]] std::string pack_message(const WorkerMessage& message);

/// The first message of `bytes`, which it is taken from; nothing where it is not whole yet. Error (BadInput): more than
/// `most_bytes`, lengths that do not fit.
[[nodiscard]] Result<std::optional<WorkerMessage>> take_message(std::string& bytes, std::uint64_t most_bytes);

/// An error as fields, and back.
[[nodiscard]] WorkerMessage message_of(const Error& error);
[[nodiscard]] Error error_of(const WorkerMessage& message);

// The first field of a worker's messages.
inline constexpr std::string_view kAsks = "ask", kAnswers = "answer", kFails = "error";
/// A worker's exit status where it could have no more memory.
inline constexpr int kOutOfMemoryStatus = 97;

}  // namespace yolk
