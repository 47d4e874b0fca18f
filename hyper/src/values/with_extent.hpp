// SPDX-License-Identifier: Apache-2.0
// Shapes that differ along one dimension.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "yolk/internal/core/shape.hpp"

namespace yolk::hyper {

/// The shape with another extent along one of its dimensions.
[[nodiscard]] inline Shape with_extent(const Shape& shape, std::size_t dimension, std::uint64_t extent) {
    std::vector<std::uint64_t> extents(shape.extents().begin(), shape.extents().end());
    extents[dimension] = extent;
    return Shape(std::move(extents));
}

}  // namespace yolk::hyper
