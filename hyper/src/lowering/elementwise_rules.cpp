// SPDX-License-Identifier: Apache-2.0
// Rules of what works element by element.
#include <string>
#include <vector>

#include "lowering_rules.hpp"
#include "yolk/elementwise.hpp"
#include "yolk/where.hpp"

namespace yolk::hyper::population {
namespace {

Bind bind_elementwise(const ElementwiseDesc& desc) {
    return bind_operation(desc, [binary = is_binary(desc.operation)](std::span<const BufferView> views) {
        return ElementwiseViews{.first = views[0], .second = binary ? views[1] : BufferView{}, .out = views.back()};
    });
}

void emit_unary(Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    const VariableId out = equation.results[0];
    const RowsColumns size = rows_columns(emitter.type(out).shape);
    const BufferRef x = emitter.varying(operands[0]);
    emitter.step({x}, {emitter.result(out)}, 0,
                 bind_elementwise({.operation = named_like<ElementwiseOperation>(*equation.operation),
                                   .members = emitter.members(),
                                   .rows = emitter.examples(emitter.traits(out).per_example) * size.rows,
                                   .columns = size.columns}));
}

/// How the second operand lies against the first: the kernel's members, rows and columns are cut from [members,
/// examples, rows, columns] so that one of its layouts says it.
struct Second {
    BufferRef buffer;
    SecondOperand layout = SecondOperand::Full;
    std::uint32_t members = 0;
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
};

Second data_second(Emitter& emitter, const Operand& second, const Shape& shape, bool per_example) {
    const RowsColumns size = rows_columns(shape);
    const std::uint32_t examples = emitter.examples(per_example);
    const bool own = second.traits.per_example;
    const Shape row{size.columns};
    if (!own && is_repeated_whole(second.type.shape, row)) {
        return {emitter.constant(second, false, row), SecondOperand::Row, emitter.members(), examples * size.rows,
                size.columns};
    }
    const BufferRef buffer = emitter.constant(second, own, shape);
    if (own) return {buffer, SecondOperand::Shared, emitter.members(), examples * size.rows, size.columns};
    return {buffer, SecondOperand::Shared, emitter.members() * examples, size.rows, size.columns};
}

Second varying_second(Emitter& emitter, const Operand& second, const Shape& shape, bool per_example) {
    const RowsColumns size = rows_columns(shape);
    const std::uint32_t members = emitter.members();
    const std::uint32_t examples = emitter.examples(per_example);
    const bool every_example = second.traits.per_example == per_example;
    const auto given = static_cast<std::uint32_t>(element_count(second.type));
    const std::uint32_t elements = size.rows * size.columns;
    const bool repeats = is_repeated_whole(second.type.shape, shape);
    if (!repeats || (every_example && given == elements)) {
        const BufferRef buffer = repeats ? emitter.varying(second) : emitter.full(second, per_example, shape);
        return {buffer, SecondOperand::Full, members, examples * size.rows, size.columns};
    }
    const BufferRef buffer = emitter.varying(second);
    if (every_example) return {buffer, SecondOperand::MemberRows, members * examples, elements / given, given};
    return {buffer, SecondOperand::MemberRows, members, examples * (elements / given), given};
}

bool is_commutative(ElementwiseOperation operation) {
    using enum ElementwiseOperation;
    return operation == Add || operation == Multiply || operation == Maximum || operation == Minimum ||
           operation == EqualTo || operation == NotEqualTo;
}

/// Whether the kernel can read the operand as the first one, as it is.
bool is_first(Emitter& emitter, const Operand& operand, VariableId out) {
    return operand.traits.varies && operand.traits.per_example == emitter.traits(out).per_example &&
           element_count(operand.type) == element_count(emitter.type(out));
}

void emit_binary(Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    const VariableId out = equation.results[0];
    const auto operation = named_like<ElementwiseOperation>(*equation.operation);
    const bool swapped =
        is_commutative(operation) && !is_first(emitter, operands[0], out) && is_first(emitter, operands[1], out);
    const Operand& a = operands[swapped ? 1 : 0];
    const Operand& b = operands[swapped ? 0 : 1];
    const Shape& shape = emitter.type(out).shape;
    const bool per_example = emitter.traits(out).per_example;
    const BufferRef first = emitter.full(a, per_example, shape);
    const Second second =
        b.traits.varies ? varying_second(emitter, b, shape, per_example) : data_second(emitter, b, shape, per_example);
    emitter.step({first, second.buffer}, {emitter.result(out)}, 0,
                 bind_elementwise({.operation = operation,
                                   .members = second.members,
                                   .rows = second.rows,
                                   .columns = second.columns,
                                   .second = second.layout}));
}

/// An operand of [members, examples rows, columns], and how it lies.
struct Choice {
    BufferRef buffer;
    SecondOperand layout = SecondOperand::Full;
};

Choice choice(Emitter& emitter, const Operand& operand, const Shape& shape, bool per_example) {
    if (operand.traits.varies) return {emitter.full(operand, per_example, shape), SecondOperand::Full};
    const Shape row{rows_columns(shape).columns};
    if (!operand.traits.per_example && is_repeated_whole(operand.type.shape, row))
        return {emitter.constant(operand, false, row), SecondOperand::Row};
    return {emitter.constant(operand, per_example, shape), SecondOperand::Shared};
}

void emit_where(Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    const VariableId out = equation.results[0];
    const Shape& shape = emitter.type(out).shape;
    const bool per_example = emitter.traits(out).per_example;
    const RowsColumns size = rows_columns(shape);
    const Choice condition = choice(emitter, operands[0], shape, per_example);
    const Choice first = choice(emitter, operands[1], shape, per_example);
    const Choice second = choice(emitter, operands[2], shape, per_example);
    const WhereDesc desc{.members = emitter.members(),
                         .rows = emitter.examples(per_example) * size.rows,
                         .columns = size.columns,
                         .condition = condition.layout,
                         .first = first.layout,
                         .second = second.layout};
    emitter.step({condition.buffer, first.buffer, second.buffer}, {emitter.result(out)}, 0,
                 bind_operation(desc, [](std::span<const BufferView> views) {
                     return WhereViews{.condition = views[0], .first = views[1], .second = views[2], .out = views[3]};
                 }));
}

/// What has to be repeated by a kernel for it must be within the kernel's dimensions.
std::string refuses_repeated(const Equation& equation, std::span<const Operand> operands,
                             std::span<const Source> sources) {
    std::vector<Shape> shapes;
    for (const Operand& operand : operands) shapes.push_back(operand.type.shape);
    const Shape shape = broadcast_shape(shapes).value_or(Shape());
    for (const Operand& operand : operands) {
        if (!operand.traits.varies || is_repeated_whole(operand.type.shape, shape)) continue;
        if (const std::string reason = refuses_dimensions(broadcasting(operand.type.shape, shape)); !reason.empty())
            return reason;
    }
    return refuses_matrices(equation, operands, sources);
}

}  // namespace

const Rule kUnary{refuses_matrices, emit_unary};
const Rule kBinary{refuses_repeated, emit_binary};
const Rule kWhere{refuses_repeated, emit_where};

}  // namespace yolk::hyper::population
