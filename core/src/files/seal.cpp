// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/seal.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "yolk/internal/core/hash.hpp"

namespace yolk {
namespace {

/// Where the digits begin. A text in JSON cannot have this in it, since its quotation marks are escaped.
std::optional<std::size_t> place_of(std::span<const std::byte> file, std::size_t within) {
    const std::string key = '"' + std::string(kSealKey) + "\":\"";
    const std::string_view text(reinterpret_cast<const char*>(file.data()), std::min(file.size(), within));
    const std::size_t at = text.find(key);
    if (at == std::string_view::npos || text.size() - at - key.size() < kNoSeal.size()) return std::nullopt;
    return at + key.size();
}

std::string hash_without(std::span<const std::byte> file, std::size_t place) {
    return Hasher()
        .add(file.first(place))
        .add(std::as_bytes(std::span(kNoSeal)))
        .add(file.subspan(place + kNoSeal.size()))
        .hex();
}

}  // namespace

bool seal(std::span<std::byte> file, std::size_t within) {
    const std::optional<std::size_t> place = place_of(file, within);
    if (!place) return false;
    const std::string hash = hash_without(file, *place);
    std::memcpy(file.data() + *place, hash.data(), hash.size());
    return true;
}

Seal seal_of(std::span<const std::byte> file, std::size_t within) {
    const std::optional<std::size_t> place = place_of(file, within);
    if (!place) return Seal::Missing;
    const std::string hash = hash_without(file, *place);
    return std::memcmp(file.data() + *place, hash.data(), hash.size()) == 0 ? Seal::Fits : Seal::Broken;
}

}  // namespace yolk
