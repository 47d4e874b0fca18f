// SPDX-License-Identifier: Apache-2.0
// Operations that know dimensions: each counts one more in front.
#include <array>
#include <numeric>

#include "batching.hpp"

namespace yolk::hyper {
namespace {

using Whole = std::vector<std::int64_t>;

Atom first_stack(BatchSite& site) { return stacked(site.emit, site.size, site.operands[0]); }

std::vector<Batched> one_stack(BatchSite& site, Atom atom) { return {stacked_value(std::move(atom), site.results[0])}; }

Attributes along_next(const BatchSite& site) {
    return {{"dimension", static_cast<std::int64_t>(site.dimension()) + 1}};
}

std::vector<Batched> batch_reduction(BatchSite& site) {
    // Of one row comes [1]: in a batch that is the dimension that is kept.
    Attributes attributes = along_next(site);
    const bool keep = site.integer("keep", 0) != 0 || site.shape(0).rank() == 1;
    attributes.emplace_back("keep", std::int64_t{keep});
    return one_stack(site, site.emit(site.equation.operation->name, {first_stack(site)}, std::move(attributes)));
}

std::vector<Batched> batch_cumulative_sum(BatchSite& site) {
    return one_stack(site, site.emit("cumulative_sum", {first_stack(site)}, along_next(site)));
}

std::vector<Batched> batch_concat(BatchSite& site) {
    if (site.results[0].kind == ValueKind::Text) return repeated(site);
    std::vector<Atom> parts;
    for (const Batched& operand : site.operands) parts.push_back(stacked(site.emit, site.size, operand));
    return one_stack(site, site.emit("concat", std::move(parts), along_next(site)));
}

std::vector<Batched> batch_split(BatchSite& site) {
    Equation split = site.equation;
    split.operands = {first_stack(site)};
    split.attributes = along_next(site);
    split.attributes.emplace_back("sizes", site.integers("sizes"));
    const std::vector<Atom> parts = site.emit.all(std::move(split), site.results.size());
    std::vector<Batched> all;
    for (std::size_t i = 0; i < parts.size(); ++i) all.push_back(stacked_value(parts[i], site.results[i]));
    return all;
}

Whole with_front(std::int64_t first, Whole rest) {
    rest.insert(rest.begin(), first);
    return rest;
}

std::vector<Batched> batch_reshape(BatchSite& site) {
    return one_stack(site, site.emit.reshape(first_stack(site), prepended(site.size, site.results[0].shape)));
}

std::vector<Batched> batch_permute(BatchSite& site) {
    Whole order = site.integers("order");
    for (std::int64_t& dimension : order) ++dimension;
    return one_stack(site, site.emit.permute(first_stack(site), with_front(0, std::move(order))));
}

std::vector<Batched> batch_slice(BatchSite& site) {
    const auto size = static_cast<std::int64_t>(site.size);
    return one_stack(site, site.emit("slice", {first_stack(site)},
                                     {{"starts", with_front(0, site.integers("starts"))},
                                      {"stops", with_front(size, site.integers("stops"))},
                                      {"steps", with_front(1, site.integers("steps"))}}));
}

std::vector<Batched> batch_pad(BatchSite& site) {
    Attributes attributes{{"before", with_front(0, site.integers("before"))},
                          {"after", with_front(0, site.integers("after"))}};
    if (const Attribute* value = find_attribute(site.equation, "value")) attributes.emplace_back("value", *value);
    return one_stack(site, site.emit("pad", {first_stack(site)}, std::move(attributes)));
}

std::vector<Batched> batch_broadcast_to(BatchSite& site) {
    const Shape& shape = site.results[0].shape;
    const Atom x = aligned(site.emit, site.size, site.operands[0], shape.rank());
    return one_stack(site, site.emit.broadcast_to(x, prepended(site.size, shape)));
}

template <bool kTransposed>
std::vector<Batched> batch_linear(BatchSite& site) {
    EquationWriter& emit = site.emit;
    const Batched &weight = site.operands[0], &x = site.operands[1];
    if (site.is_shared(0)) {
        return one_stack(site, emit(site.equation.operation->name, {weight.atoms[0], x.atoms[0]}));
    }
    // [size, rows, columns] times [size, in, out].
    const Shape& shape = x.type.shape;
    const std::uint64_t columns = shape[shape.rank() - 1];
    const std::uint64_t rows =
        element_count_of(Shape(std::vector<std::uint64_t>(shape.extents().begin(), shape.extents().end() - 1)));
    const Atom lines = site.is_shared(1) ? emit.reshape(x.atoms[0], {rows, columns})
                                         : emit.reshape(x.atoms[0], {site.size, rows, columns});
    const Atom matrix = kTransposed ? weight.atoms[0] : emit.transposed(weight.atoms[0]);
    const Atom product = emit("matmul", {lines, matrix});
    return one_stack(site, emit.reshape(product, prepended(site.size, site.results[0].shape)));
}

constexpr std::array kTensorBatching{
    Batching{"sum", batch_reduction},
    Batching{"mean", batch_reduction},
    Batching{"max", batch_reduction},
    Batching{"min", batch_reduction},
    Batching{"argmax", batch_reduction},
    Batching{"cumulative_sum", batch_cumulative_sum},
    Batching{"concat", batch_concat},
    Batching{"split", batch_split},
    Batching{"reshape", batch_reshape},
    Batching{"permute", batch_permute},
    Batching{"slice", batch_slice},
    Batching{"pad", batch_pad},
    Batching{"broadcast_to", batch_broadcast_to},
    Batching{"linear", batch_linear<false>},
    Batching{"linear_transposed", batch_linear<true>},
};

}  // namespace

std::span<const Batching> tensor_batching() noexcept { return kTensorBatching; }

}  // namespace yolk::hyper
