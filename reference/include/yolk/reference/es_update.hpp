// SPDX-License-Identifier: Apache-2.0
// Exact twin of es_update (docs/kernels/es_update.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/abi/fitness.h"
#include "yolk/primitives/es_update.hpp"

namespace yolk::reference {

/// Pairs [first, first + count).
struct PairRange {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

/// The exact sums over these pairs, [element_count]; zero for frozen parameters. `weights`: of all pairs, one each.
[[nodiscard]] std::vector<std::int64_t> es_update_sums_twin(const EsUpdateDesc& desc,
                                                            std::span<const std::int8_t> weights, PairRange pairs,
                                                            const NoiseContext& when);

/// The gradient from exact sums over all pairs: each is rounded to fp32 once, to nearest, ties to even, and multiplied
/// as the kernel does it. What joins the shares of several devices, and half of the twin. `sums` and `gradient`:
/// [element_count].
void es_update_gradient(const EsUpdateDesc& desc, std::span<const std::int64_t> sums,
                        const abi::fitness::Summary& summary, const NoiseContext& when, std::span<float> gradient);

/// The gradient's bits for int8 weights: element by element in 64-bit integers, whatever the configuration. `weights`:
/// one per pair.
[[nodiscard]] std::vector<float> es_update_twin(const EsUpdateDesc& desc, std::span<const std::int8_t> weights,
                                                const abi::fitness::Summary& summary, const NoiseContext& when);

}  // namespace yolk::reference
