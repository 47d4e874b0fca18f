// SPDX-License-Identifier: Apache-2.0
// Which element of a source goes where: the one description behind broadcast_to, permute, slice and pad, on the host
// and for the kernel `rearrange`.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/hyper/graph.hpp"
#include "yolk/result.hpp"

namespace yolk::hyper {

/// Along one dimension of the result, index i reads the source's index start + step i; step 0 repeats.
struct Rearranged {
    std::uint64_t extent = 1;  ///< of the result
    std::int64_t start = 0;
    std::int64_t step = 1;
    std::uint64_t source_extent = 1;
    std::uint64_t stride = 1;  ///< from index to index in the source
    friend bool operator==(const Rearranged&, const Rearranged&) = default;
};

/// `fill` is where an index is not below its source's extent.
struct Rearrangement {
    std::vector<Rearranged> dimensions{};  ///< outermost first
    float fill = 0.0F;
};

/// NumPy's rule: the shape that all of `shapes` are repeated to. Errors: extents that differ, none of them 1.
[[nodiscard]] Result<Shape> broadcast_shape(std::span<const Shape> shapes);
/// `from` can be repeated to `to`.
[[nodiscard]] Rearrangement broadcasting(const Shape& from, const Shape& to);
/// Whether repeating the elements of `from`, one whole after the other, fills `to`; `from` may begin with more 1s.
[[nodiscard]] bool is_repeated_whole(const Shape& from, const Shape& to);
/// Of an equation that is one: broadcast_to, permute, slice, pad. Errors: attributes that do not fit the source.
[[nodiscard]] Result<Rearrangement> rearrangement_of(const Equation& equation, const Shape& source);
[[nodiscard]] Shape shape_of(const Rearrangement& rearrangement);
/// The same with as few dimensions as say it.
[[nodiscard]] Rearrangement joined(const Rearrangement& rearrangement);

/// visit(index in the source, whether it is inside) for each element of the result, in order.
template <class Visit>
void for_each_source(const Rearrangement& rearrangement, Visit visit) {
    const std::vector<Rearranged>& dimensions = rearrangement.dimensions;
    std::uint64_t count = 1;
    for (const Rearranged& dimension : dimensions) count *= dimension.extent;
    std::vector<std::uint64_t> index(dimensions.size(), 0);
    for (std::uint64_t n = 0; n < count; ++n) {
        std::uint64_t from = 0;
        bool inside = true;
        for (std::size_t k = 0; k < dimensions.size(); ++k) {
            // Below 0 becomes a large number.
            const auto at = static_cast<std::uint64_t>(dimensions[k].start +
                                                       dimensions[k].step * static_cast<std::int64_t>(index[k]));
            inside = inside && at < dimensions[k].source_extent;
            from += at * dimensions[k].stride;
        }
        visit(from, inside);
        for (std::size_t k = dimensions.size(); k-- > 0 && ++index[k] == dimensions[k].extent;) index[k] = 0;
    }
}
[[nodiscard]] std::vector<float> rearranged(std::span<const float> source, const Rearrangement& rearrangement);
/// A tensor's values repeated to `to`.
[[nodiscard]] std::vector<float> repeated_to(std::span<const float> source, const Shape& from, const Shape& to);

}  // namespace yolk::hyper
