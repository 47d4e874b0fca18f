// SPDX-License-Identifier: Apache-2.0
// Host results for the softmax kernel (docs/kernels/softmax.md), [members, rows, columns] in and out.
#pragma once

#include <memory>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/softmax.hpp"

namespace yolk::oracle {

/// Exact twin.
[[nodiscard]] std::vector<float> softmax_twin(const SoftmaxDesc& desc, const std::vector<float>& in);

/// Double precision, std::exp, pairwise sums; rows whose maximum is finite. The tolerance follows each rounding
/// (docs/kernels/softmax.md).
[[nodiscard]] std::vector<OracleValue> softmax_oracle(const SoftmaxDesc& desc, const std::vector<float>& in);

/// A problem of this description, for tuning and timing.
[[nodiscard]] std::unique_ptr<Problem> make_softmax_problem(const SoftmaxDesc& desc);

}  // namespace yolk::oracle
