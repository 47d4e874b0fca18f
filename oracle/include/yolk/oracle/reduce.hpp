// SPDX-License-Identifier: Apache-2.0
// Host results for the reduce kernel (docs/kernels/reduce.md). `in` is [outer, columns, inner], results [outer, inner].
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/reduce.hpp"

namespace yolk::oracle {

/// Exact twin: the words of the result.
[[nodiscard]] std::vector<std::uint32_t> reduce_twin(const ReduceDesc& desc, const std::vector<float>& in);

/// Double precision, pairwise sums, for finite inputs. The tolerance of a sum is the roundings of one chain and of the
/// tree, (ceil(columns / 32) + 5) 2^-24 of the sum of magnitudes, and columns 2^-40 for the operands that count as
/// zero.
[[nodiscard]] std::vector<OracleValue> reduce_oracle(const ReduceDesc& desc, const std::vector<float>& in);

/// A problem of no particular values, for benchmarks and the tuner.
[[nodiscard]] std::unique_ptr<Problem> make_reduce_problem(const ReduceDesc& desc);

}  // namespace yolk::oracle
