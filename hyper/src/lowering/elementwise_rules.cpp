// SPDX-License-Identifier: Apache-2.0
// Rules of what works element by element.
#include <string>
#include <utility>
#include <vector>

#include "lowering_rules.hpp"
#include "yolk/elementwise.hpp"

namespace yolk::hyper::population {
namespace {

/// What is in no group (equation_groups.hpp): words, and operands that lie in too many ways. What varies is repeated to
/// the result's shape before.
void emit_elementwise(Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    constexpr std::uint32_t kOfElements = 4, kOfExamples = 2;
    const VariableId out = equation.results[0];
    const Shape& shape = emitter.type(out).shape;
    const bool per_example = emitter.traits(out).per_example;
    const auto elements = static_cast<std::uint32_t>(element_count(emitter.type(out)));
    ElementwiseDesc desc = one_step(named_like<ElementwiseOperation>(*equation.operation),
                                    {emitter.members(), emitter.examples(per_example), elements});
    std::vector<BufferRef> reads;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const bool own = operands[i].traits.per_example;
        if (operands[i].traits.varies) {
            reads.push_back(emitter.full(operands[i], per_example, shape));
        } else {
            desc.inputs[i] = kOfElements | (own ? kOfExamples : 0U);
            reads.push_back(emitter.constant(operands[i], own, shape));
        }
    }
    emitter.step(std::move(reads), {emitter.result(out)}, 0,
                 bind_operation(desc, [](std::span<const BufferView> views) {
                     return ElementwiseViews{.inputs = views.first(views.size() - 1), .out = views.back()};
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

const Rule kElementwise{refuses_repeated, emit_elementwise};

}  // namespace yolk::hyper::population
