// SPDX-License-Identifier: Apache-2.0
// Movements through bodies: the body's own pushforward takes the place of the body, and gives values and movements.
#include <fmt/format.h>

#include <algorithm>

#include "control_derivatives.hpp"
#include "equation_writer.hpp"
#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper {
namespace {

/// What every rule here is given.
struct PushSite {
    GraphBuilder& builder;
    const Graph& graph;
    const Equation& equation;
    std::span<const Atom> operands;
    std::span<const Tangent> tangents;
    const PushRules& rules;
    std::size_t carries = 0;  ///< of a scan: they may move later, whether they do at the beginning or not
};

/// A text that does not move stays without a movement, so that what is made of it does not move either; of numbers
/// zeros are made.
bool is_still(const PushSite& site, std::size_t operand) {
    return operand >= site.carries && !site.tangents[operand] && has_text(site.builder.type(site.operands[operand]));
}
std::vector<bool> still_ones(const PushSite& site, std::size_t first) {
    std::vector<bool> still;
    for (std::size_t i = first; i < site.operands.size(); ++i) still.push_back(is_still(site, i));
    return still;
}

/// The movements of operands that are not still, zeros made.
std::vector<Atom> movements(const PushSite& site, std::size_t first, std::size_t count) {
    std::vector<Atom> all;
    for (std::size_t i = first; i < first + count; ++i) {
        const ValueType type = site.builder.type(site.operands[i]);
        if (can_move(type) && !is_still(site, i)) all.push_back(or_zero(site.tangents[i], type));
    }
    return all;
}

/// Values first, then the movements of those of them that can move.
PushedEquation parted(const GraphBuilder& builder, std::span<const Atom> all, std::size_t results) {
    PushedEquation parts;
    parts.results.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(results));
    std::size_t next = results;
    for (const Atom& result : parts.results)
        parts.tangents.push_back(can_move(builder.type(result)) ? Tangent(all[next++]) : std::nullopt);
    return parts;
}

/// call, parallel, switch: each body takes the operands behind the first `before`, then their movements.
Result<PushedEquation> push_branches(const PushSite& site, std::size_t before) {
    Equation pushed = site.equation;
    pushed.operands.assign(site.operands.begin(), site.operands.end());
    const std::vector<Atom> moving = movements(site, before, site.operands.size() - before);
    pushed.operands.insert(pushed.operands.end(), moving.begin(), moving.end());
    std::vector<bool> moved(site.equation.results.size(), false);  // by any of the branches
    for (Body& body : pushed.bodies) {
        YOLK_TRY(PushedGraph of_body, pushforward_by(*body, site.rules, still_ones(site, before)));
        for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = moved[i] || of_body.moved[i];
        body = std::make_shared<const Graph>(std::move(of_body.graph));
    }
    YOLK_TRY(const std::vector<Atom> all, site.builder.add(std::move(pushed)));
    PushedEquation parts = parted(site.builder, all, moved.size());
    for (std::size_t i = 0; i < moved.size(); ++i) {
        if (!moved[i] && has_text(site.builder.type(parts.results[i]))) parts.tangents[i].reset();
    }
    return parts;
}

/// Adds inputs to a body: `types` under the names of the original's inputs.
std::vector<Atom> add_inputs(GraphBuilder& inner, const Graph& body, std::size_t first, std::size_t count) {
    std::vector<Atom> atoms;
    for (std::size_t i = first; i < first + count; ++i)
        atoms.emplace_back(inner.input(body.inputs[i].first, body.variables[body.inputs[i].second.value].type));
    return atoms;
}
/// Those for the movements that `movements` gives.
std::vector<Atom> add_movements(const PushSite& site, GraphBuilder& inner, const Graph& body, std::size_t first,
                                std::size_t count) {
    std::vector<Atom> atoms;
    for (std::size_t i = first; i < first + count; ++i) {
        const auto& [name, id] = body.inputs[i];
        const ValueType& type = body.variables[id.value].type;
        if (can_move(type) && !is_still(site, i)) atoms.emplace_back(inner.input("d " + name, type));
    }
    return atoms;
}

