// SPDX-License-Identifier: Apache-2.0
// The arithmetic probe without a device: what is asked, what the right answers are, and what wrong ones mean.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace yolk {

/// One operation of yolk/internal/abi/probe.h with its correctly rounded result, all as bits.
struct ArithmeticCase {
    std::uint32_t operation = 0;
    std::uint32_t a = 0, b = 0, c = 0;
    std::uint32_t expected = 0;
    const char* property = "";  ///< what a wrong answer breaks, to follow "exact mode needs"
};

/// The result that round-to-nearest-even after every operation gives, computed in double: 53 bits are more than 2 * 24
/// + 1, so rounding a double sum, difference or product of floats once more gives what one rounding gives (Figueroa,
/// "When is double rounding innocuous?", 1995). Holds for normal results.
[[nodiscard]] std::uint32_t correct_result(std::uint32_t operation, std::uint32_t a, std::uint32_t b, std::uint32_t c);

/// Hard cases by hand, then drawn ones that a fused multiply-add or another order would change. The same on every call.
[[nodiscard]] std::vector<ArithmeticCase> arithmetic_cases();

/// Why nothing runs on a device, as a sentence; empty where kernels execute. Fewer than a tenth of the answers that are
/// not zero are right: memory that nothing wrote holds hardly any, and hardware that runs gives nearly all.
[[nodiscard]] std::string judge_execution(std::span<const ArithmeticCase> cases,
                                          std::span<const std::uint32_t> results);

/// Why exact mode must be refused, as a sentence that names the first wrong answer; empty where `results` are all
/// right. A pure function, so that a test can play a failing device.
[[nodiscard]] std::string judge_arithmetic(std::span<const ArithmeticCase> cases,
                                           std::span<const std::uint32_t> results);

}  // namespace yolk
