// SPDX-License-Identifier: Apache-2.0
// Messages between Yolk and a program that steps environments: a kind and a length in bytes, both 32 bits, and that
// many bytes. Little-endian (docs/host_environments.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "yolk/host_environment.hpp"

namespace yolk::train {

enum class ProgramMessageKind : std::uint32_t {
    End = 0,
    Lanes = 1,
    Reset = 2,
    Step = 3,
    Error = 4,
    Hello = 0x564E4559,  ///< "YENV"
};

struct ProgramMessage {
    ProgramMessageKind kind = ProgramMessageKind::End;
    std::string payload{};
};

[[nodiscard]] std::string packed(ProgramMessageKind kind, std::string_view payload);
/// The first message of `bytes`, which it is taken from; nothing where it is not whole yet. Errors: no kind of a
/// program's messages, a length above `most_bytes`; they show what came.
[[nodiscard]] Result<std::optional<ProgramMessage>> take_program_message(std::string& bytes, std::uint64_t most_bytes);

/// What a program says of its environment; the lanes are Yolk's.
[[nodiscard]] Result<HostEnvironmentInfo> read_hello(std::string_view json, std::uint32_t lanes);

}  // namespace yolk::train
