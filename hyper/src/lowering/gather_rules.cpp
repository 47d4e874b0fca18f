// SPDX-License-Identifier: Apache-2.0
// Rules of gather, scatter and scatter_add: rows by ids that are data, or that the device found with argmax.
#include <utility>

#include "lowering_rules.hpp"
#include "yolk/elementwise.hpp"
#include "yolk/gather.hpp"
#include "yolk/scatter.hpp"

namespace yolk::hyper::population {
namespace {

std::string refuses_gather(const Equation& equation, std::span<const Operand> operands,
                           std::span<const Source> sources) {
    const Shape& shape = operands[0].type.shape;
    if (std::string reason = refuses_ids(operands[1], shape[dimension_of(equation, shape).value_or(0)]);
        !reason.empty())
        return reason;
    return refuses_matrices(equation, operands, sources);
}

/// [a, b, c] to [b, a, c].
Rearrangement swapped(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    return {{{.extent = b, .source_extent = b, .stride = c},
             {.extent = a, .source_extent = a, .stride = b * c},
             {.extent = c, .source_extent = c}}};
}
/// [elements], all of it.
Rearrangement unmoved(std::uint64_t elements) { return {{{.extent = elements, .source_extent = elements}}}; }

/// What the kernels see of a gather or scatter: lists of ids, each into a table of `extent` rows of `columns`.
struct ByIds {
    std::uint32_t lists = 1;  ///< the kernel's members
    std::uint32_t extent = 0;
    std::uint32_t columns = 1;
    std::uint32_t count = 0;  ///< ids of a list
    bool shared_ids = false;  ///< one list for all tables
    BufferRef ids;
};

struct Places {
    bool per_example = false;
    Along size;               ///< of the tensor, around the dimension
    std::uint32_t count = 0;  ///< ids of one example
};
Places places_of(const Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    const Shape& shape = operands[0].type.shape;
    return {.per_example = emitter.traits(equation.results[0]).per_example,
            .size = along(shape, dimension_of(equation, shape).value_or(0)),
            .count = static_cast<std::uint32_t>(element_count(operands[1].type))};
}

/// Ids that all members share. The tables are [members, examples or 1, outer, extent, inner].
ByIds by_data(Emitter& emitter, const Operand& ids, const Places& at, bool own_tables) {
    const std::uint32_t tables = emitter.examples(own_tables) * at.size.outer;
    if (!ids.traits.per_example) {
        return {.lists = emitter.members() * tables,
                .extent = at.size.extent,
                .columns = at.size.inner,
                .count = at.count,
                .shared_ids = true,
                .ids = emitter.constant_words(ids, false)};
    }
    // One table of all examples' rows: their ids differ, and no list is a member's own.
    return {.lists = emitter.members(),
            .extent = tables * at.size.extent,
            .columns = at.size.inner,
            .count = emitter.examples(true) * at.size.outer * at.count,
            .shared_ids = true,
            .ids = emitter.constant_ids(ids,
                                        {.per_example = own_tables, .count = at.size.outer, .extent = at.size.extent})};
}

/// Ids of each member. The tables are [members, examples or 1, extent, outer inner], the ids for each of them.
ByIds by_found(Emitter& emitter, const Operand& ids, const Places& at) {
    BufferRef words = emitter.raw(ids);
    if (ids.traits.per_example != at.per_example)
        words = emitter.rearranged_copy(words, false, unmoved(at.count), at.per_example);
    return {.lists = emitter.members() * emitter.examples(at.per_example),
            .extent = at.size.extent,
            .columns = at.size.outer * at.size.inner,
            .count = at.count,
            .ids = words};
}

/// An operand [outer, extent, inner] of all members (and examples) as [extent, outer, inner].
BufferRef to_front(Emitter& emitter, const Operand& x, const Places& at, std::uint32_t extent) {
    const auto& [outer, own_extent, inner] = at.size;
    if (outer == 1) return emitter.full(x, at.per_example, x.type.shape);
    const bool direct = x.traits.varies;
    const BufferRef source = direct ? emitter.varying(x) : emitter.full(x, at.per_example, x.type.shape);
    return emitter.rearranged_copy(source, direct ? x.traits.per_example : at.per_example,
                                   swapped(outer, extent, inner), at.per_example);
}

/// The reverse, into the equation's result.
void from_front(Emitter& emitter, const Equation& equation, const BufferRef& moved, const Places& at,
                std::uint32_t extent) {
    emitter.rearrange(moved, at.per_example, swapped(extent, at.size.outer, at.size.inner), at.per_example,
                      emitter.result(equation.results[0]));
}

void gather_step(Emitter& emitter, const BufferRef& table, const ByIds& by, bool shared_table, const BufferRef& out) {
    const BufferRef status = emitter.temporary(kElementBytes);
    emitter.step({table, by.ids}, {out, status}, 0,
                 bind_gather({.members = by.lists,
                              .table_rows = by.extent,
                              .columns = by.columns,
                              .id_count = by.count,
                              .shared_table = shared_table,
                              .shared_ids = by.shared_ids}));
}

void emit_gather(Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    const Operand& x = operands[0];
    const Operand& ids = operands[1];
    const Places at = places_of(emitter, equation, operands);
    if (!ids.traits.varies) {
        const ByIds by = by_data(emitter, ids, at, x.traits.per_example);
        return gather_step(emitter, emitter.varying(x), by, false, emitter.result(equation.results[0]));
    }
    if (at.size.outer == 1 && !x.traits.per_example) {  // one table for all examples
        ByIds by = by_found(emitter, ids, at);
        by.lists = emitter.members();
        by.count *= emitter.examples(at.per_example);
        const BufferRef table = x.traits.varies ? emitter.varying(x) : emitter.constant(x, false, x.type.shape);
        return gather_step(emitter, table, by, !x.traits.varies, emitter.result(equation.results[0]));
    }
    const ByIds by = by_found(emitter, ids, at);
    const BufferRef table = to_front(emitter, x, at, at.size.extent);
    if (at.size.outer == 1) return gather_step(emitter, table, by, false, emitter.result(equation.results[0]));
    const BufferRef rows = emitter.temporary(kElementBytes * by.lists * by.count * std::uint64_t{by.columns});
    gather_step(emitter, table, by, false, rows);
    from_front(emitter, equation, rows, at, at.count);
}

/// A step that puts x, of the members and examples that have it, into `target` of all of them.
void copy_step(Emitter& emitter, const Operand& x, bool per_example, const BufferRef& target) {
    constexpr std::uint32_t kOfElements = 4, kOfExamples = 2, kOfMembers = 1;
    ElementwiseDesc desc = one_step(ElementwiseOperation::Copy, {emitter.members(), emitter.examples(per_example),
                                                                 static_cast<std::uint32_t>(element_count(x.type))});
    desc.inputs = {kOfElements | (x.traits.per_example ? kOfExamples : 0U) | (x.traits.varies ? kOfMembers : 0U)};
    const BufferRef from =
        x.traits.varies ? emitter.varying(x) : emitter.constant(x, x.traits.per_example, x.type.shape);
    emitter.step({from}, {target}, 0, bind_operation(desc, [](std::span<const BufferView> views) {
                     return ElementwiseViews{.inputs = views.first(1), .out = views[1]};
                 }));
}

/// The updates go into `target`, or are added to what it has.
void scatter_step(Emitter& emitter, const ByIds& by, ScatterMode mode, const BufferRef& updates,
                  const BufferRef& target) {
    const ScatterDesc desc{.members = by.lists,
                           .target_rows = by.extent,
                           .columns = by.columns,
                           .id_count = by.count,
                           .mode = mode,
                           .shared_ids = by.shared_ids};
    const BufferRef status = emitter.temporary(kElementBytes);
    emitter.step({by.ids, updates}, {target, status}, 0, bind_operation(desc, [](std::span<const BufferView> views) {
                     return ScatterViews{.target = views[2], .ids = views[0], .values = views[1], .status = views[3]};
                 }));
}

void emit_scatter(Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    const Operand& x = operands[0];
    const Operand& ids = operands[1];
    const Operand& updates = operands[2];
    const ScatterMode mode = equation.operation->name == "scatter" ? ScatterMode::Assign : ScatterMode::Add;
    const VariableId result = equation.results[0];
    const Places at = places_of(emitter, equation, operands);
    const bool plain = !ids.traits.varies || at.size.outer == 1;
    const ByIds by = ids.traits.varies ? by_found(emitter, ids, at) : by_data(emitter, ids, at, at.per_example);
    if (plain) {
        const BufferRef values = emitter.full(updates, at.per_example, updates.type.shape);
        const bool in_place = x.traits.varies && emitter.replaces(result, x.traits.source);
        const BufferRef target = in_place ? emitter.next_state(result) : emitter.result(result);
        if (!in_place) copy_step(emitter, x, at.per_example, target);
        return scatter_step(emitter, by, mode, values, target);
    }
    const BufferRef values = to_front(emitter, updates, at, at.count);
    const BufferRef target = to_front(emitter, x, at, at.size.extent);  // a copy: not plain, it has been moved
    scatter_step(emitter, by, mode, values, target);
    from_front(emitter, equation, target, at, at.size.extent);
}

}  // namespace

const Rule kGather{refuses_gather, emit_gather, true};
const Rule kScatter{refuses_gather, emit_scatter, true};

}  // namespace yolk::hyper::population
