// SPDX-License-Identifier: Apache-2.0
// Exact twin of the cross_entropy kernel (docs/kernels/cross_entropy.md): logits [members, rows, columns], losses
// [members, rows].
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/primitives/cross_entropy.hpp"

namespace yolk::reference {

struct CrossEntropyInputs {
    std::vector<float> logits;
    std::vector<std::uint32_t> targets;
};

/// Exact twin.
[[nodiscard]] std::vector<float> cross_entropy_twin(const CrossEntropyDesc& desc, const CrossEntropyInputs& inputs);
/// How many targets are not below `columns`, each counted once per member that reads it.
[[nodiscard]] std::uint32_t cross_entropy_bad_targets(const CrossEntropyDesc& desc, const CrossEntropyInputs& inputs);

}  // namespace yolk::reference
