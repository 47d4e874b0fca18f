// SPDX-License-Identifier: Apache-2.0
#include "unrolled_bodies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "article.hpp"
#include "equation_writer.hpp"
#include "operation_lists.hpp"
#include "refresh.hpp"
#include "requirement.hpp"
#include "unroll.hpp"

namespace yolk::hyper::population {
namespace {

/// Data costs no dispatch, but it is computed for each example: this many times as much of it is allowed.
constexpr std::size_t kMoreOfData = 8;

std::vector<ValueType> types_in(const Graph& body, std::span<const Atom> atoms) {
    std::vector<ValueType> types;
    for (const Atom& atom : atoms) types.push_back(type_of(body, atom));
    return types;
}

/// Of a sequence [length, ...]: [...], and [1] of [length].
Shape element_shape_of(const Shape& sequence) {
    return sequence.rank() <= 1 ? kOneElement : without_dimension(sequence, 0);
}

}  // namespace

Held UnrolledBodies::held(const HeldValues& values, const Atom& atom) const {
    const auto* id = std::get_if<VariableId>(&atom);
    return id != nullptr ? values[id->value] : Held{.plain = atom};
}

HeldValues UnrolledBodies::held(const HeldValues& values, std::span<const Atom> atoms) const {
    HeldValues all;
    for (const Atom& atom : atoms) all.push_back(held(values, atom));
    return all;
}

std::size_t UnrolledBodies::count(const Equation& equation, std::string_view name) const {
    return static_cast<std::size_t>(integer_attribute(equation, name).value_or(0));
}

bool UnrolledBodies::within_limit() {
    if (writer_.made() > most_ || writer_.made_of_data() > kMoreOfData * most_) {
        writer_.fail(fmt::format("unrolled, with the loops before it, it would be more than {} equations",
                                 writer_.made() > most_ ? most_ : kMoreOfData * most_));
    }
    return !writer_.failed();
}

HeldValues UnrolledBodies::run(const Graph& body, const HeldValues& inputs, const Guard& guard) {
    HeldValues values(body.variables.size());
    for (std::size_t i = 0; i < body.inputs.size(); ++i) values[body.inputs[i].second.value] = inputs[i];
    for (const Equation& equation : body.equations) {
        if (!within_limit()) break;
        const HeldValues results = evaluated(body, values, equation, guard);
        for (std::size_t i = 0; i < equation.results.size(); ++i) values[equation.results[i].value] = results[i];
    }
    if (writer_.failed()) return HeldValues(body.outputs.size(), Held{.plain = Atom(Value(0.0))});
    return held(values, body.outputs);
}

HeldValues UnrolledBodies::evaluated(const Graph& body, const HeldValues& values, const Equation& equation,
                                     const Guard& guard) {
    const HeldValues operands = held(values, equation.operands);
    const std::vector<ValueType> types = types_in(body, equation.operands);
    const bool varies = std::ranges::any_of(operands, [&](const Held& each) { return writer_.varies(each); });
    stand_for(equation);
    if (!equation.bodies.empty() && varies) return unrolled(equation, operands, types, guard);
    if (UnrollWriter::is_logic(equation) && varies) return {writer_.logic(equation, operands, types, true)};
    if (is(equation, "depends") || is(equation, "stop_gradient")) return {operands[0]};
    return copied(body, equation, operands, guard);
}

HeldValues UnrolledBodies::copied(const Graph& body, const Equation& equation, const HeldValues& operands,
                                  const Guard& guard) {
    Equation copy = equation;
    const std::vector<ValueType> results = types_of(body, equation.results);
    std::vector<ValueType> types;
    bool any_single = false;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const bool single = !operands[i].plain && operands[i].single;
        any_single = any_single || single;
        if (single) copy.operands[i] = *operands[i].single;
        if (!single) copy.operands[i] = writer_.plain(operands[i], type_of(body, equation.operands[i]).kind);
        types.push_back(writer_.type(copy.operands[i]));
    }
    // A number beside tensors counts as fp32: there its tensor does as well.
    if (any_single && !writer_.failed()) {
        const Result<std::vector<ValueType>> given = copy.operation->types(copy, types);
        if (!given || *given != results) {
            writer_.fail(fmt::format("{} takes a number or boolean that differs between candidates, on the host",
                                     equation.operation->name));
        }
    }
    if (guard && takes_ids(equation)) guard_ids(body, equation, copy.operands, guard);
    HeldValues made;
    for (const Atom& result : writer_.add(std::move(copy), results)) made.push_back({.plain = result});
    return made;
}

