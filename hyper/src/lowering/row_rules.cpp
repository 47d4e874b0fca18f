// SPDX-License-Identifier: Apache-2.0
// Rules along a dimension: sums and their like, softmax, normalization, concat, split.
#include <string_view>
#include <utility>

#include "lowering_rules.hpp"
#include "yolk/concat.hpp"
#include "yolk/cumulative_sum.hpp"
#include "yolk/normalize.hpp"
#include "yolk/reduce.hpp"
#include "yolk/softmax.hpp"

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

/// The kernel's outer, columns and inner: of all members and examples, around the equation's dimension.
Along along_in(const Emitter& emitter, const Equation& equation, const Shape& shape) {
    Along size = along(shape, dimension_or_last(equation, shape).value_or(0));
    size.outer *= emitter.members() * emitter.examples(emitter.traits(equation.results[0]).per_example);
    return size;
}

void emit_reduce(Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    const Along size = along_in(emitter, equation, operands[0].type.shape);
    const ReduceDesc desc{.operation = named_like<ReduceOperation>(*equation.operation),
                          .outer = size.outer,
                          .columns = size.extent,
                          .inner = size.inner};
    const BufferRef x = emitter.varying(operands[0]);
    emitter.step({x}, {emitter.result(equation.results[0])}, 0,
                 bind_operation(desc, [](std::span<const BufferView> views) {
                     return ReduceViews{.in = views[0], .out = views[1]};
                 }));
}

/// What the kernel needs for rows of many chunks.
std::uint64_t cumulative_scratch(const Along& size) {
    std::uint64_t bytes = 0;
    for (std::uint32_t columns = size.extent; columns > abi::cumulative_sum::kChunk;) {
        columns = ceil_div(columns, abi::cumulative_sum::kChunk);
        bytes += round_up(kElementBytes * size.outer * size.inner * columns, kViewAlignment);
    }
    return bytes;
}

void emit_cumulative_sum(Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    const Along size = along_in(emitter, equation, operands[0].type.shape);
    const CumulativeSumDesc desc{.outer = size.outer, .columns = size.extent, .inner = size.inner};
    const BufferRef x = emitter.varying(operands[0]);
    emitter.step({x}, {emitter.result(equation.results[0])}, cumulative_scratch(size),
                 bind_operation(desc, [](std::span<const BufferView> views) {
                     return CumulativeSumViews{.in = views[0], .out = views[1]};
                 }));
}

void emit_normalize(Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    const VariableId out = equation.results[0];
    const RowsColumns size = rows_columns(emitter.type(out).shape);
    const auto [rule, epsilon] = normalization_of(equation);
    const NormalizeDesc desc{.rule = rule,
                             .members = emitter.members(),
                             .rows = emitter.examples(emitter.traits(out).per_example) * size.rows,
                             .columns = size.columns,
                             .epsilon = epsilon};
    const BufferRef x = emitter.varying(operands[0]);
    emitter.step({x}, {emitter.result(out)}, 0, bind_operation(desc, [](std::span<const BufferView> views) {
                     return NormalizeViews{.in = views[0], .scale = {}, .bias = {}, .out = views[1]};
                 }));
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
    const std::size_t dimension = dimension_of(equation, emitter.type(out).shape).value_or(0);
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
    const std::size_t dimension = dimension_of(equation, operands[0].type.shape).value_or(0);
    ConcatDesc desc =
        concat_desc(emitter, operands[0].type.shape, dimension, emitter.traits(equation.results[0]).per_example);
    desc.split = true;
    const BufferRef whole = emitter.raw(operands[0]);
    std::vector<BufferRef> parts;
    for (const VariableId part : equation.results) {
        desc.parts.push_back({.extent = static_cast<std::uint32_t>(emitter.type(part).shape[dimension])});
        parts.push_back(emitter.result(part));
    }
    emitter.step({whole}, std::move(parts), 0, bind_operation(desc, [](std::span<const BufferView> views) {
                     return ConcatViews{.whole = views[0], .parts = views.subspan(1)};
                 }));
}

}  // namespace

Normalization normalization_of(const Equation& equation) {
    const bool is_layer = equation.operation->name == std::string_view("layer_norm");
    return {.rule = is_layer ? NormalizeRule::Layer : NormalizeRule::RootMeanSquare,
            .epsilon = static_cast<float>(real_attribute(equation, "epsilon").value_or(1e-5))};
}

const Rule kSoftmax{refuses_matrices, emit_softmax};
const Rule kReduce{refuses_matrices, emit_reduce};
const Rule kArgmax{refuses_matrices, emit_reduce, false, true};
const Rule kConcat{refuses_matrices, emit_concat};
const Rule kSplit{refuses_matrices, emit_split, true, false, true};
const Rule kCumulativeSum{refuses_matrices, emit_cumulative_sum};
const Rule kNormalize{refuses_matrices, emit_normalize};

}  // namespace yolk::hyper::population
