// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/shaped_generation.hpp"

#include <cstring>

namespace yolk::evolve {

bool operator==(const ShapedGeneration& left, const ShapedGeneration& right) {
    // By bits: a mean that is not a number equals itself.
    return std::memcmp(&left.summary, &right.summary, sizeof(left.summary)) == 0 &&
           left.integer_weights == right.integer_weights && left.float_weights == right.float_weights &&
           left.tail == right.tail;
}

}  // namespace yolk::evolve