void UnrolledBodies::guard_ids(const Graph& body, const Equation& equation, std::vector<Atom>& operands,
                               const Guard& guard) {
    const Atom ids = operands[1];
    if (writer_.failed() || writer_.varies(ids)) return;
    const Shape table = type_of(body, equation.operands[0]).shape;
    const std::size_t dimension = is(equation, "embedding") ? 0 : dimension_of(equation, table).value_or(0);
    const auto* literal = std::get_if<Value>(&equation.operands[1]);
    if (literal != nullptr && ids_of(equation, *literal->tensor(), table, dimension)) return;
    const Shape shape = writer_.type(ids).shape;
    const std::uint64_t ids_count = element_count_of(shape);
    if (ids_count == 0 || shape.rank() == 0) return;
    const Atom flat = writer_.reshaped(ids, {ids_count});
    const Atom least = writer_("greater_or_equal", {flat, Value(0.0)});
    const Atom below = writer_("less_than", {flat, Value(static_cast<double>(table[dimension]))});
    const Atom whole = writer_("equal_to", {flat, writer_("floor", {flat})});
    const Atom each = writer_("multiply", {writer_("multiply", {least, below}), whole});
    const Atom all = writer_("min", {each}, {{"dimension", std::int64_t{0}}, {"keep", std::int64_t{1}}});
    require(guard, writer_.inverse(all), 1, equation,
            fmt::format("{}: an id is no whole number from 0 to {}.", equation.operation->name, table[dimension] - 1),
            /*is_input=*/true);
    operands[1] = writer_("where", {all, ids, Value(0.0)});
}

/// What is written now is the loop's or the branches', not that of what was written last in their bodies.
void UnrolledBodies::stand_for(const Equation& equation) {
    if (equation.made_at || !equation.hyperfunction.empty()) writer_.builder().stand_for(equation);
}

void UnrolledBodies::require(const Guard& guard, const Atom& value, std::int64_t below, const Equation& equation,
                             std::string message, bool is_input) {
    const Atom asked = guard ? writer_("where", {*guard, value, Value(0.0)}) : value;
    if (writer_.failed()) return;
    stand_for(equation);
    (void)writer_.add(population::require(asked, {.below = below,
                                                  .of = std::string(equation.operation->name),
                                                  .message = std::move(message),
                                                  .is_input = is_input}));
}

HeldValues UnrolledBodies::unrolled(const Equation& equation, const HeldValues& operands,
                                    std::span<const ValueType> types, const Guard& guard) {
    if (is(equation, "switch")) return branches(equation, operands, types[0], guard);
    if (is(equation, "while_loop")) return while_loop(equation, operands, types, guard);
    if (is(equation, "while_loop_pullback")) return while_loop_pullback(equation, operands, types, guard);
    if (is(equation, "scan")) return scan(equation, operands, types, guard);
    return run(*equation.bodies[0], operands, guard);  // call, parallel, weighted
}

HeldValues UnrolledBodies::branches(const Equation& equation, const HeldValues& operands, const ValueType& key_type,
                                    const Guard& guard) {
    const HeldValues inputs(operands.begin() + 1, operands.end());
    const bool truth = key_type.kind == ValueKind::Boolean;
    const std::optional<Atom> single = truth ? writer_.mask(operands[0]) : writer_.single(operands[0], key_type.kind);
    if (!single && (!operands[0].plain || writer_.varies(*operands[0].plain))) {
        writer_.fail(operands[0].lacking.empty() ? "its key is made on the host" : operands[0].lacking);
        return HeldValues(equation.results.size(), Held{.plain = Atom(Value(0.0))});
    }
    const Atom key = single ? *single : *operands[0].plain;
    if (!truth) {
        require(guard, key, static_cast<std::int64_t>(equation.bodies.size()), equation,
                fmt::format("switch: there is no branch for the key {{}}; keys are whole numbers from 0 to {}.",
                            equation.bodies.size() - 1),
                /*is_input=*/true);
    }
    HeldValues chosen;
    for (std::size_t i = 0; i < equation.bodies.size() && within_limit(); ++i) {
        const bool is_key = truth && i == 1;
        const Atom mask = is_key ? key : writer_("equal_to", {key, Value(static_cast<double>(i))});
        const HeldValues results = run(*equation.bodies[i], inputs, writer_.both(guard, mask));
        for (std::size_t k = 0; k < results.size(); ++k) {
            const ValueType type = type_of(*equation.bodies[0], equation.bodies[0]->outputs[k]);
            if (i == 0) chosen.push_back(results[k]);
            if (i > 0) chosen[k] = writer_.choose(mask, results[k], chosen[k], type);
        }
    }
    chosen.resize(equation.results.size(), Held{.plain = Atom(Value(0.0))});
    return chosen;
}

