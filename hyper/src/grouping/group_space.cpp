// SPDX-License-Identifier: Apache-2.0
#include "group_space.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "equations.hpp"
#include "lowering_rules.hpp"
#include "yolk/elementwise.hpp"

namespace yolk::hyper::population {
namespace {

/// Each product divides the next: elements have one place in dimensions between them.
bool is_chain(const std::set<std::uint64_t>& products) {
    std::uint64_t before = 1;
    for (const std::uint64_t product : products) {
        if (product % before != 0) return false;
        before = product;
    }
    return true;
}

const ValueType& result_type(const Graph& graph, const Equation& equation) {
    return graph.variables[equation.results[0].value].type;
}

}  // namespace

Part part_of(const Equation& equation) {
    const Rule* rule = equation.host ? nullptr : rule_of(equation.operation);
    if (rule == &kElementwise) return Part::Element;
    if (rule == &kReduce || rule == &kArgmax) return Part::Reduction;
    if (rule == &kSoftmax || rule == &kNormalize) return Part::Row;
    const bool repeats = rule == &kRearrange && equation.operation->name == std::string_view("broadcast_to");
    return rule == &kReshape || repeats ? Part::Renaming : Part::None;
}

std::optional<GroupSpace> GroupSpace::of(const PlacedExamples& examples, std::span<const std::size_t> equations) {
    const Graph& graph = examples.graph;
    const auto own_examples = [&](std::size_t i) {
        return examples.placed.variables[graph.equations[i].results[0].value].per_example ? examples.count : 1;
    };
    GroupSpace space;
    if (!space.find_rows(graph, equations)) return {};
    for (const std::size_t i : equations) {
        if (own_examples(i) != own_examples(equations.back())) return {};
        if (!space.add(result_type(graph, graph.equations[i]).shape)) return {};
    }
    if (!space.lay_out(own_examples(equations.back()))) return {};
    return space;
}

std::optional<GroupSpace::Rows> GroupSpace::rows_of(const Graph& graph, const Equation& equation) {
    const Part part = part_of(equation);
    if (part != Part::Reduction && part != Part::Row) return {};
    const ValueType& type = graph.variables[std::get<VariableId>(equation.operands[0]).value].type;
    const std::size_t last = type.shape.rank() == 0 ? 0 : type.shape.rank() - 1;
    const std::size_t dimension =
        part == Part::Row ? last : dimension_or_last(equation, type.shape).value_or(std::size_t{0});
    const Along size = along(type.shape, dimension);
    return Rows{.elements = element_count(type), .columns = size.extent, .inner = size.inner};
}

bool GroupSpace::find_rows(const Graph& graph, std::span<const std::size_t> equations) {
    for (const std::size_t i : equations) {
        const std::optional<Rows> rows = rows_of(graph, graph.equations[i]);
        if (!rows) continue;
        if (has_rows() && *rows != rows_) return false;
        rows_ = *rows;
        // Of rows of one element, a value for each row would look like an element.
        if (rows_.columns < 2) return false;
        const auto& id = std::get<VariableId>(graph.equations[i].operands[0]);
        if (!add(graph.variables[id.value].type.shape)) return false;
    }
    if (!has_rows()) rows_.elements = element_count(result_type(graph, graph.equations[equations.back()]));
    return true;
}

bool GroupSpace::is_of_rows(const Shape& shape) const {
    return has_rows() && shape.element_count().value_or(0) * rows_.columns == rows_.elements;
}

/// False where the shape has neither the elements of the space nor one for each row.
bool GroupSpace::add(const Shape& shape) {
    const bool of_rows = is_of_rows(shape);
    if (!of_rows && shape.element_count().value_or(0) != rows_.elements) return false;
    std::uint64_t product = 1;
    cuts_.insert(product);
    for (std::size_t d = shape.rank(); d-- > 0;) {
        product *= shape[d];
        cuts_.insert(of_rows && product > rows_.inner ? product * rows_.columns : product);
    }
    return true;
}

/// False where shapes are cut at places that have no common dimensions, or at too many.
bool GroupSpace::lay_out(std::uint32_t examples) {
    if (has_rows()) cuts_.insert({rows_.inner, rows_.end()});
    if (!is_chain(cuts_)) return false;
    std::ranges::copy_if(cuts_, std::back_inserter(products_), [&](std::uint64_t cut) {
        return !has_rows() || cut <= rows_.inner || cut >= rows_.end();  // a row is one dimension
    });
    extents_ = {1, examples};
    for (std::size_t p = products_.size(); p-- > 1;)
        extents_.push_back(static_cast<std::uint32_t>(products_[p] / products_[p - 1]));
    return extents_.size() <= kMostProgramDimensions;
}

/// Between a product and the one before it.
std::uint32_t GroupSpace::dimension(std::size_t product) const {
    return static_cast<std::uint32_t>(extents_.size() - product);
}

std::uint32_t GroupSpace::row() const {
    if (!has_rows()) return 0;
    const auto end = std::ranges::find(products_, rows_.end());
    return dimension(static_cast<std::size_t>(end - products_.begin()));
}

std::optional<std::uint32_t> GroupSpace::dimensions(const Shape& from, const Shape& to) const {
    const bool of_rows = is_of_rows(to);
    std::uint32_t bits = 0;
    std::uint64_t inner = 1, along_row = 1;
    for (std::size_t d = to.rank(); d-- > 0; inner *= to[d]) {
        const std::size_t behind = to.rank() - d;
        if (behind > from.rank() || from[from.rank() - behind] != to[d]) continue;
        const std::uint64_t end = inner * to[d];
        for (std::size_t p = 1; p < products_.size(); ++p) {
            if (has_rows() && dimension(p) == row()) continue;
            const std::uint64_t product =
                of_rows && products_[p] > rows_.inner ? products_[p] / rows_.columns : products_[p];
            if (product > inner && product <= end) bits |= 1U << dimension(p);
        }
        const std::uint64_t first = std::max(inner, rows_.inner), last = std::min(end, rows_.end());
        if (!of_rows && first < last) along_row *= last / first;
    }
    if (along_row == 1) return bits;
    return along_row == rows_.columns ? std::optional(bits | 1U << row()) : std::nullopt;
}

std::uint32_t GroupSpace::dimensions_of_rows() const {
    constexpr std::uint32_t kMembersAndExamples = 3;
    return ((1U << extents_.size()) - 1) & ~kMembersAndExamples & ~(1U << row());
}

}  // namespace yolk::hyper::population
