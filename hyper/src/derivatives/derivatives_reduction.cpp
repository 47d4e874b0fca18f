// SPDX-License-Identifier: Apache-2.0
// Reductions and what is made of them. max and min follow the first of equal elements, as argmax does.
#include <array>
#include <numeric>

#include "derivatives.hpp"
#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper {
namespace {

/// The reduced dimension of a site, and its tensor with that dimension as 1.
struct Reduced {
    explicit Reduced(const Site& site)
        : shape(site.shape(0)), dimension(site.dimension()), kept(with_extent_at(shape, dimension, 1)) {}
    [[nodiscard]] std::uint64_t extent() const { return dimension < shape.rank() ? shape[dimension] : 1; }
    Shape shape;
    std::size_t dimension;
    Shape kept;
};

std::vector<Tangent> pull_sum(Site& site, Tangents results, const std::vector<bool>&) {
    const Reduced reduced(site);
    return {site.emit.broadcast_to(site.emit.reshape(*results[0], reduced.kept), reduced.shape)};
}

std::vector<Tangent> pull_mean(Site& site, Tangents results, const std::vector<bool>&) {
    const Reduced reduced(site);
    const Atom share = site.emit.multiply(*results[0], Value(1.0 / static_cast<double>(reduced.extent())));
    return {site.emit.broadcast_to(site.emit.reshape(share, reduced.kept), reduced.shape)};
}

/// 1 at the first largest (smallest) element along the dimension, 0 elsewhere.
template <bool kMaximum>
Atom winner(Site& site, const Reduced& reduced) {
    EquationWriter& emit = site.emit;
    const Attributes along{{"dimension", static_cast<std::int64_t>(reduced.dimension)}, {"keep", std::int64_t{1}}};
    const Atom index = emit("argmax", {kMaximum ? site.operands[0] : emit.negate(site.operands[0])}, along);
    std::vector<std::uint64_t> line(reduced.shape.rank(), 1);
    if (reduced.dimension < line.size()) line[reduced.dimension] = reduced.extent();
    const Tensor places = Tensor::create(Shape(std::move(line)),
                                         [&] {
                                             const Tensor count = counting(reduced.extent());
                                             return std::vector<float>(count.values().begin(), count.values().end());
                                         }())
                              .value_or(Tensor());
    return emit("equal_to", {Value(places), index});
}

template <bool kMaximum>
std::vector<Tangent> push_extreme(Site& site, Tangents operands) {
    const Reduced reduced(site);
    const Atom at = site.emit.multiply(winner<kMaximum>(site, reduced), *operands[0]);
    const Atom moved = site.emit.sum(at, reduced.dimension, site.integer("keep", 0) != 0);
    return {site.emit.reshape(moved, site.result_type().shape)};
}

template <bool kMaximum>
std::vector<Tangent> pull_extreme(Site& site, Tangents results, const std::vector<bool>&) {
    const Reduced reduced(site);
    const Atom wide = site.emit.reshape(*results[0], reduced.kept);
    return {site.emit.multiply(winner<kMaximum>(site, reduced), wide)};
}

/// The elements along a dimension in the opposite order.
Atom reversed(EquationWriter& emit, const Atom& x, const Reduced& reduced) {
    std::vector<float> ids(reduced.extent());
    std::iota(ids.rbegin(), ids.rend(), 0.0F);
    return emit("gather", {x, Value(Tensor::vector(std::move(ids)))},
                {{"dimension", static_cast<std::int64_t>(reduced.dimension)}});
}

std::vector<Tangent> pull_cumulative_sum(Site& site, Tangents results, const std::vector<bool>&) {
    const Reduced reduced(site);
    EquationWriter& emit = site.emit;
    const Atom back = emit("cumulative_sum", {reversed(emit, *results[0], reduced)},
                           {{"dimension", static_cast<std::int64_t>(reduced.dimension)}});
    return {reversed(emit, back, reduced)};
}

Atom mean_of_rows(EquationWriter& emit, const Atom& x, std::size_t dimension) {
    return emit("mean", {x}, {{"dimension", static_cast<std::int64_t>(dimension)}, {"keep", std::int64_t{1}}});
}

// The derivatives of these are symmetric matrices: one rule for both directions.

Atom through_softmax(Site& site, const Atom& t) {
    EquationWriter& emit = site.emit;
    const Atom& y = site.results[0];
    const Atom weighted = emit.sum(emit.multiply(y, t), site.dimension(), /*keep=*/true);
    return emit.multiply(emit.subtract(t, weighted), y);
}

Atom through_layer_norm(Site& site, const Atom& t) {
    // r (t - mean t - y mean(y t)), r = 1 / sqrt(variance + epsilon).
    EquationWriter& emit = site.emit;
    const std::size_t last = site.dimension();
    const Atom &x = site.operands[0], &y = site.results[0];
    const Atom centred = emit.subtract(x, mean_of_rows(emit, x, last));
    const Atom variance = mean_of_rows(emit, emit.multiply(centred, centred), last);
    const Atom r = emit("rsqrt", {emit.add(variance, Value(emit.take(real_attribute(site.equation, "epsilon"))))});
    const Atom along = emit.multiply(y, mean_of_rows(emit, emit.multiply(y, t), last));
    const Atom rest = emit.subtract(emit.subtract(t, mean_of_rows(emit, t, last)), along);
    return emit.multiply(rest, r);
}

Atom through_rms_norm(Site& site, const Atom& t) {
    // r (t - y mean(y t)), r = 1 / sqrt(mean x^2 + epsilon).
    EquationWriter& emit = site.emit;
    const std::size_t last = site.dimension();
    const Atom &x = site.operands[0], &y = site.results[0];
    const Atom square = mean_of_rows(emit, emit.multiply(x, x), last);
    const Atom r = emit("rsqrt", {emit.add(square, Value(emit.take(real_attribute(site.equation, "epsilon"))))});
    const Atom along = emit.multiply(y, mean_of_rows(emit, emit.multiply(y, t), last));
    return emit.multiply(emit.subtract(t, along), r);
}

template <Atom (*kThrough)(Site&, const Atom&)>
std::vector<Tangent> push_through(Site& site, Tangents operands) {
    return {kThrough(site, *operands[0])};
}
template <Atom (*kThrough)(Site&, const Atom&)>
std::vector<Tangent> pull_through(Site& site, Tangents results, const std::vector<bool>&) {
    return {kThrough(site, *results[0])};
}

std::vector<Tangent> push_log_softmax(Site& site, Tangents operands) {
    EquationWriter& emit = site.emit;
    const Atom shares = emit("exp", {site.results[0]});
    const Atom expected = emit.sum(emit.multiply(shares, *operands[0]), site.dimension(), /*keep=*/true);
    return {emit.subtract(*operands[0], expected)};
}
std::vector<Tangent> pull_log_softmax(Site& site, Tangents results, const std::vector<bool>&) {
    EquationWriter& emit = site.emit;
    const Atom shares = emit("exp", {site.results[0]});
    const Atom all = emit.sum(*results[0], site.dimension(), /*keep=*/true);
    return {emit.subtract(*results[0], emit.multiply(shares, all))};
}

constexpr std::array kReductionDerivatives{
    Derivative{"sum", push_same, pull_sum},
    Derivative{"mean", push_same, pull_mean},
    Derivative{"max", push_extreme<true>, pull_extreme<true>},
    Derivative{"min", push_extreme<false>, pull_extreme<false>},
    Derivative{"argmax", push_nothing, pull_nothing},
    Derivative{"cumulative_sum", push_same, pull_cumulative_sum},
    Derivative{"softmax", push_through<through_softmax>, pull_through<through_softmax>},
    Derivative{"log_softmax", push_log_softmax, pull_log_softmax},
    Derivative{"layer_norm", push_through<through_layer_norm>, pull_through<through_layer_norm>},
    Derivative{"rms_norm", push_through<through_rms_norm>, pull_through<through_rms_norm>},
};

}  // namespace

std::span<const Derivative> reduction_derivatives() noexcept { return kReductionDerivatives; }

}  // namespace yolk::hyper
