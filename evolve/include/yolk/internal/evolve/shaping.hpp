// SPDX-License-Identifier: Apache-2.0
// fitness on the host: returns to the weights of the update, the same bits as the kernel's and its twin's
// (docs/kernels/fitness.md), for members that lie on one rank or on many. Its time is linear in the members.
#pragma once

#include <span>

#include "yolk/fitness.hpp"
#include "yolk/internal/evolve/exchange.hpp"
#include "yolk/internal/evolve/member_range.hpp"
#include "yolk/internal/evolve/shaped_generation.hpp"
#include "yolk/result.hpp"

namespace yolk::evolve {

/// `returns` [desc.episodes, mine.count] are those of this rank's members, whole pairs where there are pairs. Each rank
/// calls it with its own, in the order of the ranks and together the whole population, and all get the same weights.
///
/// Two rounds carry statistics, 28 and 64 bytes from each rank, then one carries the weights of its members: a byte per
/// pair, or four where the rule has floats. `robust` takes four rounds more, of 1 KiB each. Centred ranks depend on
/// every other score: one round carries four bytes per member and eight per rank, and nothing else travels.
///
/// A generation without a finite score is no error here: its finite_count is 0 and its weights are zeros. Errors:
/// another number of returns than the members have, members that are not whole pairs, ranks that leave members out or
/// share some (on all ranks), those of the exchange.
[[nodiscard]] Result<ShapedGeneration> shape_scores(const FitnessDesc& desc, const MemberRange& mine,
                                                    std::span<const float> returns, Exchange& exchange);
/// The same on one rank.
[[nodiscard]] Result<ShapedGeneration> shape_scores(const FitnessDesc& desc, std::span<const float> returns);

/// Means over the episodes of `returns` [episodes, members], as the kernel makes them; not finite where one return or
/// their sum is not.
[[nodiscard]] std::vector<float> mean_scores(std::span<const float> returns, std::uint32_t episodes);

}  // namespace yolk::evolve
