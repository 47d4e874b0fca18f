// SPDX-License-Identifier: Apache-2.0
// What Evolution refuses before it makes anything.
#pragma once

#include <cstdint>
#include <span>

#include "yolk/evolve/evolution.hpp"

namespace yolk::evolve {

[[nodiscard]] Result<void> check_parts(const EvolutionParts& parts, const EvolutionOptions& options);
/// Parameters are finite. The error names the first element that is not, counted from the span's beginning.
[[nodiscard]] Result<void> check_finite(std::span<const float> values);
/// Probes the device. Error: exact mode on one that fails (Unsupported, with the reason).
[[nodiscard]] Result<void> probe_device(const Device& device, Determinism determinism);
/// Says so where a rank is legal, since noise of a larger rank is only closer to full rank than a matrix allows, but is
/// paid for without a gain.
void note_useless_rank(const ParameterTable& table, std::uint32_t rank);

}  // namespace yolk::evolve
