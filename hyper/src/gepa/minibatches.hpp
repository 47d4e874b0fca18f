// SPDX-License-Identifier: Apache-2.0
// Which train examples a mutation is judged on.
#pragma once

#include <cstdint>
#include <vector>

namespace yolk::hyper::prompts {

/// `size` of the numbers below `of`, both at least 1, for the minibatch with this number. Each pass over all of them is
/// shuffled anew; its last minibatch is filled up with what was used least so far, the first of the pass's order among
/// equals.
[[nodiscard]] std::vector<std::uint32_t> minibatch_ids(std::uint64_t seed, std::uint32_t number, std::uint32_t of,
                                                       std::uint32_t size);

}  // namespace yolk::hyper::prompts
