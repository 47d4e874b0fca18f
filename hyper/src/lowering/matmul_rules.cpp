// SPDX-License-Identifier: Apache-2.0
// The rule of matmul: products of two tensors of matrices.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "lowering_rules.hpp"
#include "product_views.hpp"
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

/// Operands and result of a product, and how they lie.
struct PlacedProduct {
    MatmulDesc desc;
    BufferRef a, b;
};

/// Where the operand lies among another variable's elements. Null: it is made.
const VariableView* place_of(const Emitter& emitter, const ProductEquation& product, std::size_t operand) {
    const Operand& of = operand == 0 ? product.a : product.b;
    return of.variable == nullptr ? nullptr : emitter.read_in(*of.variable);
}
bool reads_in_place(const Emitter& emitter, const ProductEquation& product, std::size_t operand) {
    const VariableView* const view = place_of(emitter, product, operand);
    return view == nullptr || operand_layout(product, operand, *view);
}
bool read_in_place(Emitter& emitter, const ProductEquation& product, std::size_t operand, BufferRef& buffer,
                   MatrixLayout& layout) {
    const VariableView* const view = place_of(emitter, product, operand);
    if (view == nullptr) return false;
    buffer = emitter.made(view->in);
    layout = operand_layout(product, operand, *view).value();
    return true;
}

PlacedProduct placed_product(Emitter& emitter, const ProductEquation& product) {
    const Operand &a = product.a, &b = product.b;
    const Shape& shape = product.out;
    const Shape a_shape = with_leading_of(shape, a.type.shape);
    PlacedProduct placed{.desc = {.m = static_cast<std::uint32_t>(shape[shape.rank() - 2]),
                                  .n = static_cast<std::uint32_t>(shape[shape.rank() - 1]),
                                  .k = static_cast<std::uint32_t>(a_shape[a_shape.rank() - 1]),
                                  .determinism = emitter.determinism()},
                         .a = {},
                         .b = {}};
    MatmulDesc& desc = placed.desc;
    const auto leading = static_cast<std::uint32_t>(product.leading());
    const bool a_is_there = read_in_place(emitter, product, 0, placed.a, desc.a);
    const bool b_is_there = read_in_place(emitter, product, 1, placed.b, desc.b);
    if (product.is_tall()) {
        desc.m *= leading * product.examples;
        if (!a_is_there) {
            placed.a = a.traits.varies ? emitter.full(a, product.per_example, a_shape)
                                       : emitter.constant(a, product.per_example, a_shape);
        }
        if (!b_is_there) placed.b = b.traits.varies ? emitter.varying(b) : emitter.constant(b, false, b.type.shape);
        (b.traits.varies ? desc.batch : desc.m) *= emitter.members();
        if (!a.traits.varies) desc.a.batch_stride = 0;
        return placed;
    }
    desc.batch = emitter.members() * product.examples * leading;
    desc.inner_batch = static_cast<std::uint32_t>(product.inner);
    const bool shared =
        !a.traits.varies && !a.traits.per_example && element_count(a.type) == std::uint64_t{desc.m} * desc.k;
    if (shared) {
        placed.a = emitter.constant(a, false, a.type.shape);
        desc.a.batch_stride = desc.a.inner_stride = 0;
    } else if (!a_is_there) {
        placed.a = emitter.full(a, product.per_example, a_shape);
    }
    if (!b_is_there) placed.b = emitter.full(b, product.per_example, with_leading_of(shape, b.type.shape));
    return placed;
}

/// The transposed result, of the transposed operands: the same sums, term by term.
void turn(PlacedProduct& product) {
    MatmulDesc& desc = product.desc;
    std::swap(desc.m, desc.n);
    std::swap(desc.a, desc.b);
    std::swap(product.a, product.b);
    desc.a.transposed = !desc.a.transposed;
    desc.b.transposed = !desc.b.transposed;
    desc.out.transposed = false;
}

void emit_matmul(Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    const Operand& a = operands[0];
    const Operand& b = operands[1];
    const VariableId out = equation.results[0];
    if (is_drawn_matrix(b, emitter.sources())) return emit_product(emitter, {.result = out}, std::array{b, a}, true);
    const bool per_example = emitter.traits(out).per_example;
    const ProductEquation of_any{.a = a,
                                 .b = b,
                                 .out = emitter.type(out).shape,
                                 .per_example = per_example,
                                 .members = emitter.members(),
                                 .examples = emitter.examples(per_example)};
    const VariableView* const written = emitter.written_in(out);
    const ProductEquation product = of_any
                                        .with_inner([&](const ProductEquation& of) {
                                            return reads_in_place(emitter, of, 0) && reads_in_place(emitter, of, 1) &&
                                                   (written == nullptr || out_layout(of, *written));
                                        })
                                        .value();
    PlacedProduct placed = placed_product(emitter, product);
    if (written != nullptr) placed.desc.out = out_layout(product, *written).value();
    if (placed.desc.out.transposed) turn(placed);
    emitter.step({placed.a, placed.b}, {written == nullptr ? emitter.result(out) : emitter.shared_result(written->in)},
                 0, bind_operation(placed.desc, [](std::span<const BufferView> views) {
                     return MatmulViews{.a = views[0], .b = views[1], .out = views[2]};
                 }));
}

}  // namespace

const Rule kMatmul{refuses_matmul, emit_matmul};

}  // namespace yolk::hyper::population
