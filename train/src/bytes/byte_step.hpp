// SPDX-License-Identifier: Apache-2.0
// How the weights of a byte model move, in integers (docs/adr/0058).
#pragma once

#include <cstdint>
#include <span>

#include "yolk/bytes.hpp"
#include "yolk/internal/primitives/parameters.hpp"

namespace yolk::train {

/// The whole part of 16 z(1 - alpha/2) for alpha = 1 / (rate/1000 * generation + 1), z the normal quantile; at most 80.
[[nodiscard]] std::uint32_t byte_significance(std::uint32_t rate, std::uint32_t generation) noexcept;

/// Moves weights by one in the direction of `sums`, the integers sum q A B^T of all pairs as floats: those whose sum is
/// significant, or with ByteSettings::feedback those whose residual has come to that much. `residual` is empty without
/// feedback. All are whole numbers.
void step_bytes(const ByteSettings& settings, const ParameterTable& table, std::span<const float> sums,
                std::uint32_t generation, std::span<float> weights, std::span<float> residual);

}  // namespace yolk::train
