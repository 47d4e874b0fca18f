// SPDX-License-Identifier: Apache-2.0
// From the parameters that a system has to those that a run trains, their first values, and the hash of a run's state.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/evolve/options.hpp"
#include "yolk/internal/primitives/parameters.hpp"
#include "yolk/result.hpp"

namespace yolk::evolve {

/// The table with vectors frozen (options.freeze_vectors) and those of options.freeze. Errors: an unknown name in
/// freeze (lists the known ones), nothing left to train.
[[nodiscard]] Result<ParameterTable> trained_parameters(const ParameterTable& parameters,
                                                        const EvolutionOptions& options);

/// First values, one per element in table order. Matrix element i (row-major) of parameter p: n / sqrt(85) /
/// sqrt(fan-in), where n is element i of the noise stream (seed, p, Initialization, 0, 0) and fan-in the number of
/// columns; so unit variance per output for unit inputs. All else, frozen parameters too, is zero: pass the table as it
/// was before freezing. Class P: the scale is one fp32 reciprocal of one fp32 square root, both correctly rounded on
/// any IEEE host, times the constant 1/sqrt(85).
[[nodiscard]] std::vector<float> initial_parameters(const ParameterTable& parameters, std::uint64_t seed);

/// XXH3-128 in hex over the little-endian bytes of all parameters in id order, the optimizer's arrays (first moments,
/// then second), and the number of generations done as 64 bits. Error, Failed: a parameter that is not finite (NaN
/// payloads differ between devices, so its hash would say nothing).
[[nodiscard]] Result<std::string> state_hash(std::span<const float> parameters, std::span<const float> optimizer_state,
                                             std::uint64_t generations);

}  // namespace yolk::evolve
