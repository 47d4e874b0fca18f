// SPDX-License-Identifier: Apache-2.0
#include "worker_messages.hpp"

#include <algorithm>
#include <charconv>

namespace yolk {
namespace {

constexpr std::size_t kSizeBytes = 8;

void append_length(std::string& to, std::uint64_t length) {
    for (std::size_t i = 0; i < kSizeBytes; ++i) to += static_cast<char>(length >> (8 * i) & 0xFFU);
}

std::uint64_t length_at(std::string_view bytes) {
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < kSizeBytes; ++i)
        length |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return length;
}

}  // namespace

std::string pack_message(const WorkerMessage& message) {
    std::uint64_t size = 0;
    for (const std::string& field : message) size += kSizeBytes + field.size();
    std::string packed;
    packed.reserve(kSizeBytes + size);
    append_length(packed, size);
    for (const std::string& field : message) {
        append_length(packed, field.size());
        packed += field;
    }
    return packed;
}

Result<std::optional<WorkerMessage>> take_message(std::string& bytes, std::uint64_t most_bytes) {
    if (bytes.size() < kSizeBytes) return std::optional<WorkerMessage>();
    const std::uint64_t size = length_at(bytes);
    if (size > most_bytes) return bad_input("A message of {} bytes came; at most {} are taken.", size, most_bytes);
    if (bytes.size() - kSizeBytes < size) return std::optional<WorkerMessage>();
    WorkerMessage message;
    for (std::string_view rest = std::string_view(bytes).substr(kSizeBytes, size); !rest.empty();) {
        const std::uint64_t length = rest.size() < kSizeBytes ? rest.size() : length_at(rest);
        if (rest.size() < kSizeBytes || length > rest.size() - kSizeBytes)
            return bad_input("A message came whose fields do not fit it.");
        message.emplace_back(rest.substr(kSizeBytes, length));
        rest.remove_prefix(kSizeBytes + length);
    }
    bytes.erase(0, kSizeBytes + size);
    return std::optional(std::move(message));
}

WorkerMessage message_of(const Error& error) {
    return {std::string(kFails), std::to_string(static_cast<int>(error.kind)), std::to_string(error.native),
            error.message};
}

Error error_of(const WorkerMessage& message) {
    const auto number = [](const std::string& text) {
        int value = 0;
        std::from_chars(text.data(), text.data() + text.size(), value);
        return value;
    };
    if (message.size() != 4) return io_error("The worker's answer is not one.", 0);
    const int kind = std::clamp(number(message[1]), 0, static_cast<int>(ErrorKind::Cancelled));
    return {static_cast<ErrorKind>(kind), message[3], number(message[2])};
}

}  // namespace yolk
