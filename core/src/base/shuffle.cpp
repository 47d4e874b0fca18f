// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/shuffle.hpp"

#include <numeric>
#include <utility>

namespace yolk {

std::vector<std::uint32_t> shuffled(const NoiseStream& stream, std::uint32_t count) {
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    for (std::uint32_t i = count; i-- > 1;) {
        // The bias of the division is below 2^-32.
        const PhiloxCounter words = philox_block(stream, i);
        const std::uint64_t word = (std::uint64_t{words[0]} << 32U) | words[1];
        std::swap(order[i], order[word % (std::uint64_t{i} + 1)]);
    }
    return order;
}

}  // namespace yolk
