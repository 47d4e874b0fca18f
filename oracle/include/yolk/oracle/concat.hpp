// SPDX-License-Identifier: Apache-2.0
// Host results for the concat kernels (docs/kernels/concat.md), of elements as words.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/concat.hpp"

namespace yolk::oracle {

using Words = std::vector<std::uint32_t>;

/// The whole, run by run.
[[nodiscard]] Words concat_twin(const ConcatDesc& desc, const std::vector<Words>& parts);
/// The parts, run by run.
[[nodiscard]] std::vector<Words> split_twin(const ConcatDesc& desc, const Words& whole);

/// The element of the whole at these coordinates, looked up in the parts.
[[nodiscard]] std::uint32_t concat_oracle(const ConcatDesc& desc, const std::vector<Words>& parts, std::size_t member,
                                          std::size_t outer, std::size_t along, std::size_t inner);

/// A problem of this description, for tuning and timing.
[[nodiscard]] std::unique_ptr<Problem> make_concat_problem(const ConcatDesc& desc);

}  // namespace yolk::oracle
