// SPDX-License-Identifier: Apache-2.0
#include "minibatches.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "draws.hpp"
#include "yolk/internal/core/shape.hpp"

namespace yolk::hyper::prompts {
namespace {

std::vector<std::uint32_t> shuffled_pass(std::uint64_t seed, std::uint32_t pass, std::uint32_t of) {
    std::vector<std::uint32_t> order(of);
    std::iota(order.begin(), order.end(), 0U);
    shuffle({.seed = seed, .time = pass, .purpose = Purpose::Minibatch}, 0, order);
    return order;
}

}  // namespace

std::vector<std::uint32_t> minibatch_ids(std::uint64_t seed, std::uint32_t number, std::uint32_t of,
                                         std::uint32_t size) {
    const std::uint32_t batches = ceil_div(of, size);  // of one pass
    const std::uint32_t pass = number / batches;
    const std::uint32_t padding = batches * size - of;
    std::vector<std::uint32_t> order;
    // What a pass takes to fill up depends on the passes before it. All use each example once beside that.
    std::vector<std::uint32_t> extra_uses(of, 0);
    for (std::uint32_t p = padding == 0 ? pass : 0; p <= pass; ++p) {
        order = shuffled_pass(seed, p, of);
        for (std::uint32_t i = 0; i < padding; ++i) {
            const auto least = std::ranges::min_element(order.begin(), order.begin() + of, {},
                                                        [&](std::uint32_t id) { return extra_uses[id]; });
            ++extra_uses[*least];
            order.push_back(*least);
        }
    }
    const std::size_t first = std::size_t{number % batches} * size;
    return {order.begin() + static_cast<std::ptrdiff_t>(first),
            order.begin() + static_cast<std::ptrdiff_t>(first + size)};
}

}  // namespace yolk::hyper::prompts