/// Carries, their movements, sequences, theirs, constants, theirs: the order of a scan with more of each.
Result<PushedEquation> push_scan(PushSite site) {
    const Graph& body = *site.equation.bodies[0];
    YOLK_TRY(const std::int64_t carry_count, integer_attribute(site.equation, "carries"));
    YOLK_TRY(const std::int64_t sequence_count, integer_attribute(site.equation, "sequences"));
    site.carries = static_cast<std::size_t>(carry_count);
    const std::size_t carries = site.carries, sequences = static_cast<std::size_t>(sequence_count);
    const std::size_t counts[] = {carries, sequences, body.inputs.size() - carries - sequences};
    GraphBuilder inner(body.name);
    Equation scan = site.equation;
    scan.operands.clear();
    std::vector<Atom> values, moving;  // of the inner body, in the order of its pushforward's inputs
    std::int64_t more[3] = {};
    for (std::size_t part = 0, first = 0; part < 3; first += counts[part++]) {
        const auto operands = site.operands.subspan(first, counts[part]);
        scan.operands.insert(scan.operands.end(), operands.begin(), operands.end());
        const std::vector<Atom> moved = movements(site, first, counts[part]);
        scan.operands.insert(scan.operands.end(), moved.begin(), moved.end());
        more[part] = static_cast<std::int64_t>(moved.size());
        for (Atom& atom : add_inputs(inner, body, first, counts[part])) values.push_back(std::move(atom));
        for (Atom& atom : add_movements(site, inner, body, first, counts[part])) moving.push_back(std::move(atom));
    }
    values.insert(values.end(), moving.begin(), moving.end());
    YOLK_TRY(const PushedGraph moved_body, pushforward_by(body, site.rules, still_ones(site, 0)));
    YOLK_TRY(const std::vector<Atom> outputs, splice(moved_body.graph, values, inner));
    // Outputs of the spliced body: carries, results, their movements; of the scan: carries, movements, results, theirs.
    const PushedEquation parts = parted(inner, outputs, body.outputs.size());
    std::vector<Atom> ordered;
    const auto append = [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) ordered.push_back(parts.results[i]);
        for (std::size_t i = first; i < last; ++i) {
            if (parts.tangents[i]) ordered.push_back(*parts.tangents[i]);
        }
    };
    append(0, carries);
    append(carries, body.outputs.size());
    scan.bodies = {std::make_shared<const Graph>(std::move(inner).finish(std::move(ordered)))};
    scan.attributes = {{"carries", carry_count + more[0]},
                       {"sequences", sequence_count + more[1]},
                       {"length", *find_attribute(site.equation, "length")},
                       {"reverse", *find_attribute(site.equation, "reverse")}};
    YOLK_TRY(const std::vector<Atom> all, site.builder.add(std::move(scan)));
    const std::size_t behind = carries + static_cast<std::size_t>(more[0]);
    PushedEquation pushed = parted(site.builder, std::span(all).first(behind), carries);
    const PushedEquation stacked =
        parted(site.builder, std::span(all).subspan(behind), site.equation.results.size() - carries);
    pushed.results.insert(pushed.results.end(), stacked.results.begin(), stacked.results.end());
    pushed.tangents.insert(pushed.tangents.end(), stacked.tangents.begin(), stacked.tangents.end());
    return pushed;
}

/// A loop's texts do not move: an edit of an edit, as often as the loop happens to run, says nothing.
Result<void> refuse_moving_texts(const PushSite& site, std::size_t carries) {
    const auto is_text = [&](std::size_t i) { return has_text(site.builder.type(site.operands[i])); };
    std::size_t carry = 0, moving = 0;
    while (carry < carries && !is_text(carry)) ++carry;
    while (moving < site.operands.size() && !(is_text(moving) && site.tangents[moving])) ++moving;
    if (carry == carries || moving == site.operands.size()) return {};
    return unsupported(
        "pushforward of graph '{}': carry {} of {} is text, and {} moves; movements of texts do not go through loops "
        "without a known length. Cut it off with stop_gradient before the loop, use scan, or take the pullback, which "
        "replays the loop with feedback.",
        site.graph.name, carry, named(site.equation),
        moving < carries ? fmt::format("carry {}", moving) : fmt::format("operand {}, which its step reads,", moving));
}

