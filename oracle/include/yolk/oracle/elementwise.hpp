// SPDX-License-Identifier: Apache-2.0
// Host results for the elementwise kernels (docs/kernels/elementwise.md).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/elementwise.hpp"

namespace yolk::oracle {

/// Exact twin, from the source that the kernel shares. `second` as the description says, empty for unary operations.
[[nodiscard]] std::vector<float> elementwise_twin(const ElementwiseDesc& desc, std::span<const float> first,
                                                  std::span<const float> second = {});

/// In double, for finite operands whose result is finite. The tolerance counts roundings (one per sum and product) and
/// what the flushes below 2^-100 may take, or is the stated error of the exact function.
[[nodiscard]] std::vector<OracleValue> elementwise_oracle(const ElementwiseDesc& desc, std::span<const float> first,
                                                          std::span<const float> second = {});

/// A problem of this description, for tuning and timing.
[[nodiscard]] std::unique_ptr<Problem> make_elementwise_problem(const ElementwiseDesc& desc);

}  // namespace yolk::oracle
