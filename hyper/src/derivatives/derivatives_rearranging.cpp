// SPDX-License-Identifier: Apache-2.0
// Operations that move elements, and their ways back: slice and pad, concat and split, gather and scatter.
#include <algorithm>
#include <array>

#include "derivatives.hpp"

namespace yolk::hyper {
namespace {

using Counts = std::vector<std::int64_t>;

std::vector<Tangent> pull_reshape(Site& site, Tangents results, const std::vector<bool>&) {
    return {site.emit.reshape(*results[0], site.shape(0))};
}

std::vector<Tangent> pull_broadcast_to(Site& site, Tangents results, const std::vector<bool>&) {
    return {gathered_back(site.emit, *results[0], site.type(0))};
}

std::vector<Tangent> pull_permute(Site& site, Tangents results, const std::vector<bool>&) {
    const Counts order = site.integers("order");
    Counts back(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    return {site.emit.permute(*results[0], std::move(back))};
}

/// Along dimensions with steps the elements go to their places in zeros; along all others there are zeros around them.
std::vector<Tangent> pull_slice(Site& site, Tangents results, const std::vector<bool>&) {
    const Shape shape = site.shape(0);
    const Counts starts = site.integers("starts"), steps = site.integers("steps");
    if (site.emit.failed()) return std::vector<Tangent>(1);
    Atom back = *results[0];
    Shape now = site.result_type().shape;
    Counts before(shape.rank(), 0), after(shape.rank(), 0);
    for (std::size_t i = 0; i < shape.rank(); ++i) {
        if (steps[i] != 1) {
            std::vector<float> places(now[i]);
            for (std::size_t k = 0; k < places.size(); ++k)
                places[k] = static_cast<float>(starts[i] + static_cast<std::int64_t>(k) * steps[i]);
            const std::uint64_t extent = shape[i];
            now = with_extent_at(now, i, extent);
            back = site.emit("scatter_add", {Value(Tensor::filled(now, 0.0F)), Value(Tensor::vector(places)), back},
                             {{"dimension", static_cast<std::int64_t>(i)}});
            continue;
        }
        before[i] = starts[i];
        after[i] = static_cast<std::int64_t>(shape[i]) - starts[i] - static_cast<std::int64_t>(now[i]);
    }
    if (now == shape) return {back};
    return {site.emit("pad", {back}, {{"before", before}, {"after", after}, {"value", 0.0}})};
}

std::vector<Tangent> push_pad(Site& site, Tangents operands) {
    return {site.emit("pad", {*operands[0]},
                      {{"before", site.integers("before")}, {"after", site.integers("after")}, {"value", 0.0}})};
}
std::vector<Tangent> pull_pad(Site& site, Tangents results, const std::vector<bool>&) {
    const Shape shape = site.shape(0);
    const Counts starts = site.integers("before");
    Counts stops;
    for (std::size_t i = 0; i < std::min(starts.size(), shape.rank()); ++i)
        stops.push_back(starts[i] + static_cast<std::int64_t>(shape[i]));
    return {
        site.emit("slice", {*results[0]}, {{"starts", starts}, {"stops", stops}, {"steps", Counts(starts.size(), 1)}})};
}

std::vector<Tangent> pull_concat(Site& site, Tangents results, const std::vector<bool>&) {
    // Each text gets the feedback on the whole.
    if (site.type(0).kind == ValueKind::Text) return std::vector<Tangent>(site.operands.size(), results[0]);
    const std::size_t dimension = site.dimension();
    Counts sizes;
    for (std::size_t i = 0; i < site.operands.size(); ++i)
        sizes.push_back(static_cast<std::int64_t>(site.shape(i)[dimension]));
    Equation split{.operation = find_operation("split"),
                   .operands = {*results[0]},
                   .attributes = {{"dimension", static_cast<std::int64_t>(dimension)}, {"sizes", sizes}}};
    const std::vector<Atom> parts = site.emit.all(std::move(split), site.operands.size());
    return {parts.begin(), parts.end()};
}
std::vector<Tangent> pull_split(Site& site, Tangents results, const std::vector<bool>&) {
    std::vector<Atom> parts;
    for (std::size_t i = 0; i < results.size(); ++i)
        parts.push_back(or_zero(results[i], site.emit.type(site.results[i])));
    return {site.emit("concat", std::move(parts), {{"dimension", static_cast<std::int64_t>(site.dimension())}})};
}

Attributes along(const Site& site) { return {{"dimension", static_cast<std::int64_t>(site.dimension())}}; }

// Indices do not move: neither as operands of gather, nor where they come from.
std::vector<Tangent> push_gather(Site& site, Tangents operands) {
    if (!operands[0]) return std::vector<Tangent>(1);
    return {site.emit("gather", {*operands[0], site.operands[1]}, along(site))};
}
std::vector<Tangent> pull_gather(Site& site, Tangents results, const std::vector<bool>& wanted) {
    if (!wanted[0]) return std::vector<Tangent>(2);
    return {site.emit("scatter_add", {zero_of(site.type(0)), site.operands[1], *results[0]}, along(site)), Tangent()};
}

std::vector<Tangent> push_scatter(Site& site, Tangents operands) {
    if (!operands[0] && !operands[2]) return std::vector<Tangent>(1);
    return {site.emit(site.equation.operation->name,
                      {or_zero(operands[0], site.type(0)), site.operands[1], or_zero(operands[2], site.type(2))},
                      along(site))};
}
std::vector<Tangent> pull_scatter_add(Site& site, Tangents results, const std::vector<bool>& wanted) {
    std::vector<Tangent> moved(3);
    if (wanted[0]) moved[0] = *results[0];
    if (wanted[2]) moved[2] = site.emit("gather", {*results[0], site.operands[1]}, along(site));
    return moved;
}

/// 1 for the updates that stay, of equal ids the last: those that find their own number where they put it.
Atom stays(Site& site) {
    const Shape x = site.shape(0), shape = site.shape(2);
    const std::size_t count = site.shape(1).element_count().value_or(0);
    std::size_t inner = 1;
    for (auto d = static_cast<std::size_t>(site.dimension()) + 1; d < x.rank(); ++d) inner *= x[d];
    std::vector<float> numbers;
    for (std::size_t i = 0; i < shape.element_count().value_or(0); ++i)
        numbers.push_back(static_cast<float>(i / inner % count));
    const Atom own = Value(Tensor::create(shape, std::move(numbers)).value());
    const Atom last = site.emit("scatter", {zero_of(site.type(0)), site.operands[1], own}, along(site));
    return site.emit("equal_to", {site.emit("gather", {last, site.operands[1]}, along(site)), own});
}
std::vector<Tangent> pull_scatter(Site& site, Tangents results, const std::vector<bool>& wanted) {
    std::vector<Tangent> moved(3);
    if (wanted[0]) moved[0] = site.emit("scatter", {*results[0], site.operands[1], zero_of(site.type(2))}, along(site));
    if (wanted[2]) {
        const Atom found = site.emit("gather", {*results[0], site.operands[1]}, along(site));
        moved[2] = site.emit("where", {stays(site), found, zero_of(site.type(2))});
    }
    return moved;
}

std::vector<Tangent> push_embedding(Site& site, Tangents operands) {
    if (!operands[0]) return std::vector<Tangent>(1);
    return {site.emit("embedding", {*operands[0], site.operands[1]})};
}
std::vector<Tangent> pull_embedding(Site& site, Tangents results, const std::vector<bool>& wanted) {
    if (!wanted[0]) return std::vector<Tangent>(2);
    return {site.emit("scatter_add", {zero_of(site.type(0)), site.operands[1], *results[0]},
                      {{"dimension", std::int64_t{0}}}),
            Tangent()};
}

constexpr std::array kRearrangingDerivatives{
    Derivative{"reshape", push_same, pull_reshape},
    Derivative{"broadcast_to", push_same, pull_broadcast_to},
    Derivative{"permute", push_same, pull_permute},
    Derivative{"slice", push_same, pull_slice},
    Derivative{"pad", push_pad, pull_pad},
    Derivative{"concat", push_same, pull_concat},
    Derivative{"split", push_same, pull_split},
    Derivative{"gather", push_gather, pull_gather},
    Derivative{"scatter", push_scatter, pull_scatter},
    Derivative{"scatter_add", push_scatter, pull_scatter_add},
    Derivative{"embedding", push_embedding, pull_embedding},
};

}  // namespace

std::span<const Derivative> rearranging_derivatives() noexcept { return kRearrangingDerivatives; }

}  // namespace yolk::hyper
