// SPDX-License-Identifier: Apache-2.0
// Instructions of our own exact kernels that find_inexact lists and that are right all the same. Keep the lists short:
// each entry says why.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "yolk/internal/shaders/exactness.hpp"

namespace yolk {

/// A driver may fuse them because nothing can be rounded.
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

/// Undefined for some operands, which do not occur: the kernel's logic says so, beyond what bounds show.
struct AllowedUndefined {
    std::string_view kernels;   ///< beginning of their names; empty: of all
    std::string_view function;  ///< beginning of its name
    std::vector<std::uint32_t> opcodes;
    std::string_view why;
    bool by_default = true;  ///< occurs with the default constants; else only in other configurations
};

[[nodiscard]] inline const std::vector<AllowedUndefined>& allowed_undefined() {
    constexpr std::uint32_t kLoad = 61, kAccessChain = 65, kToInt = 110, kDivide = 134, kRemainder = 137;
    constexpr std::string_view kColumns =
        "numbers of tiles along a parameter's columns: tables of parameters refuse those without columns";
    constexpr std::string_view kSums =
        "integers below 2^24 in floats (as above), which an int holds: the conversion is exact";
    constexpr std::string_view kFragments =
        "FRAGMENTS_N and its likes are quotients of a tile's sides, and loops over fragments write each before they "
        "read it; staged places count whole vectors of a tile (shaders/lib/cooperative_matrix.glsl)";
    constexpr std::string_view kLayers =
        "private arrays have the sizes of all layers (head of policy_network.glsl), and a layer's loops begin where "
        "the "
        "one before ends; a perturbed layer's projections are written by the same condition that reads them";
    constexpr std::string_view kRows =
        "an invocation whose place in its row is below half_size takes the word half_size further on, in the same row; "
        "a row's chains are a kRowChains-th of its invocations (shaders/lib/rows.glsl)";
    constexpr std::string_view kStaged =
        "places of a tile's own rows and columns in the vectors that are staged for it "
        "(shaders/matmul/matmul_staging.glsl)";
    constexpr std::string_view kPacked =
        "loops end at INPUTS, OUTPUTS and RANK, and arrays have that many elements, or bytes of noise "
        "(packed_network.glsl)";
    static const std::vector<AllowedUndefined> all{
        {"", "row_add(", {kAccessChain}, kRows, false},
        {"", "row_take_larger(", {kAccessChain}, kRows, false},
        {"", "row_word(", {kAccessChain}, kRows, false},
        {"", "row_first_word(", {kAccessChain}, "an invocation's place less its place in the row is not below 0"},
        {"block_inverse_panel_lines",
         "main",
         {kLoad},
         "what a step q writes for p > q is read in the same step for p > q; of `rest` the lower triangle is both"},
        {"block_inverse_pivoted", "best_lane(", {kAccessChain}, "one loop over the workgroup's half of the words"},
        {"block_inverse_pivoted", "main", {kAccessChain}, "what best_lane gives: a place in its half of the words"},
        {"es_update_combine_", "main", {kDivide, kRemainder}, kColumns},
        {"es_update_sum_", "main", {kDivide, kRemainder}, kColumns},
        {"update_share_", "main", {kDivide, kRemainder}, kColumns},
        {"es_update_sum_staged_i8", "store4(", {kToInt}, kSums},
        {"update_share_sum_staged", "store4(", {kToInt}, kSums},
        {"fitness_sort_offsets_by_group", "sum_before(", {kAccessChain}, "only where lane is at least `reach`", false},
        {"matmul_staged_", "main", {kAccessChain}, kStaged, false},
        {"perturbed_linear_output_staged", "main", {kAccessChain}, kStaged, false},
        {"fitness_sort_scatter_by_group", "move_on(", {kAccessChain}, "value is below 256, the loop's bound"},
        {"matmul_i8_cooperative", "main", {kLoad, kAccessChain}, kFragments},
        {"matmul_i8_cooperative", "stage(", {kAccessChain}, kFragments},
        {"matmul_i8_cooperative",
         "place_of_block(",
         {kDivide, kRemainder},
         "`first` is below blocks.x, as a multiple of BAND below it, so a band has at least one row"},
        {"probe_arithmetic", "compute(", {kToInt}, "the host's cases are within an int (runtime/src/probes/probe.cpp)"},
        {"rollout_", "apply_layer(", {kLoad, kAccessChain}, kLayers},
        {"rollout_", "act(", {kAccessChain}, kLayers},
        {"rollout_", "parameter_operand(", {kAccessChain}, kLayers, false},
        {"rollout_", "project_observation(", {kAccessChain}, kPacked, false},
        {"rollout_", "add_low_rank(", {kAccessChain}, kPacked, false},
        {"rollout_", "draw_word(", {kAccessChain}, "`room` is what a stream has left, as long as its factors", false},
        {"rollout_", "prepare_policy(", {kAccessChain}, "WORDS is even wherever a stream has words"},
    };
    return all;
}

[[nodiscard]] inline bool allows(const AllowedUndefined& allowed, std::string_view kernel,
                                 const InexactInstruction& one) {
    return kernel.starts_with(allowed.kernels) && one.function.starts_with(allowed.function) &&
           std::ranges::binary_search(allowed.opcodes, one.opcode);
}

[[nodiscard]] inline bool is_allowed(std::string_view kernel, const InexactInstruction& instruction) {
    if (instruction.is_undefined) {
        // Divisors and shifts that follow from a dispatch's parameters are the plan's: it refuses sizes of 0, and each
        // family's cases have the smallest ones.
        return instruction.by_parameters || std::ranges::any_of(allowed_undefined(), [&](const AllowedUndefined& one) {
                   return allows(one, kernel, instruction);
               });
    }
    return std::ranges::any_of(allowed_instructions(), [&](const AllowedInstructions& allowed) {
        return allowed.kernel == kernel && std::ranges::binary_search(allowed.opcodes, instruction.opcode);
    });
}

}  // namespace yolk
