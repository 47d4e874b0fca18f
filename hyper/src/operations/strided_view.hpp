// SPDX-License-Identifier: Apache-2.0
// What moves elements, as strides: where the elements of a permuted, cut or reshaped tensor lie in the tensor that they
// come from, so that a kernel may read them there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/hyper/graph.hpp"

namespace yolk::hyper {

/// `extent` elements, each `stride` behind the one before it.
struct StridedRun {
    std::uint64_t extent = 1;
    std::uint64_t stride = 1;
    friend bool operator==(const StridedRun&, const StridedRun&) = default;
};
/// Runs of runs, outermost first.
using StridedRuns = std::vector<StridedRun>;

/// Where each element of a tensor is among those of another one: the offset, and along each dimension its runs.
struct StridedView {
    std::uint64_t offset = 0;
    std::vector<StridedRuns> dimensions{};
};

/// A tensor's own elements.
[[nodiscard]] StridedView dense_view(const Shape& shape);
/// The same places in the fewest runs, without runs of one element.
[[nodiscard]] StridedRuns joined(const StridedRuns& runs);
/// Where a part's elements lie in the concat's result. The part begins at `start` along the dimension.
[[nodiscard]] StridedView part_of(const Shape& whole, std::size_t dimension, std::uint64_t start, std::uint64_t extent);
/// What a permute, slice, reshape or split makes of a view, for each of its results. Nothing for other equations, and
/// where elements do not lie in runs then.
[[nodiscard]] std::optional<std::vector<StridedView>> moved(const Equation& equation, const StridedView& view,
                                                            const std::vector<Shape>& results);
/// The way back: where the tensor's elements lie if the elements of the view lie as `in` says, in one run along each
/// dimension. Nothing if the view does not have each element of the tensor once.
[[nodiscard]] std::optional<StridedView> inverse(const StridedView& view, const Shape& tensor, const StridedView& in);

}  // namespace yolk::hyper
