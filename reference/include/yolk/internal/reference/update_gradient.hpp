// SPDX-License-Identifier: Apache-2.0
// From the exact sums of an update to its gradient: what joins the shares of several devices.
#pragma once

#include <cstdint>
#include <span>

#include "yolk/internal/abi/fitness.h"

namespace yolk {
struct EsUpdateDesc;
struct NoiseContext;
}  // namespace yolk

namespace yolk::reference {

/// Each sum, over all pairs, is rounded to fp32 once, to nearest, ties to even, and multiplied as the kernel does it.
/// `sums` and `gradient`: [element_count].
void es_update_gradient(const EsUpdateDesc& desc, std::span<const std::int64_t> sums,
                        const abi::fitness::Summary& summary, const NoiseContext& when, std::span<float> gradient);

}  // namespace yolk::reference
