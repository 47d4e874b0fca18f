// SPDX-License-Identifier: Apache-2.0
// Instructions of exact kernels that a driver may fuse because nothing can be rounded. Keep the list short: each entry
// says why.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "yolk/shaders/exactness.hpp"

namespace yolk {

struct AllowedInstructions {
    std::string_view kernel;
    std::vector<std::uint32_t> opcodes;  ///< SPIR-V's, ascending
    std::string_view why;
};

[[nodiscard]] inline const std::vector<AllowedInstructions>& allowed_instructions() {
    constexpr std::uint32_t kExtInst = 12, kVectorTimesScalar = 142;  // the first is fma()
    constexpr std::string_view kIntegers =
        "weights times noise, and sums of those products: integers below 128 * 127 * 30 * 30 < 2^24, which fp32 holds "
        "whether they are fused or not (the head of es_update_sum_staged.comp)";
    static const std::vector<AllowedInstructions> all{
        {"es_update_sum_staged_i8", {kExtInst, kVectorTimesScalar}, kIntegers},
        {"update_share_sum_staged", {kExtInst, kVectorTimesScalar}, kIntegers},
    };
    return all;
}

[[nodiscard]] inline bool is_allowed(std::string_view kernel, const InexactInstruction& instruction) {
    return std::ranges::any_of(allowed_instructions(), [&](const AllowedInstructions& allowed) {
        return allowed.kernel == kernel && std::ranges::binary_search(allowed.opcodes, instruction.opcode);
    });
}

}  // namespace yolk
