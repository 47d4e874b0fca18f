// SPDX-License-Identifier: Apache-2.0
// Modules that compile and compute something else: what a driver looks like that is wrong.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace yolk::testing {

/// What is computed wrongly.
struct Spoilt {
    bool multiplications = false;  ///< they add
    bool low_precision = false;    ///< FaultInjector::spoil_low_precision
};

/// A multiplication of matrices that is added to a third becomes a copy of the third.
inline void leave_out_product(std::span<std::uint32_t> instruction) {
    constexpr std::uint32_t kCopyObject = 83, kCopyWords = 4, kNop = 1U << 16U, kAddend = 5;
    instruction[0] = kCopyWords << 16U | kCopyObject;
    instruction[3] = instruction[kAddend];
    std::ranges::fill(instruction.subspan(kCopyWords), kNop);
}

[[nodiscard]] inline std::vector<std::uint32_t> spoiled_module(std::span<const std::uint32_t> module, Spoilt spoilt) {
    constexpr std::uint32_t kHeaderWords = 5, kFMul = 133, kFAdd = 129;
    constexpr std::uint32_t kSDot = 4450, kUDot = 4451, kUConvert = 113, kSConvert = 114;
    constexpr std::uint32_t kMatrixMulAddKhr = 4459, kMatrixMulAddNv = 5361;
    std::vector<std::uint32_t> code(module.begin(), module.end());
    for (std::size_t at = kHeaderWords; at < code.size() && code[at] >> 16U != 0; at += code[at] >> 16U) {
        const std::uint32_t opcode = code[at] & 0xFFFFU;
        const auto becomes = [&](std::uint32_t other) { code[at] = (code[at] & 0xFFFF0000U) | other; };
        if (spoilt.multiplications && opcode == kFMul) becomes(kFAdd);
        if (!spoilt.low_precision) continue;
        if (opcode == kSDot) becomes(kUDot);
        if (opcode == kUConvert) becomes(kSConvert);
        if (opcode == kMatrixMulAddKhr || opcode == kMatrixMulAddNv)
            leave_out_product(std::span(code).subspan(at, code[at] >> 16U));
    }
    return code;
}

}  // namespace yolk::testing
