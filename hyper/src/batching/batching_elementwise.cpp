// SPDX-License-Identifier: Apache-2.0
// Element by element: stacks are aligned so that the first dimension counts the elements for all operands.
#include <algorithm>
#include <array>

#include "batching.hpp"

namespace yolk::hyper {
namespace {

std::size_t largest_rank(const BatchSite& site) {
    std::size_t rank = 0;
    for (const Batched& operand : site.operands) rank = std::max(rank, operand.type.shape.rank());
    return rank;
}

/// Whether it is of integers alone, or gives one: those are exact, which a stack in fp32 is not.
bool is_of_integers(const BatchSite& site) {
    const auto is_integer = [](const ValueType& type) { return type.kind == ValueKind::Integer; };
    return std::ranges::any_of(site.results, is_integer) ||
           std::ranges::all_of(site.operands, [&](const Batched& operand) { return is_integer(operand.type); });
}

/// The operation on aligned operands.
std::vector<Batched> batch_aligned(BatchSite& site) {
    if (is_of_integers(site)) return repeated(site);
    Equation all = site.equation;
    all.operands.clear();
    const std::size_t rank = largest_rank(site);
    for (const Batched& operand : site.operands) all.operands.push_back(aligned(site.emit, site.size, operand, rank));
    return {stacked_value(site.emit.all(std::move(all), 1)[0], site.results[0])};
}

/// select on a condition of each element is where on the stack.
std::vector<Batched> batch_select(BatchSite& site) {
    EquationWriter& emit = site.emit;
    const Form form = batched_form(site.results[0]);
    if (!site.is_shared(0))
        return {
            masked(emit, site.size, stacked(emit, site.size, site.operands[0]), site.operands[1], site.operands[2])};
    const Batched a = in_form(emit, site.size, site.operands[1], form);
    const Batched b = in_form(emit, site.size, site.operands[2], form);
    Batched chosen{form, {}, site.results[0]};
    for (std::size_t i = 0; i < a.atoms.size(); ++i)
        chosen.atoms.push_back(emit("select", {site.operands[0].atoms[0], a.atoms[i], b.atoms[i]}));
    return {chosen};
}

/// [size] of an operand of one element.
Atom flat(BatchSite& site, std::size_t operand) {
    return site.emit.reshape(stacked(site.emit, site.size, site.operands[operand]), {site.size});
}

std::vector<Batched> batch_less(BatchSite& site) {
    if (is_of_integers(site)) return repeated(site);
    return {stacked_value(site.emit("less_than", {flat(site, 0), flat(site, 1)}), site.results[0])};
}
std::vector<Batched> batch_and(BatchSite& site) {
    return {stacked_value(site.emit.multiply(flat(site, 0), flat(site, 1)), site.results[0])};
}
std::vector<Batched> batch_or(BatchSite& site) {
    return {stacked_value(site.emit("maximum", {flat(site, 0), flat(site, 1)}), site.results[0])};
}
std::vector<Batched> batch_not(BatchSite& site) {
    return {stacked_value(site.emit("equal_to", {flat(site, 0), Value(0.0)}), site.results[0])};
}
std::vector<Batched> batch_to_number(BatchSite& site) { return {stacked_value(flat(site, 0), site.results[0])}; }

/// The first operand, whatever it is; effects and names stay with the equation.
std::vector<Batched> batch_passed(BatchSite& site) {
    Batched value = site.operands[0];
    if (value.form == Form::Shared) value = in_form(site.emit, site.size, value, batched_form(value.type));
    for (Atom& atom : value.atoms) {
        Equation passed = site.equation;
        passed.operands = {atom};
        for (const Batched& other : site.operands.subspan(1))
            passed.operands.insert(passed.operands.end(), other.atoms.begin(), other.atoms.end());
        atom = site.emit.all(std::move(passed), 1)[0];
    }
    return {value};
}

constexpr std::array kElementwiseBatching{
    Batching{"add", batch_aligned},
    Batching{"subtract", batch_aligned},
    Batching{"multiply", batch_aligned},
    Batching{"divide", batch_aligned},
    Batching{"power", batch_aligned},
    Batching{"maximum", batch_aligned},
    Batching{"minimum", batch_aligned},
    Batching{"less_than", batch_aligned},
    Batching{"less_or_equal", batch_aligned},
    Batching{"greater_than", batch_aligned},
    Batching{"greater_or_equal", batch_aligned},
    Batching{"equal_to", batch_aligned},
    Batching{"not_equal_to", batch_aligned},
    Batching{"where", batch_aligned},
    Batching{"matmul", batch_aligned},
    Batching{"negate", batch_aligned},
    Batching{"absolute", batch_aligned},
    Batching{"sqrt", batch_aligned},
    Batching{"rsqrt", batch_aligned},
    Batching{"sin", batch_aligned},
    Batching{"cos", batch_aligned},
    Batching{"exp", batch_aligned},
    Batching{"log", batch_aligned},
    Batching{"floor", batch_aligned},
    Batching{"round", batch_aligned},
    Batching{"relu", batch_aligned},
    Batching{"gelu", batch_aligned},
    Batching{"silu", batch_aligned},
    Batching{"tanh", batch_aligned},
    Batching{"sigmoid", batch_aligned},
    Batching{"softmax", batch_aligned},
    Batching{"log_softmax", batch_aligned},
    Batching{"layer_norm", batch_aligned},
    Batching{"rms_norm", batch_aligned},
    Batching{"select", batch_select},
    Batching{"less", batch_less},
    Batching{"and", batch_and},
    Batching{"or", batch_or},
    Batching{"not", batch_not},
    Batching{"to_number", batch_to_number},
    Batching{"stop_gradient", batch_passed},
    Batching{"checkpoint", batch_passed},
    Batching{"depends", batch_passed},
    Batching{"factor", batch_passed},
};

}  // namespace

std::span<const Batching> elementwise_batching() noexcept { return kElementwiseBatching; }

}  // namespace yolk::hyper
