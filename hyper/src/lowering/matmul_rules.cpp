// SPDX-License-Identifier: Apache-2.0
// The rule of matmul: products of two tensors of matrices.
#include <array>
#include <string>
#include <vector>

#include "lowering_rules.hpp"
#include "yolk/matmul.hpp"

namespace yolk::hyper::population {
namespace {

/// [..., rows, columns] with the leading dimensions of `out`.
Shape with_leading_of(const Shape& out, const Shape& matrix) {
    std::vector<std::uint64_t> extents(out.extents().begin(), out.extents().end());
    for (std::size_t i = 1; i <= 2; ++i) extents[extents.size() - i] = matrix[matrix.rank() - i];
    return Shape(std::move(extents));
}

std::string refuses_matmul(const Equation& equation, std::span<const Operand> operands,
                           std::span<const Source> sources) {
    std::vector<Shape> leading;
    for (const Operand& operand : operands) {
        const auto extents = operand.type.shape.extents();
        leading.emplace_back(std::vector<std::uint64_t>(extents.begin(), extents.end() - 2));
    }
    std::vector<std::uint64_t> extents(2, 1);
    const Shape batch = broadcast_shape(leading).value_or(Shape());
    extents.insert(extents.begin(), batch.extents().begin(), batch.extents().end());
    for (const Operand& operand : operands) {
        const Shape wanted = with_leading_of(Shape(extents), operand.type.shape);
        if (!operand.traits.varies || is_repeated_whole(operand.type.shape, wanted)) continue;
        if (const std::string reason = refuses_dimensions(broadcasting(operand.type.shape, wanted)); !reason.empty())
            return reason;
    }
    return refuses_matrices(equation, operands.first(1), sources);
}

/// Whether there is one matrix for all members or for each of them, not more.
bool is_one(const Operand& operand) {
    const Shape& shape = operand.type.shape;
    return !operand.traits.per_example &&
           element_count(operand.type) == shape[shape.rank() - 2] * shape[shape.rank() - 1];
}

void emit_matmul(Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    const Operand& a = operands[0];
    const Operand& b = operands[1];
    if (is_drawn_matrix(b, emitter.sources())) return emit_product(emitter, equation, std::array{b, a}, true);
    const VariableId out = equation.results[0];
    const Shape& shape = emitter.type(out).shape;
    const bool per_example = emitter.traits(out).per_example;
    const Shape a_shape = with_leading_of(shape, a.type.shape);
    MatmulDesc desc{.m = static_cast<std::uint32_t>(shape[shape.rank() - 2]),
                    .n = static_cast<std::uint32_t>(shape[shape.rank() - 1]),
                    .k = static_cast<std::uint32_t>(a_shape[a_shape.rank() - 1]),
                    .determinism = emitter.determinism()};
    const auto matrices = static_cast<std::uint32_t>(emitter.examples(per_example) * element_count(emitter.type(out)) /
                                                     (std::uint64_t{desc.m} * desc.n));
    BufferRef first, second;
    if (is_one(b)) {  // a's matrices are one tall matrix
        desc.m *= matrices;
        first = a.traits.varies ? emitter.full(a, per_example, a_shape) : emitter.constant(a, per_example, a_shape);
        second = b.traits.varies ? emitter.varying(b) : emitter.constant(b, false, b.type.shape);
        (b.traits.varies ? desc.batch : desc.m) *= emitter.members();
        if (!a.traits.varies) desc.a.batch_stride = 0;
    } else {
        const bool shared = !a.traits.varies && is_one(a);
        desc.batch = emitter.members() * matrices;
        first = shared ? emitter.constant(a, false, a.type.shape) : emitter.full(a, per_example, a_shape);
        second = emitter.full(b, per_example, with_leading_of(shape, b.type.shape));
        if (shared) desc.a.batch_stride = 0;
    }
    emitter.step({first, second}, {emitter.result(out)}, 0, bind_operation(desc, [](std::span<const BufferView> views) {
                     return MatmulViews{.a = views[0], .b = views[1], .out = views[2]};
                 }));
}

}  // namespace

const Rule kMatmul{refuses_matmul, emit_matmul};

}  // namespace yolk::hyper::population
