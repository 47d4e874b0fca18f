// SPDX-License-Identifier: Apache-2.0
// What rewards of examples come to: the mean, with the bits of the kernel `reduce`.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/reduce.hpp"
#include "yolk/twin.hpp"

namespace yolk::hyper {

/// Of each candidate, from [candidates, examples].
[[nodiscard]] inline std::vector<float> mean_rewards(std::span<const float> rewards, std::uint32_t candidates) {
    const auto examples = static_cast<std::uint32_t>(rewards.size() / candidates);
    return reference::twin_result<float>(
        ReduceDesc{.operation = ReduceOperation::Mean, .outer = candidates, .columns = examples}, {rewards});
}

}  // namespace yolk::hyper