/// After a block, twice as many steps, and so on, as long as a block is left to be saved. What is data costs no
/// question.
bool UnrolledBodies::is_block_end(std::size_t step, std::size_t limit, const Atom& runs) const {
    if (block_ == 0 || step == 0 || step >= limit) return false;
    if (!writer_.varies(runs)) return true;
    return step % block_ == 0 && std::has_single_bit(step / block_) && limit - step >= block_;
}

UnrolledBodies::Steps UnrolledBodies::steps_of(const Equation& equation, HeldValues values, const Guard& guard,
                                               const Watcher& watcher) {
    Steps steps;
    Guard runs = guard;
    std::optional<Atom> alive;
    const std::size_t limit = count(equation, "limit");
    for (std::size_t step = 0; within_limit(); ++step) {
        const Atom holds = writer_.mask(run(*equation.bodies[0], values, runs)[0]);
        alive = writer_.both(alive, holds);
        runs = writer_.both(guard, *alive);
        steps.values.push_back(values);
        if (step == limit) break;
        steps.alive.push_back(*alive);
        if (is_block_end(step, limit, *runs)) {
            HeldValues results = watcher.results_so_far(*runs);
            steps.ends.push_back({step, writer_.mark(), *runs, std::move(results)});
        }
        const HeldValues next = run(*equation.bodies[1], values, runs);
        stand_for(equation);
        if (watcher.after_step && within_limit()) watcher.after_step(*alive, next);
        std::ranges::copy(next, values.begin());
    }
    if (writer_.failed()) return {};
    require(guard, *alive, 1, equation,
            fmt::format("while_loop: condition '{}' still holds after {} steps, the loop's limit; raise the limit, or "
                        "see why it does not end.",
                        equation.bodies[0]->name, limit),
            /*is_input=*/false);
    return steps;
}

// Those that are done go on with values that nobody looks at, so that a counter that all begin with stays the same for
// all, and an index made of it stays data.
HeldValues UnrolledBodies::while_loop(const Equation& equation, const HeldValues& operands,
                                      std::span<const ValueType> types, const Guard& guard) {
    const std::size_t carries = count(equation, "carries");
    HeldValues results(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(carries));
    const auto choose = [&](const Atom& alive, const HeldValues& next) {
        for (std::size_t i = 0; i < carries; ++i) results[i] = writer_.choose(alive, next[i], results[i], types[i]);
    };
    const Steps steps = steps_of(equation, operands, guard, {choose, [&](const Atom&) { return results; }});
    const std::size_t end = writer_.mark();
    for (auto at = steps.ends.rbegin(); at != steps.ends.rend(); ++at)
        writer_.may_skip(at->mark, end, at->runs, at->results, results);
    return results;
}

/// What came back to a constant in a step, and in those behind it. Nothing comes back to a number that is compared.
Held UnrolledBodies::added(const Held& step, const Held& behind, const ValueType& type) {
    if (type.kind == ValueKind::Tensor && step.plain && behind.plain)
        return {.plain = writer_("add", {*behind.plain, *step.plain})};
    if (step.plain && *step.plain == Atom(zero_of(type))) return behind;
    return writer_.lacking(fmt::format("the cotangents of {} add up on the host", with_article(type.kind)));
}

HeldValues UnrolledBodies::as_made(HeldValues cotangents, const Atom& mask) {
    if (!writer_.varies(mask)) return cotangents;
    for (Held& held : cotangents) {
        for (const auto form : {&Held::plain, &Held::single}) {
            std::optional<Atom>& atom = held.*form;
            if (!atom || writer_.type(*atom).kind != ValueKind::Tensor || writer_.type(*atom).shape.rank() == 0)
                continue;
            atom = writer_("where", {mask, *atom, *atom});
        }
    }
    return cotangents;
}

