// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other, as bytes. Ranks run one binary, so numbers are as they lie in memory.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/core/bytes.hpp"
#include "yolk/internal/evolve/exchange.hpp"
#include "yolk/internal/evolve/ranks.hpp"
#include "yolk/result.hpp"

namespace yolk::evolve {

/// The kind of an error above its text, or 0 above the value.
inline std::vector<std::byte> packed_result(const Result<std::vector<std::byte>>& result) {
    if (result) {
        std::vector<std::byte> bytes{std::byte{0}};
        bytes.insert(bytes.end(), result->begin(), result->end());
        return bytes;
    }
    const Error& error = result.error();
    std::vector<std::byte> bytes{static_cast<std::byte>(1 + static_cast<int>(error.kind))};
    const auto text = std::as_bytes(std::span(error.message));
    bytes.insert(bytes.end(), text.begin(), text.end());
    return bytes;
}
inline Result<std::vector<std::byte>> unpacked_result(std::span<const std::byte> bytes) {
    if (bytes.empty()) return failed_work("A rank sent nothing: the ranks are not in step.");
    const std::span<const std::byte> rest = bytes.subspan(1);
    if (bytes.front() == std::byte{0}) return std::vector<std::byte>(rest.begin(), rest.end());
    std::string text(rest.size(), '\0');
    std::memcpy(text.data(), rest.data(), rest.size());
    return Error{.kind = static_cast<ErrorKind>(static_cast<int>(bytes.front()) - 1), .message = std::move(text)};
}

/// Names and values, each ended by a zero.
inline std::vector<std::byte> packed_values(const NamedValues& values) {
    std::string text;
    for (const auto& [name, value] : values) text.append(name).append(1, '\0').append(value).append(1, '\0');
    return bytes_of_values(text);
}
inline NamedValues unpacked_values(std::span<const std::byte> bytes) {
    std::vector<std::string> texts(1);
    for (const std::byte byte : bytes) {
        if (byte == std::byte{0})
            texts.emplace_back();
        else
            texts.back().push_back(static_cast<char>(byte));
    }
    NamedValues values;
    for (std::size_t i = 0; i + 1 < texts.size(); i += 2) values.emplace_back(texts[i], texts[i + 1]);
    return values;
}

}  // namespace yolk::evolve
