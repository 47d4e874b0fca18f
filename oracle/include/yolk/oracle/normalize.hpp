// SPDX-License-Identifier: Apache-2.0
// Host results for the normalize kernel (docs/kernels/normalize.md), [members, rows, columns] in and out.
#pragma once

#include <memory>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/normalize.hpp"

namespace yolk::oracle {

/// `scale` and `bias` are empty where there is none.
struct NormalizeInputs {
    std::vector<float> in;
    std::vector<float> scale;
    std::vector<float> bias;
};

/// Exact twin.
[[nodiscard]] std::vector<float> normalize_twin(const NormalizeDesc& desc, const NormalizeInputs& inputs);

/// Double precision, std::sqrt, pairwise sums; for rows whose mean square is below 2^100. The tolerance follows each
/// rounding (docs/kernels/normalize.md).
[[nodiscard]] std::vector<OracleValue> normalize_oracle(const NormalizeDesc& desc, const NormalizeInputs& inputs);

/// A problem of this description, for tuning and timing.
[[nodiscard]] std::unique_ptr<Problem> make_normalize_problem(const NormalizeDesc& desc);

}  // namespace yolk::oracle
