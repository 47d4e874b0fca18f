// SPDX-License-Identifier: Apache-2.0
// What a kernel is made of, and what it is given, for a program of elements.
#pragma once

#include "yolk/elementwise.hpp"
#include "yolk/internal/shaders/element_module.hpp"

namespace yolk {

/// Dimensions from `first` to `last`, both included.
struct DimensionRun {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    auto operator<=>(const DimensionRun&) const = default;
};

struct ElementLayout {
    std::vector<std::uint64_t> extents;  ///< of dimensions that no input tells apart, multiplied
    std::vector<DimensionRun> runs;      ///< in extents
    ElementCode code;
};
/// Of a description that has been checked, but perhaps for the number of its runs.
[[nodiscard]] ElementLayout element_layout(const ElementwiseDesc& desc);
[[nodiscard]] abi::elementwise::Params element_params(const ElementLayout& layout, std::span<const float> numbers,
                                                      std::uint32_t loads);

}  // namespace yolk
