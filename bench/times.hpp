// SPDX-License-Identifier: Apache-2.0
// What benches make of times, and the numbers that their programs are given.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace yolk::bench {

[[nodiscard]] inline double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The upper of the two in the middle, where their number is even. There is at least one.
template <class T>
[[nodiscard]] double median_of(std::vector<T> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

/// 0 where the argument is no number.
[[nodiscard]] inline std::uint32_t number_argument(int argc, char** argv, int at, std::uint32_t otherwise) {
    return argc > at ? static_cast<std::uint32_t>(std::strtoul(argv[at], nullptr, 10)) : otherwise;
}

}  // namespace yolk::bench
