// SPDX-License-Identifier: Apache-2.0
// Rules along the last dimension, and of what moves elements: concat, split, reshape.
#include <string_view>
#include <utility>

#include "population_lowering.hpp"
#include "yolk/primitives/concat.hpp"
#include "yolk/primitives/reduce.hpp"
#include "yolk/primitives/softmax.hpp"

namespace yolk::hyper::population {
namespace {

void emit_softmax(Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    const VariableId out = equation.results[0];
    const RowsColumns size = rows_columns(emitter.type(out).shape);
    const SoftmaxDesc desc{.members = emitter.members(),
                           .rows = emitter.examples(emitter.traits(out).per_example) * size.rows,
                           .columns = size.columns,
                           .logarithm = equation.operation->name == std::string_view("log_softmax")};
    const BufferRef x = emitter.varying(operands[0]);
    emitter.step({x}, {emitter.result(out)}, 0, bind_operation(desc, [](std::span<const BufferView> views) {
                     return SoftmaxViews{.in = views[0], .out = views[1]};
                 }));
}

void emit_reduce(Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    const VariableId out = equation.results[0];
    const RowsColumns size = rows_columns(operands[0].type.shape);
    const ReduceDesc desc{.operation = named_like<ReduceOperation>(*equation.operation),
                          .outer = emitter.members() * emitter.examples(emitter.traits(out).per_example) * size.rows,
                          .columns = size.columns};
    const BufferRef x = emitter.varying(operands[0]);
    emitter.step({x}, {emitter.result(out)}, 0, bind_operation(desc, [](std::span<const BufferView> views) {
                     return ReduceViews{.in = views[0], .out = views[1]};
                 }));
}

std::size_t row_dimension(const Equation& equation) {
    const Attribute* found = find_attribute(equation, "dimension");
    const auto* dimension = found == nullptr ? nullptr : std::get_if<std::int64_t>(found);
    return dimension == nullptr ? 0 : static_cast<std::size_t>(*dimension);
}

/// outer and inner of a whole whose parts lie along `dimension`; the parts are filled in by the callers.
ConcatDesc concat_desc(Emitter& emitter, const Shape& shape, std::size_t dimension, bool per_example) {
    ConcatDesc desc{.members = emitter.members(), .outer = emitter.examples(per_example)};
    for (std::size_t i = 0; i < dimension; ++i) desc.outer *= static_cast<std::uint32_t>(shape[i]);
    for (std::size_t i = dimension + 1; i < shape.rank(); ++i) desc.inner *= static_cast<std::uint32_t>(shape[i]);
    return desc;
}

void emit_concat(Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    const VariableId out = equation.results[0];
    const std::size_t dimension = row_dimension(equation);
    const bool per_example = emitter.traits(out).per_example;
    ConcatDesc desc = concat_desc(emitter, emitter.type(out).shape, dimension, per_example);
    std::vector<BufferRef> parts;
    for (const Operand& operand : operands) {
        const bool shared = !operand.traits.varies;
        desc.parts.push_back({.extent = static_cast<std::uint32_t>(operand.type.shape[dimension]), .shared = shared});
        parts.push_back(shared ? emitter.constant(operand, per_example, operand.type.shape)
                               : emitter.full(operand, per_example, operand.type.shape));
    }
    emitter.step(std::move(parts), {emitter.result(out)}, 0,
                 bind_operation(desc, [](std::span<const BufferView> views) {
                     return ConcatViews{.whole = views.back(), .parts = views.first(views.size() - 1)};
                 }));
}

void emit_split(Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    const std::size_t dimension = row_dimension(equation);
    ConcatDesc desc =
        concat_desc(emitter, operands[0].type.shape, dimension, emitter.traits(equation.results[0]).per_example);
    desc.split = true;
    const BufferRef whole = emitter.varying(operands[0]);
    std::vector<BufferRef> parts;
    for (const VariableId part : equation.results) {
        desc.parts.push_back({.extent = static_cast<std::uint32_t>(emitter.type(part).shape[dimension])});
        parts.push_back(emitter.result(part));
    }
    emitter.step({whole}, std::move(parts), 0, bind_operation(desc, [](std::span<const BufferView> views) {
                     return ConcatViews{.whole = views[0], .parts = views.subspan(1)};
                 }));
}

void emit_reshape(Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    emitter.alias(equation.results[0], emitter.varying(operands[0]));
}

}  // namespace

const Rule kSoftmax{refuses_matrices, emit_softmax};
const Rule kReduce{refuses_matrices, emit_reduce};
const Rule kArgmax{refuses_matrices, emit_reduce, false, true};
const Rule kConcat{refuses_matrices, emit_concat};
const Rule kSplit{refuses_matrices, emit_split};
const Rule kReshape{refuses_matrices, emit_reshape};

}  // namespace yolk::hyper::population
