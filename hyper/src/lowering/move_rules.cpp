// SPDX-License-Identifier: Apache-2.0
// Rules of what moves elements to other places: reshape, permute, slice, pad, broadcast_to; and the kernels for it.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "lowering_rules.hpp"
#include "yolk/rearrange.hpp"

namespace yolk::hyper::population {
namespace {

bool takes_all(const Rearranged& dimension) {
    return dimension.start == 0 && dimension.step == 1 && dimension.extent == dimension.source_extent;
}

/// Whether every element stays where it is.
bool is_idle(const Rearrangement& joined) {
    return joined.dimensions.empty() ||
           (joined.dimensions.size() == 1 && takes_all(joined.dimensions[0]) && joined.dimensions[0].stride == 1);
}

std::string refuses_rearrange(const Equation& equation, std::span<const Operand> operands,
                              std::span<const Source> sources) {
    const auto rearrangement = rearrangement_of(equation, operands[0].type.shape);
    if (!rearrangement) return rearrangement.error().message;
    if (const std::string reason = refuses_dimensions(*rearrangement); !reason.empty()) return reason;
    return refuses_matrices(equation, operands, sources);
}

void emit_reshape(Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    emitter.alias(equation.results[0], emitter.raw(operands[0]));
}

void emit_rearrange(Emitter& emitter, const Equation& equation, std::span<const Operand> operands) {
    const Operand& x = operands[0];
    const BufferRef source = rule_of(equation.operation)->keeps_words ? emitter.raw(x) : emitter.varying(x);
    const Rearrangement rearrangement = rearrangement_of(equation, x.type.shape).value();
    // A slice of the first one of several leaves elements where they are, too, but each member has fewer of them.
    const bool keeps_all = element_count(x.type) == element_count(emitter.type(equation.results[0]));
    if (keeps_all && is_idle(joined(rearrangement))) return emitter.alias(equation.results[0], source);
    emitter.rearrange(source, x.traits.per_example, rearrangement, x.traits.per_example,
                      emitter.result(equation.results[0]));
}

}  // namespace

std::string refuses_dimensions(const Rearrangement& rearrangement) {
    const std::size_t dimensions = joined(rearrangement).dimensions.size();
    if (dimensions < kMostDimensions) return {};
    return fmt::format("it moves along {} dimensions at once, and the kernel knows {} beside the examples", dimensions,
                       kMostDimensions - 1);
}

Bind bind_rearrange(std::uint32_t members, std::uint32_t source_elements, const Rearrangement& rearrangement) {
    RearrangeDesc desc{.members = members, .source_elements = source_elements, .fill = rearrangement.fill};
    for (const Rearranged& dimension : rearrangement.dimensions) {
        desc.dimensions.push_back({.extent = static_cast<std::uint32_t>(dimension.extent),
                                   .source_extent = static_cast<std::uint32_t>(dimension.source_extent),
                                   .start = static_cast<std::int32_t>(dimension.start),
                                   .step = static_cast<std::int32_t>(dimension.step),
                                   .stride = static_cast<std::uint32_t>(dimension.stride)});
    }
    if (desc.dimensions.empty()) desc.dimensions.emplace_back();
    return bind_operation(
        desc, [](std::span<const BufferView> views) { return RearrangeViews{.source = views[0], .out = views[1]}; });
}

const Rule kReshape{refuses_matrices, emit_reshape, true, false, true};
const Rule kRearrange{refuses_rearrange, emit_rearrange, true, false, true};
const Rule kPad{refuses_rearrange, emit_rearrange};

}  // namespace yolk::hyper::population