/// Carries, their movements, constants, theirs. The condition does not see movements.
Result<PushedEquation> push_while(const PushSite& site) {
    YOLK_TRY(const std::int64_t carry_count, integer_attribute(site.equation, "carries"));
    const auto carries = static_cast<std::size_t>(carry_count);
    YOLK_TRY_VOID(refuse_moving_texts(site, carries));
    const std::size_t constants = site.operands.size() - carries;
    Equation loop = site.equation;
    loop.operands.clear();
    for (const auto& [first, count] : {std::pair{std::size_t{0}, carries}, std::pair{carries, constants}}) {
        const auto operands = site.operands.subspan(first, count);
        loop.operands.insert(loop.operands.end(), operands.begin(), operands.end());
        const std::vector<Atom> moved = movements(site, first, count);
        loop.operands.insert(loop.operands.end(), moved.begin(), moved.end());
    }
    YOLK_TRY(const PushedGraph step, pushforward_by(*site.equation.bodies[1], site.rules, still_ones(site, 0)));
    const Graph* const bodies[] = {site.equation.bodies[0].get(), &step.graph};
    for (std::size_t i = 0; i < 2; ++i) {
        const Graph& original = *site.equation.bodies[i];
        GraphBuilder inner(original.name);
        std::vector<Atom> values = add_inputs(inner, original, 0, carries);
        std::vector<Atom> moving = add_movements(site, inner, original, 0, carries);
        for (Atom& atom : add_inputs(inner, original, carries, constants)) values.push_back(std::move(atom));
        for (Atom& atom : add_movements(site, inner, original, carries, constants)) moving.push_back(std::move(atom));
        if (i == 1) values.insert(values.end(), moving.begin(), moving.end());
        YOLK_TRY(std::vector<Atom> outputs, splice(*bodies[i], values, inner));
        if (i == 1) {
            const PushedEquation parts = parted(inner, outputs, carries);
            outputs = parts.results;
            for (std::size_t k = 0; k < carries; ++k) {
                if (parts.tangents[k] && !has_text(inner.type(parts.results[k]))) outputs.push_back(*parts.tangents[k]);
            }
        }
        loop.bodies[i] = std::make_shared<const Graph>(std::move(inner).finish(std::move(outputs)));
    }
    const auto moved = static_cast<std::int64_t>(movements(site, 0, carries).size());
    loop.attributes = {{"carries", carry_count + moved}, {"limit", *find_attribute(site.equation, "limit")}};
    YOLK_TRY(const std::vector<Atom> all, site.builder.add(std::move(loop)));
    PushedEquation parts{.results = {all.begin(), all.begin() + carry_count}, .tangents = {}};
    std::size_t next = carries;
    for (const Atom& result : parts.results) {
        const ValueType type = site.builder.type(result);
        parts.tangents.push_back(can_move(type) && !has_text(type) ? Tangent(all[next++]) : std::nullopt);
    }
    return parts;
}

}  // namespace

bool has_bodies(const Equation& equation) { return !equation.bodies.empty(); }

Result<PushedEquation> push_bodies(GraphBuilder& builder, const Graph& graph, const Equation& equation,
                                   std::span<const Atom> operands, std::span<const Tangent> tangents,
                                   const PushRules& rules) {
    const PushSite site{builder, graph, equation, operands, tangents, rules};
    if (is(equation, "call") || is(equation, "parallel")) return push_branches(site, 0);
    if (is(equation, "switch")) return push_branches(site, 1);
    if (is(equation, "scan")) return push_scan(site);
    if (is(equation, "while_loop")) return push_while(site);
    if (is(equation, "while_loop_pullback")) {
        return no_rule("pushforward", graph, equation,
                       "take the pullback of the pushforward in its place, or use scan where the length is known");
    }
    return no_rule("pushforward", graph, equation, "take the derivative of the graph itself, before this transform");
}

}  // namespace yolk::hyper
