// SPDX-License-Identifier: Apache-2.0
// Rules of products with a matrix, and of rows of a table. A perturbed matrix goes to the kernels that regenerate its
// noise; any other to matmul, whose exact chain is theirs without a perturbation.
#include "lowering_rules.hpp"
#include "yolk/gather.hpp"
#include "yolk/matmul.hpp"
#include "yolk/perturbed_embedding.hpp"
#include "yolk/perturbed_linear.hpp"

namespace yolk::hyper::population {
namespace {

std::string refuses_linear(const Equation& equation, std::span<const Operand> operands,
                           std::span<const Source> sources) {
    if (!operands[0].traits.varies && operands[0].traits.per_example)
        return "each example has a matrix of its own, and no candidate changes it";
    return refuses_matrices(equation, operands.subspan(1), sources);
}

struct LinearSize {
    std::uint32_t in = 0;
    std::uint32_t out = 0;
    std::uint32_t rows = 0;
};

LinearSize linear_size(std::span<const Operand> operands) {
    const Shape& weight = operands[0].type.shape;
    return {.in = static_cast<std::uint32_t>(weight[1]),
            .out = static_cast<std::uint32_t>(weight[0]),
            .rows = rows_columns(operands[1].type.shape).rows};
}

void emit_perturbed(Emitter& emitter, const Fused& fused, std::span<const Operand> operands, const LinearSize& size,
                    bool transposed) {
    const Operand& x = operands[1];
    const std::uint32_t rows = emitter.examples(x.traits.per_example) * size.rows;
    const bool shared = !x.traits.varies;
    const BufferRef input = shared ? emitter.constant(x, x.traits.per_example, x.type.shape) : emitter.varying(x);
    const Source& weight = emitter.source(operands[0]);
    const PerturbedLinearDesc desc{.members = emitter.members(),
                                   .rows = rows,
                                   .in = size.in,
                                   .out = size.out,
                                   .rank = weight.rank,
                                   .parameter = weight.id,
                                   .shared_input = shared,
                                   .transposed = transposed,
                                   .antithetic = emitter.antithetic(),
                                   .activation = fused.activation,
                                   .determinism = emitter.determinism()};
    emitter.step({emitter.mean(operands[0]), input}, {emitter.result(*fused.result)}, perturbed_linear_scratch(desc),
                 bind_operation(desc, [](std::span<const BufferView> views) {
                     return PerturbedLinearViews{.weights = views[0], .input = views[1], .output = views[2]};
                 }));
}

/// Values of each candidate (or of each of its examples), or data for all.
void emit_given(Emitter& emitter, const Fused& fused, std::span<const Operand> operands, const LinearSize& size,
                bool transposed) {
    const Operand& weight = operands[0];
    const Operand& x = operands[1];
    const bool per_example = emitter.traits(*fused.result).per_example;
    const std::uint32_t examples = emitter.examples(per_example);
    MatmulDesc desc{.n = transposed ? size.in : size.out,
                    .k = transposed ? size.out : size.in,
                    .b = {.transposed = !transposed},
                    .activation = fused.activation,
                    .determinism = emitter.determinism()};
    BufferRef matrices;
    BufferRef input;
    if (!weight.traits.varies) {
        matrices = emitter.constant(weight, false, weight.type.shape);
        input = emitter.varying(x);
        desc.m = emitter.members() * examples * size.rows;
    } else if (!weight.traits.per_example) {
        matrices = emitter.varying(weight);
        input = x.traits.varies ? emitter.varying(x) : emitter.constant(x, x.traits.per_example, x.type.shape);
        desc.batch = emitter.members();
        desc.m = examples * size.rows;
        if (!x.traits.varies) desc.a.batch_stride = 0;
    } else {
        matrices = emitter.varying(weight);
        input = emitter.full(x, true, x.type.shape);
        desc.batch = emitter.members() * examples;
        desc.m = size.rows;
    }
    emitter.step({matrices, input}, {emitter.result(*fused.result)}, 0,
                 bind_operation(desc, [](std::span<const BufferView> views) {
                     return MatmulViews{.a = views[1], .b = views[0], .out = views[2]};
                 }));
}

void emit_linear(Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    emit_layer(emitter, equation, operands, {.result = equation.results[0]});
}

std::string refuses_embedding(const Equation&, std::span<const Operand> operands, std::span<const Source>) {
    if (operands[0].traits.source < 0 && operands[0].traits.varies) return "the table is computed";
    if (!operands[0].traits.varies && operands[0].traits.per_example) return "each example has a table of its own";
    return refuses_ids(operands[1], operands[0].type.shape[0]);
}

void emit_embedding(Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    const Operand& table = operands[0];
    const Operand& ids = operands[1];
    const Shape& shape = table.type.shape;
    const bool shared_ids = !ids.traits.varies;
    const auto rows = static_cast<std::uint32_t>(emitter.examples(ids.traits.per_example) * element_count(ids.type));
    const BufferRef which = shared_ids ? emitter.constant_words(ids, ids.traits.per_example) : emitter.raw(ids);
    const BufferRef status = emitter.temporary(kElementBytes);
    const auto table_rows = static_cast<std::uint32_t>(shape[0]);
    const auto columns = static_cast<std::uint32_t>(shape[1]);
    if (is_drawn_matrix(table, emitter.sources())) {
        const Source& source = emitter.source(table);
        const PerturbedEmbeddingDesc desc{.members = emitter.members(),
                                          .rows = rows,
                                          .table_rows = table_rows,
                                          .columns = columns,
                                          .rank = source.rank,
                                          .parameter = source.id,
                                          .shared_ids = shared_ids,
                                          .antithetic = emitter.antithetic()};
        emitter.step({emitter.mean(table), which}, {emitter.result(equation.results[0]), status}, 0,
                     bind_operation(desc, [](std::span<const BufferView> views) {
                         return PerturbedEmbeddingViews{
                             .weights = views[0], .ids = views[1], .output = views[2], .status = views[3]};
                     }));
        return;
    }
    const BufferRef values = emitter.table(table);
    emitter.step({values, which}, {emitter.result(equation.results[0]), status}, 0,
                 bind_gather({.members = emitter.members(),
                              .table_rows = table_rows,
                              .columns = columns,
                              .id_count = rows,
                              .shared_table = !table.traits.varies,
                              .shared_ids = shared_ids}));
}

}  // namespace

void emit_product(Emitter& emitter, const Fused& fused, std::span<const Operand> operands, bool transposed) {
    const auto emit = is_drawn_matrix(operands[0], emitter.sources()) ? &emit_perturbed : &emit_given;
    emit(emitter, fused, operands, linear_size(operands), transposed);
}

void emit_layer(Emitter& emitter, const Equation& equation, std::span<const Operand> operands, const Fused& fused) {
    emit_product(emitter, fused, operands, equation.operation->name == "linear_transposed");
}

const Rule kLinear{refuses_linear, emit_linear};
const Rule kLinearTransposed{refuses_linear, emit_linear};
const Rule kEmbedding{refuses_embedding, emit_embedding, true};

}  // namespace yolk::hyper::population
