// SPDX-License-Identifier: Apache-2.0
// A line of a user's program, which messages and graphs name.
#pragma once

#include <cstdint>

namespace yolk::hyper {

/// Not Line, which nothing but the compiler can make: programs in Python have lines, too. The file's name
/// is not owned; it is a literal, or kept by whoever makes the line.
class Line {
   public:
    constexpr Line() noexcept = default;
    constexpr Line(const char* file, std::uint32_t line) noexcept : file_(file), line_(line) {}
    /// The line of the call, also as a default argument.
    [[nodiscard]] static constexpr Line current(const char* file = __builtin_FILE(),
                                                std::uint32_t line = __builtin_LINE()) noexcept {
        return {file, line};
    }

    [[nodiscard]] constexpr const char* file_name() const noexcept { return file_; }
    [[nodiscard]] constexpr std::uint32_t line() const noexcept { return line_; }  ///< from 1; 0: none

   private:
    const char* file_ = "";
    std::uint32_t line_ = 0;
};

}  // namespace yolk::hyper
