// SPDX-License-Identifier: Apache-2.0
// The best factors of low rank for what a search has changed (Eckart and Young 1936).
#pragma once

#include <span>

#include "adapter_file.hpp"

namespace yolk::transformer {

struct LowRank {
    AdapterFactors factors{};
    double left_out = 0.0;  ///< squared norm of the change without the factors' product, as fp32 has them
};
/// Of `change` [out, in]; `rank` is from 1 to the smaller of both.
[[nodiscard]] LowRank low_rank_of(std::span<const double> change, std::uint64_t out, std::uint64_t in,
                                  std::uint64_t rank);

}  // namespace yolk::transformer
