// SPDX-License-Identifier: Apache-2.0
#include "perturbed_linear_layout.hpp"

#include <algorithm>

#include "matmul_layout.hpp"
#include "plan_checks.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/runtime/loop_budget.hpp"

namespace yolk {
namespace {

Result<std::uint64_t> operand_bytes(const Device& device, std::initializer_list<std::uint64_t> extents,
                                    const char* what, FloatFormat format = FloatFormat::F32) {
    YOLK_TRY(const std::uint64_t fp32_bytes, checked_bytes(extents, kElementBytes, what));
    const std::uint64_t size_bytes = float_bytes(format, fp32_bytes / kElementBytes);
    YOLK_TRY_VOID(check_binding_size(device, size_bytes, what));
    return size_bytes;
}

/// The largest multiple of 8 k for one dispatch, where an iteration adds `step` of them and the other loops cost
/// `reserved`.
Result<std::uint32_t> fused_chunk(std::uint64_t budget, std::uint64_t reserved, std::uint64_t step) {
    const std::uint64_t iterations = iterations_within(budget > reserved ? budget - reserved : 0);
    const std::uint64_t chunk = iterations > UINT32_MAX ? UINT32_MAX - 7 : iterations * step / 8 * 8;
    if (chunk == 0) {
        return unsupported(
            "The loops of one invocation may cost {} on this device; [perturbed_linear] needs {}. "
            "Use a smaller rank, a smaller tile_m, or no fused form.",
            budget, reserved + loop_cost(ceil_div(8U, static_cast<std::uint32_t>(step))));
    }
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(chunk, UINT32_MAX - 7));
}

/// Pairs that the rows of a tile may belong to.
std::uint64_t pairs_of_tile(const PerturbedLinearDesc& desc, const PerturbedLinearConfig& config) noexcept {
    const std::uint64_t whole = config.tile_m / ((desc.antithetic ? 2 : 1) * std::uint64_t{desc.rows});
    return std::min<std::uint64_t>(config.tile_m, whole + 2);
}

}  // namespace

Result<void> check_perturbed_linear(const PerturbedLinearDesc& desc) {
    YOLK_TRY_VOID(check_range(desc.rank, 1, kMaxRank, "rank of [perturbed_linear]"));
    YOLK_TRY_VOID(check_range(desc.parameter.value, 0, kMaxParameterId, "parameter of [perturbed_linear]"));
    const std::uint64_t rank = desc.rank;
    YOLK_TRY_VOID(check_range(desc.in * rank, 0, kMaxNoiseElements, "in * rank of [perturbed_linear]"));
    return check_range(desc.out * rank, 0, kMaxNoiseElements, "out * rank of [perturbed_linear]");
}

Result<void> measure_perturbed_linear(const Device& device, PerturbedLinearLayout& layout) {
    const PerturbedLinearDesc& d = layout.desc;
    YOLK_TRY(layout.output_bytes,
             operand_bytes(device, {d.members, d.rows, layout.n()}, "the output view of [perturbed_linear]"));
    if (layout.is_empty()) return {};
    YOLK_TRY(layout.weights_bytes,
             operand_bytes(device, {d.out, d.in}, "the weights view of [perturbed_linear]", d.weights_format));
    const std::uint64_t input_members = d.shared_input ? 1 : d.members;
    YOLK_TRY(layout.input_bytes, operand_bytes(device, {input_members, d.rows, layout.k()},
                                               "the input view of [perturbed_linear]", d.input_format));
    if (layout.is_fused()) return {};
    YOLK_TRY(layout.projection_bytes,
             operand_bytes(device, {d.members, d.rows, d.rank}, "the scratch of [perturbed_linear]"));
    if (!layout.has_base() || !d.shared_input) return {};
    YOLK_TRY(layout.base_bytes, operand_bytes(device, {d.rows, layout.n()}, "the base product of [perturbed_linear]"));
    return {};
}

Result<void> split_perturbed_linear(const Device& device, PerturbedLinearLayout& layout) {
    YOLK_TRY(const std::uint64_t budget, loop_budget(device));
    const PerturbedLinearConfig& c = layout.config;
    const std::uint32_t step = projection_step(layout.desc.rank);
    const std::uint64_t pairs = pairs_of_tile(layout.desc, c);
    std::uint64_t reserved = loop_cost(c.block_k) + loop_cost(ceil_div(layout.desc.rank, 8U), loop_cost(pairs));
    if (layout.is_fused()) {
        reserved += loop_cost(pairs, loop_cost(ceil_div(layout.k(), step)));
    } else {
        YOLK_TRY(layout.project_chunk, fused_chunk(budget, 0, step));
    }
    YOLK_TRY(layout.output_chunk, fused_chunk(budget, reserved, c.block_k));
    return {};
}

}  // namespace yolk
