// SPDX-License-Identifier: Apache-2.0
// Operations that go by ids. Where each element has its own ids, all elements' rows become one table, and the ids of
// element i count from i times the rows of one.
#include <array>
#include <numeric>

#include "batching.hpp"

namespace yolk::hyper {
namespace {

using Order = std::vector<std::int64_t>;

constexpr std::uint64_t kWholeFloats = std::uint64_t{1} << 24U;  // ids are fp32

Order range(std::size_t first, std::size_t last) {
    Order order(last - first);
    std::iota(order.begin(), order.end(), static_cast<std::int64_t>(first));
    return order;
}

Order joined_orders(std::initializer_list<Order> parts) {
    Order all;
    for (const Order& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

Order inverse(const Order& order) {
    Order back(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
        back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    return back;
}

Attributes along_dimension(std::size_t dimension) { return {{"dimension", static_cast<std::int64_t>(dimension)}}; }

/// The shapes of an operation by ids along `dimension` of x.
struct Indexed {
    Indexed(const Shape& x, std::size_t along, std::size_t ids_rank) : shape(x), dimension(along), ids(ids_rank) {}

    /// [size] + x to [size, rows of the table] + the rest of x.
    [[nodiscard]] Order rows_first() const {
        return joined_orders({{0, static_cast<std::int64_t>(dimension) + 1},
                              range(1, dimension + 1),
                              range(dimension + 2, shape.rank() + 1)});
    }
    /// [size] + x[:d] + ids + x[d + 1:] to [size] + ids + x[:d] + x[d + 1:].
    [[nodiscard]] Order ids_first() const {
        return joined_orders({{0},
                              range(dimension + 1, dimension + 1 + ids),
                              range(1, dimension + 1),
                              range(dimension + 1 + ids, shape.rank() + ids)});
    }
    [[nodiscard]] std::uint64_t rows() const { return shape[dimension]; }
    [[nodiscard]] Shape rest() const { return without_dimension(shape, dimension); }

    Shape shape;
    std::size_t dimension;
    std::size_t ids;
};

/// One table of the rows of all elements: [size * rows] + rest.
Atom one_table(BatchSite& site, const Indexed& indexed, const Batched& x) {
    const Atom rows = site.emit.permute(stacked(site.emit, site.size, x), indexed.rows_first());
    return site.emit.reshape(rows, prepended(site.size * indexed.rows(), indexed.rest()));
}

/// Ids into that table. Taken from a list of all ids first: one that is out of range must not find a neighbour's row.
Atom ids_in_table(BatchSite& site, const Indexed& indexed, const Batched& ids) {
    EquationWriter& emit = site.emit;
    const Atom checked =
        emit("gather", {Value(counting(indexed.rows())), stacked(emit, site.size, ids)}, along_dimension(0));
    std::vector<std::uint64_t> extents(ids.type.shape.rank() + 1, 1);
    extents[0] = site.size;
    std::vector<float> offsets;
    for (std::uint64_t i = 0; i < site.size; ++i) offsets.push_back(static_cast<float>(i * indexed.rows()));
    const Tensor first = Tensor::create(Shape(std::move(extents)), std::move(offsets)).value_or(Tensor());
    return emit.add(checked, Value(first));
}

bool is_small(const BatchSite& site, const Indexed& indexed) { return site.size * indexed.rows() < kWholeFloats; }

std::vector<Batched> gathered(BatchSite& site, const Batched& x, const Batched& ids, std::size_t dimension) {
    EquationWriter& emit = site.emit;
    const Indexed indexed(x.type.shape, dimension, ids.type.shape.rank());
    if (ids.form == Form::Shared) {
        const Atom all = emit("gather", {x.atoms[0], ids.atoms[0]}, along_dimension(dimension + 1));
        return {stacked_value(all, site.results[0])};
    }
    if (x.form == Form::Shared) {
        const Atom all = emit("gather", {x.atoms[0], ids.atoms[0]}, along_dimension(dimension));
        const std::size_t rank = indexed.shape.rank() + indexed.ids;  // with the elements', without the dimension
        Order order =
            joined_orders({{static_cast<std::int64_t>(dimension)}, range(0, dimension), range(dimension + 1, rank)});
        return {stacked_value(dimension == 0 ? all : emit.permute(all, std::move(order)), site.results[0])};
    }
    if (!is_small(site, indexed)) return repeated(site);
    const Atom all =
        emit("gather", {one_table(site, indexed, x), ids_in_table(site, indexed, ids)}, along_dimension(0));
    return {stacked_value(emit.permute(all, inverse(indexed.ids_first())), site.results[0])};
}

std::vector<Batched> batch_gather(BatchSite& site) {
    return gathered(site, site.operands[0], site.operands[1], site.dimension());
}

std::vector<Batched> batch_embedding(BatchSite& site) {
    const Batched &table = site.operands[0], &ids = site.operands[1];
    if (table.form != Form::Shared) return gathered(site, table, ids, 0);
    const std::uint64_t count = site.size * ids.type.shape[0];
    const Atom rows = site.emit("embedding", {table.atoms[0], site.emit.reshape(ids.atoms[0], {count})});
    return {stacked_value(site.emit.reshape(rows, prepended(site.size, site.results[0].shape)), site.results[0])};
}

template <bool kAdds>
std::vector<Batched> batch_scatter(BatchSite& site) {
    constexpr const char* kName = kAdds ? "scatter_add" : "scatter";
    EquationWriter& emit = site.emit;
    const Batched &x = site.operands[0], &ids = site.operands[1], &updates = site.operands[2];
    const Indexed indexed(x.type.shape, site.dimension(), ids.type.shape.rank());
    const Atom more = stacked(emit, site.size, updates);
    if (ids.form == Form::Shared) {
        const Atom all =
            emit(kName, {stacked(emit, site.size, x), ids.atoms[0], more}, along_dimension(indexed.dimension + 1));
        return {stacked_value(all, site.results[0])};
    }
    if (!is_small(site, indexed)) return repeated(site);
    const Atom all = emit(
        kName, {one_table(site, indexed, x), ids_in_table(site, indexed, ids), emit.permute(more, indexed.ids_first())},
        along_dimension(0));
    const Atom apart = emit.reshape(all, prepended(site.size, prepended(indexed.rows(), indexed.rest())));
    return {stacked_value(emit.permute(apart, inverse(indexed.rows_first())), site.results[0])};
}

constexpr std::array kIndexedBatching{
    Batching{"gather", batch_gather},
    Batching{"embedding", batch_embedding},
    Batching{"scatter", batch_scatter<false>},
    Batching{"scatter_add", batch_scatter<true>},
};

}  // namespace

std::span<const Batching> indexed_batching() noexcept { return kIndexedBatching; }

}  // namespace yolk::hyper