HeldValues UnrolledBodies::while_loop_pullback(const Equation& equation, const HeldValues& operands,
                                               std::span<const ValueType> types, const Guard& guard) {
    const std::size_t carries = count(equation, "carries");
    const auto moving = static_cast<std::size_t>(std::ranges::count_if(types.first(carries), can_move));
    const auto first = operands.end() - static_cast<std::ptrdiff_t>(moving);
    const Graph& back = *equation.bodies[2];
    HeldValues cotangents(first, operands.end());
    for (std::size_t i = moving; i < back.outputs.size(); ++i)
        cotangents.push_back({.plain = Atom(zero_of(type_of(back, back.outputs[i])))});
    Steps steps = steps_of(equation, {operands.begin(), first}, guard,
                           {{}, [&](const Atom& runs) { return as_made(cotangents, runs); }});
    for (std::size_t step = steps.alive.size(); step-- > 0 && within_limit();) {
        const Atom& alive = steps.alive[step];
        HeldValues inputs = steps.values[step];
        inputs.insert(inputs.end(), cotangents.begin(), cotangents.begin() + static_cast<std::ptrdiff_t>(moving));
        HeldValues before = run(back, inputs, writer_.both(guard, alive));
        for (std::size_t i = 0; i < before.size(); ++i) {
            const ValueType type = type_of(back, back.outputs[i]);
            if (i >= moving) before[i] = added(before[i], cotangents[i], type);
            cotangents[i] = writer_.choose(alive, before[i], cotangents[i], type);
        }
        if (steps.ends.empty() || steps.ends.back().step != step) continue;
        // Neither these steps nor the way back through them.
        writer_.may_skip(steps.ends.back().mark, writer_.mark(), steps.ends.back().runs, steps.ends.back().results,
                         cotangents);
        steps.ends.pop_back();
    }
    return cotangents;
}

std::vector<HeldValues> UnrolledBodies::elements(const Equation& equation, const HeldValues& operands,
                                                 std::span<const ValueType> types) {
    const std::size_t carries = count(equation, "carries"), sequences = count(equation, "sequences");
    const std::size_t length = count(equation, "length");
    std::vector<HeldValues> elements(length);
    for (std::size_t i = carries; i < carries + sequences && length > 0; ++i) {
        const Atom sequence = writer_.plain(operands[i], ValueKind::Tensor);
        std::vector<Atom> parts{sequence};
        if (length > 1) {
            parts = writer_.add(
                {.operation = find_operation("split"),
                 .operands = {sequence},
                 .attributes = {{"dimension", std::int64_t{0}}, {"sizes", std::vector<std::int64_t>(length, 1)}}});
        }
        parts.resize(length, Value(0.0));  // after an error
        for (std::size_t at = 0; at < length; ++at)
            elements[at].push_back({.plain = writer_.reshaped(parts[at], element_shape_of(types[i].shape))});
    }
    return elements;
}

Held UnrolledBodies::stacked(std::span<const Held> parts, const ValueType& type) {
    const Shape shape = prepended(parts.size(), type.shape);
    if (parts.empty()) return {.plain = Atom(zero_of({ValueKind::Tensor, shape}))};
    std::vector<Atom> rows;
    for (const Held& part : parts) {
        std::optional<Atom> row = part.plain;
        if (type.kind != ValueKind::Tensor) row = writer_.single(part, type.kind);
        if (!row && part.plain && !writer_.varies(*part.plain)) {
            const Value one(Tensor::vector({1.0F}));
            row = writer_("where", {one, *part.plain, one});
        }
        if (!row) {
            writer_.fail(part.lacking.empty() ? "a number that differs between candidates is in double, on the host"
                                              : part.lacking);
            return {.plain = Atom(Value(0.0))};
        }
        rows.push_back(writer_.reshaped(*row, prepended(1, type.shape)));
    }
    if (rows.size() == 1) return {.plain = rows[0]};
    return {.plain = writer_("concat", std::move(rows), {{"dimension", std::int64_t{0}}})};
}

HeldValues UnrolledBodies::scan(const Equation& equation, const HeldValues& operands, std::span<const ValueType> types,
                                const Guard& guard) {
    const Graph& body = *equation.bodies[0];
    const std::size_t carries = count(equation, "carries"), length = count(equation, "length");
    const std::vector<HeldValues> sequences = elements(equation, operands, types);
    std::vector<HeldValues> parts(body.outputs.size() - carries, HeldValues(length));
    HeldValues inputs = operands;
    for (std::size_t step = 0; step < length && within_limit(); ++step) {
        const std::size_t at = count(equation, "reverse") != 0 ? length - 1 - step : step;
        std::ranges::copy(sequences[at], inputs.begin() + static_cast<std::ptrdiff_t>(carries));
        const HeldValues outputs = run(body, inputs, guard);
        for (std::size_t i = 0; i < carries; ++i) inputs[i] = outputs[i];
        for (std::size_t i = carries; i < outputs.size(); ++i) parts[i - carries][at] = outputs[i];
    }
    inputs.resize(carries);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const bool failed = writer_.failed();
        inputs.push_back(failed ? Held{.plain = Atom(Value(0.0))}
                                : stacked(parts[i], type_of(body, body.outputs[carries + i])));
    }
    return inputs;
}

}  // namespace yolk::hyper::population
