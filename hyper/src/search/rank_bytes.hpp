// SPDX-License-Identifier: Apache-2.0
// What the ranks of a search send each other. They run one binary, so numbers are as they lie in memory.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace yolk::hyper {

using RankBytes = std::vector<std::byte>;

template <class T>
RankBytes bytes_of_values(std::span<const T> values) {
    const auto bytes = std::as_bytes(values);
    return {bytes.begin(), bytes.end()};
}
/// Whole values only.
template <class T>
std::vector<T> values_in(std::span<const std::byte> bytes) {
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
}

}  // namespace yolk::hyper
