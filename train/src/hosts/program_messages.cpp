// SPDX-License-Identifier: Apache-2.0
#include "program_messages.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "yolk/internal/core/json_fields.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::train {

struct ProgramHello {
    std::uint32_t protocol = 0;
    std::string name{};
    std::uint32_t observations = 0, actions = 0, max_steps = 0;
    std::vector<double> low{}, high{};
    double solved_return = std::numeric_limits<double>::quiet_NaN();
};

template <class Fields>
void each_field(Fields& fields, ProgramHello& hello) {
    fields("protocol", hello.protocol);
    fields("name", hello.name);
    fields("observations", hello.observations);
    fields.maybe("actions", hello.actions);
    fields.maybe("low", hello.low);
    fields.maybe("high", hello.high);
    fields.maybe("max_steps", hello.max_steps);
    fields.maybe("solved_return", hello.solved_return);
}

namespace {

constexpr std::uint32_t kProtocol = 1;
constexpr std::size_t kProgramHeaderBytes = 8;
constexpr std::size_t kShownBytes = 60;
constexpr std::uint64_t kMostMessageBytes = std::uint64_t{1} << 30U;
static_assert(std::endian::native == std::endian::little, "the protocol is little-endian");

/// A bound that is missing is infinite.
std::vector<float> bounds_of(const std::vector<double>& given, float infinite) {
    std::vector<float> bounds(given.size());
    std::ranges::transform(given, bounds.begin(),
                           [=](double value) { return std::isnan(value) ? infinite : static_cast<float>(value); });
    return bounds;
}

}  // namespace

std::string packed(ProgramMessageKind kind, std::string_view payload) {
    const std::array<std::uint32_t, 2> header{static_cast<std::uint32_t>(kind),
                                              static_cast<std::uint32_t>(payload.size())};
    std::string bytes(kProgramHeaderBytes, '\0');
    std::memcpy(bytes.data(), header.data(), kProgramHeaderBytes);
    return bytes.append(payload);
}

Result<std::optional<ProgramMessage>> take_program_message(std::string& bytes, std::uint64_t most_bytes) {
    if (bytes.size() < kProgramHeaderBytes) return std::optional<ProgramMessage>();
    std::array<std::uint32_t, 2> header{};
    std::memcpy(header.data(), bytes.data(), kProgramHeaderBytes);
    const auto kind = static_cast<ProgramMessageKind>(header[0]);
    using enum ProgramMessageKind;
    if (kind != Lanes && kind != Reset && kind != Step && kind != Error && kind != Hello) {
        return bad_input(
            "it wrote '{}' to its standard output, where a message is expected; print to standard error instead.",
            shown(bytes.substr(0, kShownBytes)));
    }
    if (header[1] > most_bytes)
        return bad_input("it announced a message of {} bytes; at most {} are expected.", header[1], most_bytes);
    if (bytes.size() - kProgramHeaderBytes < header[1]) return std::optional<ProgramMessage>();
    ProgramMessage message{.kind = kind, .payload = bytes.substr(kProgramHeaderBytes, header[1])};
    bytes.erase(0, kProgramHeaderBytes + header[1]);
    return std::optional(std::move(message));
}

Result<HostEnvironmentInfo> read_hello(std::string_view json, std::uint32_t lanes) {
    YOLK_TRY(const Json given, parse_json(json, "the program's hello"));
    ProgramHello hello;
    FieldReader reader(given);
    each_field(reader, hello);
    if (reader.failure())
        return bad_input("Its hello has no '{}', or one of another kind: {}", *reader.failure(), shown(json));
    if (hello.protocol != kProtocol)
        return bad_input("It speaks version {} of the protocol; this is version {}.", hello.protocol, kProtocol);
    constexpr float kInfinite = std::numeric_limits<float>::infinity();
    HostEnvironmentInfo info{
        .name = hello.name,
        .lanes = lanes,
        .observation_count = hello.observations,
        .actions = {.count = hello.actions,
                    .low = bounds_of(hello.low, -kInfinite),
                    .high = bounds_of(hello.high, kInfinite)},
        .max_steps = hello.max_steps,
        .solved_return = std::isnan(hello.solved_return) ? kInfinite : static_cast<float>(hello.solved_return)};
    YOLK_TRY_VOID(check_host_environment(info));
    const std::uint64_t lane_bytes = 4 * (std::uint64_t{info.observation_count} + info.actions.values() + 2);
    if (lane_bytes * lanes > kMostMessageBytes)
        return bad_input("{} lanes of {} bytes do not make a message, which has at most {} bytes. Use fewer lanes.",
                         lanes, lane_bytes, kMostMessageBytes);
    return info;
}

}  // namespace yolk::train
