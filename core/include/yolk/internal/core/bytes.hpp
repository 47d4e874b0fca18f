// SPDX-License-Identifier: Apache-2.0
// Values as the bytes that they are in memory, for programs of one build: ranks, workers, buffers of kernels.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace yolk {

using ByteVector = std::vector<std::byte>;

/// Of a vector, a span, or a text.
template <class Values>
[[nodiscard]] ByteVector bytes_of_values(const Values& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}
/// Whole values only: bytes behind the last are left out.
template <class T>
[[nodiscard]] std::vector<T> values_in(std::span<const std::byte> bytes) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
}

}  // namespace yolk
