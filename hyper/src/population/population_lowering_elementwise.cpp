// SPDX-License-Identifier: Apache-2.0
// Rules of what works element by element.
#include "population_lowering.hpp"
#include "yolk/primitives/elementwise.hpp"

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
    const BufferRef buffer = emitter.constant(second, own, shape);
    if (own) return {buffer, SecondOperand::Shared, emitter.members(), examples * size.rows, size.columns};
    return {buffer, SecondOperand::Shared, emitter.members() * examples, size.rows, size.columns};
}

Second varying_second(Emitter& emitter, const Operand& second, const Shape& shape, bool per_example) {
    const RowsColumns size = rows_columns(shape);
    const std::uint32_t members = emitter.members();
    const std::uint32_t examples = emitter.examples(per_example);
    const bool every_example = second.traits.per_example == per_example;
    const BufferRef buffer = emitter.varying(second);
    const std::uint64_t given = element_count(second.type);
    const std::uint32_t elements = size.rows * size.columns;
    const auto rows_of = [&](std::uint32_t columns) -> Second {
        if (every_example) return {buffer, SecondOperand::MemberRows, members * examples, elements / columns, columns};
        return {buffer, SecondOperand::MemberRows, members, examples * (elements / columns), columns};
    };
    if (given == elements) {
        if (every_example) return {buffer, SecondOperand::Full, members, examples * size.rows, size.columns};
        return rows_of(elements);
    }
    return rows_of(given == 1 ? 1 : size.columns);
}

void emit_binary(Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    const VariableId out = equation.results[0];
    const Shape& shape = emitter.type(out).shape;
    const bool per_example = emitter.traits(out).per_example;
    const BufferRef first = emitter.full(operands[0], per_example, shape);
    const Second second = operands[1].traits.varies ? varying_second(emitter, operands[1], shape, per_example)
                                                    : data_second(emitter, operands[1], shape, per_example);
    emitter.step({first, second.buffer}, {emitter.result(out)}, 0,
                 bind_elementwise({.operation = named_like<ElementwiseOperation>(*equation.operation),
                                   .members = second.members,
                                   .rows = second.rows,
                                   .columns = second.columns,
                                   .second = second.layout}));
}

}  // namespace

const Rule kUnary{refuses_matrices, emit_unary};
const Rule kBinary{refuses_matrices, emit_binary};

}  // namespace yolk::hyper::population
