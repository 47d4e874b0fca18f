// SPDX-License-Identifier: Apache-2.0
// What Evolution refuses before it makes anything.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "yolk/evolution.hpp"

namespace yolk::evolve {

/// The table has elements, and each of them its values.
[[nodiscard]] Result<void> check_state(const ParameterTable& table, std::span<const float> initial,
                                       std::span<const float> optimizer_state, const EvolutionOptions& options);
[[nodiscard]] Result<void> check_parts(const EvolutionParts& parts, const EvolutionOptions& options);
/// Values are finite. The error names the first that is not, counted from the span's beginning, and what it is of.
[[nodiscard]] Result<void> check_finite(std::span<const float> values, std::string_view of = "the parameters");
/// One for each of `elements` parameters, all finite.
/// What a generation sets of the parameters: not more than there are, and finite.
[[nodiscard]] Result<void> check_tail(const ShapedGeneration& shaped, std::uint32_t elements);
[[nodiscard]] Result<void> check_gradient(std::span<const float> gradient, std::uint32_t elements);
/// Of elements that there are, none above its upper bound.
[[nodiscard]] Result<void> check_bounds(std::span<const ElementBounds> bounds, std::uint32_t elements);
/// What a worker was given scores this run's members; `name` is the worker's.
[[nodiscard]] Result<void> check_members(const MemberEvaluator* evaluator, std::string_view name,
                                         const EvolutionOptions& options);
/// What apply() is given has `weights` weights, of the kind that the run's rule makes.
[[nodiscard]] Result<void> check_shaped(const ShapedGeneration& shaped, std::uint64_t weights, bool integers);
/// Evolution::shaped() of a run that has these parts; `last` is empty before its first generation.
[[nodiscard]] Result<ShapedGeneration> kept_weights(const PoolParts& parts, const ShapedGeneration& last);
/// Probes the device. Error: exact mode on one that fails (Unsupported, with the reason).
[[nodiscard]] Result<void> probe_device(const Device& device, Determinism determinism);
/// Says so where a rank is legal, since noise of a larger rank is only closer to full rank than a matrix allows, but is
/// paid for without a gain.
void note_useless_rank(const ParameterTable& table, std::uint32_t rank);

}  // namespace yolk::evolve
