// SPDX-License-Identifier: Apache-2.0
#include "rearrangement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "equations.hpp"

namespace yolk::hyper {
namespace {

/// Every element in its place.
std::vector<Rearranged> as_it_is(const Shape& shape) {
    std::vector<Rearranged> dimensions(shape.rank());
    std::uint64_t stride = 1;
    for (std::size_t k = shape.rank(); k-- > 0;) {
        dimensions[k] = {.extent = shape[k], .source_extent = shape[k], .stride = stride};
        stride *= shape[k];
    }
    return dimensions;
}

Result<std::vector<std::int64_t>> list_of(const Equation& equation, const Shape& source, std::string_view name) {
    YOLK_TRY(std::vector<std::int64_t> list, integers_attribute(equation, name));
    if (list.size() == source.rank()) return list;
    return bad_input("{}: {} [{}] of a tensor {}; it takes one for each of its {} dimensions.",
                     equation.operation->name, name, fmt::join(list, ", "), source.to_string(), source.rank());
}

Result<Rearrangement> permutation(const Equation& equation, const Shape& source) {
    YOLK_TRY(const std::vector<std::int64_t> order, list_of(equation, source, "order"));
    std::vector<std::int64_t> sorted = order;
    std::ranges::sort(sorted);
    std::vector<std::int64_t> each(source.rank());
    std::iota(each.begin(), each.end(), 0);
    if (sorted != each) {
        return bad_input("permute: order [{}] of a tensor {}; it takes each of 0 to {} once.", fmt::join(order, ", "),
                         source.to_string(), source.rank() - 1);
    }
    const std::vector<Rearranged> from = as_it_is(source);
    Rearrangement result;
    for (const std::int64_t k : order) result.dimensions.push_back(from[static_cast<std::size_t>(k)]);
    return result;
}

Result<Rearrangement> cut(const Equation& equation, const Shape& source) {
    YOLK_TRY(const std::vector<std::int64_t> starts, list_of(equation, source, "starts"));
    YOLK_TRY(const std::vector<std::int64_t> stops, list_of(equation, source, "stops"));
    YOLK_TRY(const std::vector<std::int64_t> steps, list_of(equation, source, "steps"));
    Rearrangement result{as_it_is(source)};
    for (std::size_t k = 0; k < source.rank(); ++k) {
        const auto extent = static_cast<std::int64_t>(source[k]);
        if (starts[k] < 0 || starts[k] > stops[k] || stops[k] > extent || steps[k] < 1) {
            return bad_input(
                "slice: from {} to {} by {} along dimension {} of a tensor {}; it takes 0 <= start <= stop <= {} and "
                "a step of at least 1.",
                starts[k], stops[k], steps[k], k, source.to_string(), extent);
        }
        result.dimensions[k].start = starts[k];
        result.dimensions[k].step = steps[k];
        result.dimensions[k].extent = static_cast<std::uint64_t>(ceil_div(stops[k] - starts[k], steps[k]));
    }
    return result;
}

Result<Rearrangement> padding(const Equation& equation, const Shape& source) {
    YOLK_TRY(const std::vector<std::int64_t> before, list_of(equation, source, "before"));
    YOLK_TRY(const std::vector<std::int64_t> after, list_of(equation, source, "after"));
    YOLK_TRY(const double value, real_attribute(equation, "value"));
    Rearrangement result{as_it_is(source), static_cast<float>(value)};
    constexpr std::int64_t kMost = std::int64_t{1} << 31U;
    for (std::size_t k = 0; k < source.rank(); ++k) {
        if (before[k] < 0 || after[k] < 0 || before[k] >= kMost || after[k] >= kMost) {
            return bad_input("pad: {} before and {} after dimension {} of a tensor {}; it takes 0 to 2^31 - 1.",
                             before[k], after[k], k, source.to_string());
        }
        result.dimensions[k].start = -before[k];
        result.dimensions[k].extent += static_cast<std::uint64_t>(before[k] + after[k]);
    }
    return result;
}

Result<Rearrangement> repetition(const Equation& equation, const Shape& source) {
    YOLK_TRY(std::vector<std::uint64_t> extents, extents_attribute(equation, "shape"));
    const Shape to(std::move(extents));
    const auto shape = broadcast_shape(std::vector{source, to});
    if (!shape || *shape != to) {
        return bad_input(
            "broadcast_to: a tensor {} to {}; compared from the last dimension on, its extents must be those or 1.",
            source.to_string(), to.to_string());
    }
    return broadcasting(source, to);
}

/// Two neighbours as one, where the inner one takes all of its source's in order, or both repeat.
bool join(Rearranged& outer, const Rearranged& inner) {
    if (outer.step == 0 && inner.step == 0 && outer.start == 0 && inner.start == 0) {
        outer.extent *= inner.extent;
        return true;
    }
    const bool whole = inner.start == 0 && inner.step == 1 && inner.source_extent == inner.extent;
    if (!whole || outer.step != 1 || outer.stride != inner.stride * inner.extent) return false;
    outer.start *= static_cast<std::int64_t>(inner.extent);
    outer.extent *= inner.extent;
    outer.source_extent *= inner.extent;
    outer.stride = inner.stride;
    return true;
}

}  // namespace

Result<Shape> broadcast_shape(std::span<const Shape> shapes) {
    std::size_t rank = 0;
    for (const Shape& shape : shapes) rank = std::max(rank, shape.rank());
    std::vector<std::uint64_t> extents(rank, 1);
    for (const Shape& shape : shapes) {
        for (std::size_t i = 0; i < shape.rank(); ++i) {
            std::uint64_t& extent = extents[rank - shape.rank() + i];
            if (shape[i] == 1 || shape[i] == extent) continue;
            if (extent != 1) {
                return bad_input("extents {} and {} along dimension {} of the result", extent, shape[i],
                                 rank - shape.rank() + i);
            }
            extent = shape[i];
        }
    }
    return Shape(std::move(extents));
}

Rearrangement broadcasting(const Shape& from, const Shape& to) {
    const std::vector<Rearranged> own = as_it_is(from);
    Rearrangement result;
    const std::size_t added = to.rank() - from.rank();
    for (std::size_t k = 0; k < to.rank(); ++k) {
        const bool repeats = k < added || (own[k - added].extent == 1 && to[k] != 1);
        result.dimensions.push_back(repeats ? Rearranged{.extent = to[k], .step = 0} : own[k - added]);
    }
    return result;
}

bool is_repeated_whole(const Shape& from, const Shape& to) {
    std::span<const std::uint64_t> kept = from.extents();
    while (!kept.empty() && kept.front() == 1) kept = kept.subspan(1);
    return kept.size() <= to.rank() && std::ranges::equal(kept, to.extents().last(kept.size()));
}

Result<Rearrangement> rearrangement_of(const Equation& equation, const Shape& source) {
    const std::string_view name = equation.operation->name;
    if (name == "permute") return permutation(equation, source);
    if (name == "slice") return cut(equation, source);
    if (name == "pad") return padding(equation, source);
    return repetition(equation, source);
}

Shape shape_of(const Rearrangement& rearrangement) {
    std::vector<std::uint64_t> extents;
    for (const Rearranged& dimension : rearrangement.dimensions) extents.push_back(dimension.extent);
    return Shape(std::move(extents));
}

Rearrangement joined(const Rearrangement& rearrangement) {
    Rearrangement result;
    result.fill = rearrangement.fill;
    for (const Rearranged& dimension : rearrangement.dimensions) {
        const bool idle = dimension.extent == 1 && dimension.start == 0 && dimension.source_extent > 0;
        if (idle || (!result.dimensions.empty() && join(result.dimensions.back(), dimension))) continue;
        result.dimensions.push_back(dimension);
    }
    return result;
}

std::vector<float> rearranged(std::span<const float> source, const Rearrangement& rearrangement) {
    std::vector<float> out(shape_of(rearrangement).element_count().value_or(0));
    if (rearrangement.dimensions.empty()) {
        out.front() = source.front();
        return out;
    }
    Rearrangement outer = rearrangement;
    const Rearranged inner = outer.dimensions.back();  // in a loop of its own, which is most of the time
    outer.dimensions.pop_back();
    auto to = out.begin();
    for_each_source(outer, [&](std::uint64_t from, bool inside) {
        for (std::uint64_t i = 0; i < inner.extent; ++i, ++to) {
            const auto at = static_cast<std::uint64_t>(inner.start + inner.step * static_cast<std::int64_t>(i));
            *to = inside && at < inner.source_extent ? source[from + at * inner.stride] : rearrangement.fill;
        }
    });
    return out;
}

std::vector<float> repeated_to(std::span<const float> source, const Shape& from, const Shape& to) {
    if (from == to) return {source.begin(), source.end()};
    if (is_repeated_whole(from, to)) {
        std::vector<float> out(to.element_count().value_or(0));
        for (auto at = out.begin(); at != out.end(); at = std::ranges::copy(source, at).out) continue;
        return out;
    }
    return rearranged(source, joined(broadcasting(from, to)));
}

}  // namespace yolk::hyper
