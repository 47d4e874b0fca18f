// SPDX-License-Identifier: Apache-2.0
// Convolution and pooling: a gather of what is at each place of a window, and then a linear layer or a reduction.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "tracer.hpp"
#include "yolk/internal/hyper/traced_layers.hpp"

namespace yolk::hyper {
namespace {

/// Ids are fp32.
constexpr std::uint64_t kMostPlaces = std::uint64_t{1} << 24U;
constexpr std::int64_t kLargestNumber = std::numeric_limits<std::int32_t>::max();

/// A window along one dimension of an image.
struct Side {
    std::int64_t extent = 1;  ///< of the image with its padding
    std::int64_t size = 1, stride = 1, padding = 0, dilation = 1;
    [[nodiscard]] std::int64_t reach() const { return dilation * (size - 1) + 1; }
    [[nodiscard]] std::int64_t places() const { return (extent - reach()) / stride + 1; }
    [[nodiscard]] bool moves_nothing() const { return size == 1 && stride == 1; }
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

/// For each place of the window, and for each of its elements there, which of the image's it is.
Result<Tensor> ids_of(std::string_view operation, const std::vector<Side>& sides) {
    std::uint64_t image = 1, count = 1;
    for (const Side& side : sides) {
        image = std::min(kMostPlaces + 1, image * static_cast<std::uint64_t>(side.extent));
        count = std::min(kMostPlaces + 1, count * static_cast<std::uint64_t>(side.places()));
        count = std::min(kMostPlaces + 1, count * static_cast<std::uint64_t>(side.size));
    }
    if (image > kMostPlaces || count > kMostPlaces) {
        return bad_input(
            "{}: an image with its padding, and what its windows see, have at most {} elements of each "
            "channel; these have more.",
            operation, kMostPlaces);
    }
    std::vector<std::int64_t> places{0}, within{0};
    const auto extend = [](std::vector<std::int64_t>& all, std::int64_t extent, std::int64_t number,
                           std::int64_t step) {
        std::vector<std::int64_t> wider;
        for (const std::int64_t before : all) {
            for (std::int64_t i = 0; i < number; ++i) wider.push_back(before * extent + i * step);
        }
        all = std::move(wider);
    };
    for (const Side& side : sides) {
        extend(places, side.extent, side.places(), side.stride);
        extend(within, side.extent, side.size, side.dilation);
    }
    std::vector<float> ids;
    ids.reserve(count);
    for (const std::int64_t place : places) {
        for (const std::int64_t element : within) ids.push_back(static_cast<float>(place + element));
    }
    return Tensor::vector(std::move(ids));
}

struct Seen {
    Traced values;               ///< [..., places and elements of the window, channels]
    Shape places;                ///< [..., places]
    std::uint64_t elements = 1;  ///< of the window
    std::uint64_t channels = 0;
};

Result<Seen> seen_of(std::string_view operation, const Traced& x, const Window& window, double fill, const Line& line) {
    const Shape shape = x.shape();
    YOLK_TRY(const std::vector<Side> sides, sides_of(operation, window, shape));
    YOLK_TRY(Tensor ids, ids_of(operation, sides));
    const std::size_t lead = shape.rank() - 1 - sides.size();
    std::vector<std::uint64_t> flat(shape.extents().begin(),
                                    shape.extents().begin() + static_cast<std::ptrdiff_t>(lead));
    std::vector<std::uint64_t> places = flat;
    Integers around(shape.rank(), 0);
    std::uint64_t image = 1, elements = 1;
    for (std::size_t k = 0; k < sides.size(); ++k) {
        around[lead + k] = sides[k].padding;
        image *= static_cast<std::uint64_t>(sides[k].extent);
        elements *= static_cast<std::uint64_t>(sides[k].size);
        places.push_back(static_cast<std::uint64_t>(sides[k].places()));
    }
    flat.insert(flat.end(), {image, shape[shape.rank() - 1]});
    const bool is_padded = std::ranges::any_of(sides, [](const Side& side) { return side.padding != 0; });
    Traced values = reshape(is_padded ? pad(x, around, around, fill, line) : x, Shape(std::move(flat)), line);
    // A window of one element at each place sees the image as it is.
    if (!std::ranges::all_of(sides, &Side::moves_nothing))
        values = gather(values, std::move(ids), static_cast<std::int64_t>(lead), line);
    return Seen{std::move(values), Shape(std::move(places)), elements, shape[shape.rank() - 1]};
}

Shape with_last(const Shape& places, std::initializer_list<std::uint64_t> more) {
    std::vector<std::uint64_t> extents(places.extents().begin(), places.extents().end());
    extents.insert(extents.end(), more);
    return Shape(std::move(extents));
}

Traced refused(Error error, const Traced& x) { return refuse(std::move(error), std::span(&x, 1))[0]; }

/// [..., places, elements of the window, channels]
Result<Traced> pooled(std::string_view operation, const Traced& x, Window window, double fill, const Line& line) {
    if (window.stride.empty()) window.stride = window.size;
    YOLK_TRY(const Seen seen, seen_of(operation, x, window, fill, line));
    return reshape(seen.values, with_last(seen.places, {seen.elements, seen.channels}), line);
}

}  // namespace

Traced patches(const Traced& x, const Window& window, double fill, Line line) {
    Result<Seen> seen = seen_of("patches", x, window, fill, line);
    if (!seen) return refused(std::move(seen).error(), x);
    return reshape(seen->values, with_last(seen->places, {seen->elements * seen->channels}), line);
}

Traced convolution(const Traced& weight, const Traced& x, const Window& window, Line line) {
    return linear(weight, patches(x, window, 0.0, line), line);
}

Traced max_pool(const Traced& x, const Window& window, Line line) {
    constexpr double kLowest = std::numeric_limits<float>::lowest();
    const Result<Traced> elements = pooled("max_pool", x, window, kLowest, line);
    return elements ? max(*elements, -2, false, line) : refused(elements.error(), x);
}
Traced mean_pool(const Traced& x, const Window& window, Line line) {
    const Result<Traced> elements = pooled("mean_pool", x, window, 0.0, line);
    return elements ? mean(*elements, -2, false, line) : refused(elements.error(), x);
}

}  // namespace yolk::hyper
