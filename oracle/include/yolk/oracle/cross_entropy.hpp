// SPDX-License-Identifier: Apache-2.0
// Host results for the cross_entropy kernel (docs/kernels/cross_entropy.md): logits [members, rows, columns], losses
// [members, rows].
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/cross_entropy.hpp"

namespace yolk::oracle {

struct CrossEntropyInputs {
    std::vector<float> logits;
    std::vector<std::uint32_t> targets;
};

/// Exact twin.
[[nodiscard]] std::vector<float> cross_entropy_twin(const CrossEntropyDesc& desc, const CrossEntropyInputs& inputs);
/// How many targets are not below `columns`, each counted once per member that reads it.
[[nodiscard]] std::uint32_t cross_entropy_bad_targets(const CrossEntropyDesc& desc, const CrossEntropyInputs& inputs);

/// Double precision, std::exp and std::log, pairwise sums; for rows whose maximum is finite and targets in range. The
/// tolerance follows each rounding (docs/kernels/cross_entropy.md).
[[nodiscard]] std::vector<OracleValue> cross_entropy_oracle(const CrossEntropyDesc& desc,
                                                            const CrossEntropyInputs& inputs);

/// A problem of this description, for tuning and timing.
[[nodiscard]] std::unique_ptr<Problem> make_cross_entropy_problem(const CrossEntropyDesc& desc);

}  // namespace yolk::oracle
