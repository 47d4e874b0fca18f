// SPDX-License-Identifier: Apache-2.0
// Strict numbers from the command line: the whole text, no sign for unsigned ones, no overflow, nothing that is not
// finite.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "yolk/result.hpp"

namespace yolk::cli {

/// T: std::uint32_t, std::uint64_t or float. Floats are rounded once, to nearest.
template <class T>
[[nodiscard]] Result<T> parse_number(std::string_view text);
template <>
[[nodiscard]] Result<std::uint32_t> parse_number(std::string_view text);
template <>
[[nodiscard]] Result<std::uint64_t> parse_number(std::string_view text);
template <>
[[nodiscard]] Result<float> parse_number(std::string_view text);
template <>
[[nodiscard]] Result<double> parse_number(std::string_view text);

/// "64,32": at least one number, none empty.
[[nodiscard]] Result<std::vector<std::uint32_t>> parse_numbers(std::string_view text);

/// The parts between commas, empty ones included.
[[nodiscard]] std::vector<std::string_view> split_commas(std::string_view text);

}  // namespace yolk::cli
