// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/shape.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace yolk {

Result<std::uint64_t> Shape::element_count() const {
    std::uint64_t count = 1;
    for (const std::uint64_t extent : extents_) {
        if (extent == 0) return std::uint64_t{0};
    }
    for (const std::uint64_t extent : extents_) {
        YOLK_TRY(count, checked_multiply(count, extent, "the element count of a shape"));
    }
    return count;
}

std::string Shape::to_string() const { return fmt::format("[{}]", fmt::join(extents_, ", ")); }

Result<std::uint64_t> checked_multiply(std::uint64_t a, std::uint64_t b, const char* what) {
    std::uint64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product)) {
        return bad_input("{} overflows 64 bits: {} times {}. Use smaller sizes.", what, a, b);
    }
    return product;
}

Result<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b, const char* what) {
    std::uint64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) {
        return bad_input("{} overflows 64 bits: {} plus {}. Use smaller sizes.", what, a, b);
    }
    return sum;
}

}  // namespace yolk
