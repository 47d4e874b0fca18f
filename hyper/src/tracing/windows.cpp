// SPDX-License-Identifier: Apache-2.0
// Convolution and pooling: a gather of what is at each place of a window, and then a linear layer or a reduction.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "tracer.hpp"
#include "yolk/internal/hyper/traced_layers.hpp"

namespace yolk::hyper {
namespace {

/// The most elements in one channel of an image, or of what its windows see: ids are fp32.
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 24U;
constexpr std::int64_t kLargestNumber = std::numeric_limits<std::int32_t>::max();

/// A window along one dimension of an image.
struct Side {
    std::int64_t extent = 1;  ///< of the image with its padding
    std::int64_t size = 1, stride = 1, padding = 0, dilation = 1;
    [[nodiscard]] std::int64_t reach() const { return dilation * (size - 1) + 1; }
    [[nodiscard]] std::int64_t places() const { return (extent - reach()) / stride + 1; }
};

Result<void> check_side(std::string_view operation, const Side& side, std::size_t dimension, const Shape& shape) {
    const auto refused = [&](std::string_view what, std::int64_t given, std::int64_t least, std::int64_t most) {
        return bad_input("{}: {} {} along dimension {} of the image of a tensor {}; it takes {} to {}.", operation,
                         what, given, dimension, shape.to_string(), least, most);
    };
    if (side.size < 1 || side.size > kLargestNumber) return refused("size", side.size, 1, kLargestNumber);
    if (side.stride < 1 || side.stride > kLargestNumber) return refused("stride", side.stride, 1, kLargestNumber);
    if (side.dilation < 1 || side.dilation > kLargestNumber)
        return refused("dilation", side.dilation, 1, kLargestNumber);
    if (side.padding < 0 || side.padding >= side.reach()) return refused("padding", side.padding, 0, side.reach() - 1);
    if (side.reach() <= side.extent) return {};
    return bad_input(
        "{}: a window that reaches over {} elements along dimension {} of the image of a tensor {}, which has {} with "
        "its padding; make the window smaller, or the padding larger.",
        operation, side.reach(), dimension, shape.to_string(), side.extent);
}

Result<std::vector<Side>> sides_of(std::string_view operation, const Window& window, const Shape& shape) {
    const std::size_t count = window.size.size();
    if (count == 0 || shape.rank() < count + 1) {
        return bad_input(
            "{}: a window of {} dimensions over a tensor {}; it takes [..., image, channels], with 1 or "
            "more dimensions of the image.",
            operation, count, shape.to_string());
    }
    for (const Integers* const list : {&window.stride, &window.padding, &window.dilation}) {
        if (!list->empty() && list->size() != count) {
            return bad_input("{}: [{}] for a window [{}]; it takes one number for each of its {} dimensions.",
                             operation, fmt::join(*list, ", "), fmt::join(window.size, ", "), count);
        }
    }
    const auto number = [](const Integers& list, std::size_t k, std::int64_t usual) {
        return list.empty() ? usual : list[k];
    };
    std::vector<Side> sides;
    for (std::size_t k = 0; k < count; ++k) {
        Side side{.extent = static_cast<std::int64_t>(shape[shape.rank() - 1 - count + k]),
                  .size = window.size[k],
                  .stride = number(window.stride, k, 1),
                  .padding = number(window.padding, k, 0),
                  .dilation = number(window.dilation, k, 1)};
        side.extent += 2 * std::clamp<std::int64_t>(side.padding, 0, kLargestNumber);
        YOLK_TRY_VOID(check_side(operation, side, k, shape));
        sides.push_back(side);
    }
    return sides;
}

/// An image laid out in one dimension, and which of its elements a window sees.
struct Seen {
    Traced image;                ///< [..., image with its padding, channels]
    std::int64_t dimension = 0;  ///< that of the image
    Shape places{};              ///< [..., places]
    std::uint64_t channels = 0;
    std::vector<std::int64_t> at_places{};  ///< for each place of the window where it begins
    std::vector<std::int64_t> within{};     ///< for each of its elements how far from there
    /// What all elements of the window from `first` to `first + count` are, place by place.
    [[nodiscard]] Traced elements(std::size_t first, std::size_t count, const Line& line) const {
        std::vector<float> ids;
        ids.reserve(at_places.size() * count);
        for (const std::int64_t place : at_places) {
            for (std::size_t i = first; i < first + count; ++i) ids.push_back(static_cast<float>(place + within[i]));
        }
        return gather(image, Tensor::vector(std::move(ids)), dimension, line);
    }
    /// Elements as [..., places, more].
    [[nodiscard]] Traced at_each_place(const Traced& values, std::initializer_list<std::uint64_t> more,
                                       const Line& line) const {
        std::vector<std::uint64_t> extents(places.extents().begin(), places.extents().end());
        extents.insert(extents.end(), more);
        return reshape(values, Shape(std::move(extents)), line);
    }
};

Result<void> check_elements(std::string_view operation, const std::vector<Side>& sides) {
    std::uint64_t image = 1, seen = 1;
    const auto grow = [](std::uint64_t& count, std::int64_t by) {
        count = std::min(kMostElements + 1, count * static_cast<std::uint64_t>(by));
    };
    for (const Side& side : sides) {
        grow(image, side.extent);
        grow(seen, side.places());
        grow(seen, side.size);
    }
    if (std::max(image, seen) <= kMostElements) return {};
    return bad_input(
        "{}: an image with its padding, and what its windows see, have at most {} elements of each channel; these have "
        "more.",
        operation, kMostElements);
}

/// Each of the numbers, in a dimension of this extent before another one, with `count` steps along that.
std::vector<std::int64_t> extended(const std::vector<std::int64_t>& numbers, const Side& side, std::int64_t count,
                                   std::int64_t step) {
    std::vector<std::int64_t> wider;
    for (const std::int64_t number : numbers) {
        for (std::int64_t i = 0; i < count; ++i) wider.push_back(number * side.extent + i * step);
    }
    return wider;
}

Result<Seen> seen_of(std::string_view operation, const Traced& x, const Window& window, double fill, const Line& line) {
    const Shape shape = x.shape();
    YOLK_TRY(const std::vector<Side> sides, sides_of(operation, window, shape));
    YOLK_TRY_VOID(check_elements(operation, sides));
    const std::size_t lead = shape.rank() - 1 - sides.size();
    Seen seen{.image = x,
              .dimension = static_cast<std::int64_t>(lead),
              .channels = shape[shape.rank() - 1],
              .at_places = {0},
              .within = {0}};
    std::vector<std::uint64_t> flat(shape.extents().begin(), shape.extents().begin() + seen.dimension);
    std::vector<std::uint64_t> places = flat;
    Integers around(shape.rank(), 0);
    std::uint64_t image = 1;
    for (std::size_t k = 0; k < sides.size(); ++k) {
        const Side& side = sides[k];
        around[lead + k] = side.padding;
        image *= static_cast<std::uint64_t>(side.extent);
        places.push_back(static_cast<std::uint64_t>(side.places()));
        seen.at_places = extended(seen.at_places, side, side.places(), side.stride);
        seen.within = extended(seen.within, side, side.size, side.dilation);
    }
    flat.insert(flat.end(), {image, seen.channels});
    const bool is_padded = std::ranges::any_of(sides, [](const Side& side) { return side.padding != 0; });
    seen.image = reshape(is_padded ? pad(x, around, around, fill, line) : x, Shape(std::move(flat)), line);
    seen.places = Shape(std::move(places));
    return seen;
}

Traced refused_window(Error error, const Traced& x) { return refuse(std::move(error), std::span(&x, 1))[0]; }

/// One element after the other by `join`; of large windows all at once by `reduce`, which is made for long rows
/// (docs/adr/0062-a-convolution-is-a-gather-and-a-layer.md).
template <class Join, class Reduce>
Traced pooled(std::string_view operation, const Traced& x, Window window, double fill, Join join, Reduce reduce,
              const Line& line) {
    constexpr std::size_t kFewElements = 16;
    if (window.stride.empty()) window.stride = window.size;
    Result<Seen> seen = seen_of(operation, x, window, fill, line);
    if (!seen) return refused_window(std::move(seen).error(), x);
    const std::size_t count = seen->within.size();
    if (count > kFewElements) {
        return reduce(seen->at_each_place(seen->elements(0, count, line), {count, seen->channels}, line));
    }
    Traced result = seen->elements(0, 1, line);
    for (std::size_t i = 1; i < count; ++i) result = join(result, seen->elements(i, 1, line));
    return seen->at_each_place(result, {seen->channels}, line);
}

}  // namespace

Traced patches(const Traced& x, const Window& window, double fill, Line line) {
    Result<Seen> seen = seen_of("patches", x, window, fill, line);
    if (!seen) return refused_window(std::move(seen).error(), x);
    const std::size_t count = seen->within.size();
    // A window of one element that goes everywhere sees the image as it is.
    const bool is_whole = count == 1 && seen->at_places.size() == seen->image.shape()[seen->image.shape().rank() - 2];
    const Traced values = is_whole ? seen->image : seen->elements(0, count, line);
    return seen->at_each_place(values, {count * seen->channels}, line);
}

Traced convolution(const Traced& weight, const Traced& x, const Window& window, Line line) {
    return linear(weight, patches(x, window, 0.0, line), line);
}

Traced max_pool(const Traced& x, const Window& window, Line line) {
    return pooled(
        "max_pool", x, window, std::numeric_limits<float>::lowest(),
        [&](const Traced& a, const Traced& b) { return maximum(a, b, line); },
        [&](const Traced& all) { return max(all, -2, false, line); }, line);
}
Traced mean_pool(const Traced& x, const Window& window, Line line) {
    double count = 1.0;
    for (const std::int64_t extent : window.size) count *= static_cast<double>(extent);
    const auto scaled = [&](const Traced& sum) { return sum * Located(1.0 / count, line); };
    return scaled(pooled(
        "mean_pool", x, window, 0.0, [&](const Traced& a, const Traced& b) { return a + Located(b, line); },
        [&](const Traced& all) { return sum(all, -2, false, line); }, line));
}

}  // namespace yolk::hyper
