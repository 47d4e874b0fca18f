// SPDX-License-Identifier: Apache-2.0
// A member's perturbed parameters in full, on the host: what a function that scores members there begins with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/internal/primitives/parameters.hpp"
#include "yolk/result.hpp"

namespace yolk::evolve {

/// M + side * sigma/sqrt(rank) * A B^T for matrices, v + side * sigma * noise for vectors, frozen ones as they are, in
/// the order of `table`; `parameters` likewise, [element_count]. `table` is the one that the run trains
/// (trained_parameters), `rank` and `antithetic` are the run's: a matrix that says a rank has its own. Member -1 is the
/// mean: no noise. Class P, by the operand rule: values below 2^-40 in magnitude are zero. Vectors have the bits of
/// perturbed_vector and of the roll-out, matrices those of perturbed_embedding: one chain from M over the rank's
/// columns. perturbed_linear and the roll-out never form a matrix: they add (x B) A^T to x M^T. So what is computed
/// from these values is within rounding of theirs, and has other bits. Errors: another number of parameters than the
/// table's, a rank outside 1 to 32, a member below -1.
[[nodiscard]] Result<std::vector<float>> member_parameters(const ParameterTable& table,
                                                           std::span<const float> parameters, const NoiseContext& when,
                                                           std::uint32_t rank, bool antithetic, std::int32_t member);

}  // namespace yolk::evolve
