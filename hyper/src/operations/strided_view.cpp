// SPDX-License-Identifier: Apache-2.0
#include "strided_view.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

#include "equations.hpp"

namespace yolk::hyper {
namespace {

std::uint64_t count_of(const StridedRuns& runs) {
    std::uint64_t count = 1;
    for (const StridedRun& run : runs) count *= run.extent;
    return count;
}

StridedRuns all_runs(const StridedView& view) {
    StridedRuns all;
    for (const StridedRuns& runs : view.dimensions) all.insert(all.end(), runs.begin(), runs.end());
    return all;
}

/// Takes the last `extent` elements' runs off; nothing where that cuts a run into parts that are no runs.
std::optional<StridedRuns> take_last(StridedRuns& runs, std::uint64_t extent) {
    StridedRuns taken;
    while (extent > 1) {
        if (runs.empty()) return {};
        StridedRun& last = runs.back();
        if (last.extent <= extent) {
            if (extent % last.extent != 0) return {};
            extent /= last.extent;
            taken.insert(taken.begin(), last);
            runs.pop_back();
            continue;
        }
        if (last.extent % extent != 0) return {};
        taken.insert(taken.begin(), {extent, last.stride});
        last = {last.extent / extent, last.stride * extent};
        extent = 1;
    }
    return taken;
}

/// The same elements in another shape of as many.
std::optional<StridedView> reshaped(std::uint64_t offset, const StridedRuns& all, const Shape& shape) {
    StridedView result{.offset = offset, .dimensions = std::vector<StridedRuns>(shape.rank())};
    StridedRuns left = joined(all);
    for (std::size_t k = shape.rank(); k-- > 0;) {
        auto taken = take_last(left, shape[k]);
        if (!taken) return {};
        result.dimensions[k] = *std::move(taken);
    }
    if (!left.empty()) return {};
    return result;
}

std::optional<StridedView> permuted(const Equation& equation, const StridedView& view) {
    const auto order = integers_attribute(equation, "order");
    if (!order || order->size() != view.dimensions.size()) return {};
    StridedView result{.offset = view.offset};
    for (const std::int64_t k : *order) result.dimensions.push_back(view.dimensions.at(static_cast<std::size_t>(k)));
    return result;
}

/// A part of a dimension: `extent` indices, from `start` on, `step` apart.
struct Cut {
    std::uint64_t start = 0, step = 1, extent = 1;
};
bool cut(StridedView& view, std::size_t dimension, const Cut& to) {
    StridedRuns& runs = view.dimensions[dimension];
    if (to.start == 0 && to.step == 1 && to.extent == count_of(runs)) return true;
    runs = joined(runs);
    if (runs.size() > 1) return false;
    const std::uint64_t stride = runs.empty() ? 1 : runs.front().stride;
    view.offset += to.start * stride;
    runs = {{to.extent, to.step * stride}};
    return true;
}

std::optional<StridedView> sliced(const Equation& equation, const StridedView& view, const Shape& shape) {
    const auto starts = integers_attribute(equation, "starts"), steps = integers_attribute(equation, "steps");
    if (!starts || !steps || starts->size() != view.dimensions.size() || steps->size() != view.dimensions.size())
        return {};
    StridedView result = view;
    for (std::size_t k = 0; k < view.dimensions.size(); ++k) {
        const Cut to{.start = static_cast<std::uint64_t>((*starts)[k]),
                     .step = static_cast<std::uint64_t>((*steps)[k]),
                     .extent = shape[k]};
        if (!cut(result, k, to)) return {};
    }
    return result;
}

std::optional<std::vector<StridedView>> parts(const Equation& equation, const StridedView& view,
                                              const std::vector<Shape>& results) {
    const auto along = integer_attribute(equation, "dimension");
    if (!along || *along < 0 || static_cast<std::size_t>(*along) >= view.dimensions.size()) return {};
    const auto dimension = static_cast<std::size_t>(*along);
    std::vector<StridedView> all;
    std::uint64_t start = 0;
    for (const Shape& shape : results) {
        if (!cut(all.emplace_back(view), dimension, {.start = start, .extent = shape[dimension]})) return {};
        start += shape[dimension];
    }
    return all;
}

}  // namespace

StridedView dense_view(const Shape& shape) {
    StridedView view;
    view.dimensions.resize(shape.rank());
    std::uint64_t stride = 1;
    for (std::size_t k = shape.rank(); k-- > 0; stride *= shape[k]) view.dimensions[k] = {{shape[k], stride}};
    return view;
}

StridedRuns joined(const StridedRuns& runs) {
    StridedRuns result;
    for (const StridedRun& inner : runs) {
        if (inner.extent == 1) continue;
        if (!result.empty() && result.back().stride == inner.stride * inner.extent) {
            result.back() = {result.back().extent * inner.extent, inner.stride};
        } else {
            result.push_back(inner);
        }
    }
    return result;
}

StridedView part_of(const Shape& whole, std::size_t dimension, std::uint64_t start, std::uint64_t extent) {
    StridedView view = dense_view(whole);
    StridedRun& run = view.dimensions[dimension].front();
    view.offset = start * run.stride;
    run.extent = extent;
    return view;
}

std::optional<std::vector<StridedView>> moved(const Equation& equation, const StridedView& view,
                                              const std::vector<Shape>& results) {
    const std::string_view name = equation.operation->name;
    if (name == "split") return parts(equation, view, results);
    std::optional<StridedView> one;
    if (name == "permute") one = permuted(equation, view);
    if (name == "slice") one = sliced(equation, view, results.front());
    if (name == "reshape") one = reshaped(view.offset, all_runs(view), results.front());
    if (!one) return {};
    return std::vector{*std::move(one)};
}

std::optional<StridedView> inverse(const StridedView& view, const Shape& tensor, const StridedView& in) {
    struct Both {
        StridedRun from;       // in the tensor
        std::uint64_t to = 1;  // the stride in the result
    };
    std::vector<Both> both;
    for (std::size_t k = 0; k < view.dimensions.size(); ++k) {
        std::uint64_t to = in.dimensions[k].front().stride;
        for (std::size_t r = view.dimensions[k].size(); r-- > 0;) {
            both.push_back({view.dimensions[k][r], to});
            to *= view.dimensions[k][r].extent;
        }
    }
    std::erase_if(both, [](const Both& one) { return one.from.extent == 1; });
    std::ranges::sort(both, std::greater<>(), [](const Both& one) { return one.from.stride; });
    StridedRuns from, result;
    for (const Both& one : both) {
        from.push_back(one.from);
        result.push_back({one.from.extent, one.to});
    }
    const StridedRuns whole = joined(from);
    const bool is_whole = whole.empty() || (whole.size() == 1 && whole.front().stride == 1);
    if (view.offset != 0 || !is_whole || tensor.element_count().value_or(0) != count_of(from)) return {};
    return reshaped(in.offset, result, tensor);
}

}  // namespace yolk::hyper
