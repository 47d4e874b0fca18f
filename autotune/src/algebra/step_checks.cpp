// SPDX-License-Identifier: Apache-2.0
#include "step_checks.hpp"

#include "yolk/internal/core/shape.hpp"

namespace yolk::autotune {

Result<StepSizes> step_sizes(std::uint32_t count, std::uint32_t n, std::uint64_t element_bytes, const char* call) {
    if (count == 0 || n == 0) {
        return bad_input(
            "[{}] was given {} blocks of size {}; at least one block of at least one row is "
            "needed. Leave the call out where there is nothing to do.",
            call, count, n);
    }
    StepSizes sizes{.vectors = std::uint64_t{count} * n};
    const auto elements = checked_multiply(sizes.vectors, n, "the blocks");
    if (!elements || !checked_multiply(*elements, element_bytes, "the blocks")) {
        return bad_input("[{}] was given {} blocks of size {}; their bytes must fit in 64 bits.", call, count, n);
    }
    sizes.matrices = *elements;
    return sizes;
}

Result<void> check_length(std::size_t given, std::uint64_t needed, const char* call, const char* what) {
    if (given == needed) return {};
    return bad_input("The {} of [{}] has {} elements; by count and n it must have {}.", what, call, given, needed);
}

}  // namespace yolk::autotune
