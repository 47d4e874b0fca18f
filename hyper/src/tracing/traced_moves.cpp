// SPDX-License-Identifier: Apache-2.0
// What moves elements of traced tensors.
#include <algorithm>
#include <numeric>

#include "tracer.hpp"
#include "yolk/internal/hyper/traced_operations.hpp"

namespace yolk::hyper {
namespace {

/// Below 0 it counts from the end. What is out of range stays so: the operation refuses it.
std::int64_t counted(std::int64_t at, std::int64_t extent) { return at < 0 && at >= -extent ? at + extent : at; }

std::int64_t counted(std::int64_t dimension, const Shape& shape) {
    return counted(dimension, static_cast<std::int64_t>(shape.rank()));
}

Integers as_integers(std::span<const std::uint64_t> extents) { return {extents.begin(), extents.end()}; }

/// The extents without the dimension; of [n] comes [1].
Shape without(const Shape& shape, std::int64_t dimension) {
    std::vector<std::uint64_t> extents(shape.extents().begin(), shape.extents().end());
    if (extents.size() > 1 && dimension >= 0 && dimension < static_cast<std::int64_t>(extents.size()))
        extents.erase(extents.begin() + dimension);
    return Shape(std::move(extents));
}

}  // namespace

Traced reshape(const Traced& x, const Shape& shape, Line line) {
    return apply("reshape", {x}, {{"shape", as_integers(shape.extents())}}, line);
}
Traced permute(const Traced& x, const Integers& order, Line line) {
    Integers from_front;
    for (const std::int64_t dimension : order) from_front.push_back(counted(dimension, x.shape()));
    return apply("permute", {x}, {{"order", std::move(from_front)}}, line);
}
Traced transpose(const Traced& x, Line line) {
    Integers order(std::max<std::size_t>(x.shape().rank(), 2));  // of fewer dimensions it is refused
    std::iota(order.begin(), order.end(), 0);
    std::swap(order.back(), order[order.size() - 2]);
    return permute(x, order, line);
}
Traced broadcast_to(const Traced& x, const Shape& shape, Line line) {
    return apply("broadcast_to", {x}, {{"shape", as_integers(shape.extents())}}, line);
}

Traced slice(const Traced& x, const std::vector<Range>& ranges, Line line) {
    const Shape& shape = x.shape();
    Integers starts, stops, steps;
    for (std::size_t k = 0; k < std::max(ranges.size(), shape.rank()); ++k) {
        const std::int64_t extent = k < shape.rank() ? static_cast<std::int64_t>(shape[k]) : 0;
        const bool given = k < ranges.size();
        starts.push_back(given ? counted(ranges[k].start, extent) : 0);
        stops.push_back(given ? counted(ranges[k].stop.value_or(extent), extent) : extent);
        steps.push_back(given ? ranges[k].step : 1);
    }
    return apply("slice", {x},
                 {{"starts", std::move(starts)}, {"stops", std::move(stops)}, {"steps", std::move(steps)}}, line);
}
Traced slice(const Traced& x, std::int64_t dimension, Range range, Line line) {
    // A dimension out of range becomes a range too many, or none: both are refused.
    const std::int64_t at = counted(dimension, x.shape());
    const auto rank = static_cast<std::int64_t>(x.shape().rank());
    std::vector<Range> ranges(static_cast<std::size_t>(at >= 0 && at < rank ? at + 1 : rank + 1));
    ranges.back() = range;
    return slice(x, ranges, line);
}
Traced index(const Traced& x, std::int64_t at, std::int64_t dimension, Line line) {
    const std::int64_t along = counted(dimension, x.shape());
    const bool known = along >= 0 && along < static_cast<std::int64_t>(x.shape().rank());
    const auto extent = known ? static_cast<std::int64_t>(x.shape()[static_cast<std::size_t>(along)]) : 0;
    const std::int64_t start = counted(at, extent);
    const Traced one = slice(x, along, {.start = start, .stop = start + 1}, line);
    return reshape(one, without(one.shape(), along), line);
}
Traced pad(const Traced& x, const Integers& before, const Integers& after, double value, Line line) {
    return apply("pad", {x}, {{"before", before}, {"after", after}, {"value", value}}, line);
}

Traced concat(std::span<const Traced> parts, std::int64_t dimension, Line line) {
    // The shape of a part is asked for only where it is needed: it may wait for a host call.
    if (dimension < 0 && !parts.empty()) dimension = counted(dimension, parts[0].shape());
    return apply("concat", parts, {{"dimension", dimension}}, 1, line)[0];
}
Traced concat(std::initializer_list<Traced> parts, std::int64_t dimension, Line line) {
    return concat(std::span(parts.begin(), parts.size()), dimension, line);
}
Traced stack(std::span<const Traced> parts, std::int64_t dimension, Line line) {
    std::vector<Traced> rows;
    const std::size_t rank = parts.empty() ? 0 : parts[0].shape().rank();
    const std::int64_t along = counted(dimension, static_cast<std::int64_t>(rank) + 1);
    for (const Traced& part : parts) {
        std::vector<std::uint64_t> extents(part.shape().extents().begin(), part.shape().extents().end());
        if (along >= 0 && along <= static_cast<std::int64_t>(extents.size()))
            extents.insert(extents.begin() + along, 1);
        rows.push_back(reshape(part, Shape(std::move(extents)), line));
    }
    return concat(rows, along, line);
}
Traced stack(std::initializer_list<Traced> parts, std::int64_t dimension, Line line) {
    return stack(std::span(parts.begin(), parts.size()), dimension, line);
}
std::vector<Traced> split(const Traced& whole, std::span<const std::uint64_t> sizes, std::int64_t dimension,
                          Line line) {
    Attributes attributes{{"dimension", counted(dimension, whole.shape())}, {"sizes", as_integers(sizes)}};
    return apply("split", std::span(&whole, 1), std::move(attributes), sizes.size(), line);
}
std::vector<Traced> split(const Traced& whole, std::initializer_list<std::uint64_t> sizes, std::int64_t dimension,
                          Line line) {
    return split(whole, std::span(sizes.begin(), sizes.size()), dimension, line);
}

}  // namespace yolk::hyper
