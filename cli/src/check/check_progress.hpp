// SPDX-License-Identifier: Apache-2.0
// A check as people watch it, or read it later in a log: on standard error, for standard output is the outcome's.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "yolk/internal/oracle/check.hpp"
#include "yolk/result.hpp"

namespace yolk::cli {

/// Share `number` of `count`.
struct Part {
    std::uint32_t number = 1;
    std::uint32_t count = 1;
};
/// "2/8". Error: anything else, or a number outside 1 ... count.
[[nodiscard]] Result<Part> parse_part(std::string_view text);

/// "matmul: 120 of 20846 runs, 1 failure, 3:12:05 left"; no estimate without a run. `seconds`: since the first one.
[[nodiscard]] std::string check_progress_text(const oracle::CheckProgress& progress, double seconds);

/// On a terminal one line, rewritten; elsewhere a line every half minute.
class CheckDisplay {
   public:
    using Clock = std::chrono::steady_clock;
    CheckDisplay();
    void show(const oracle::CheckProgress& progress, Clock::time_point now = Clock::now());
    /// At once, on a line of its own.
    void show_failure(const char* family, const std::string& failure);
    /// Leaves the rewritten line.
    void finish();

   private:
    bool terminal_;
    bool line_open_ = false;
    std::string family_;
    Clock::time_point began_{};  ///< of the family
    Clock::time_point last_line_{};
};

}  // namespace yolk::cli
