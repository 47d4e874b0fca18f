// SPDX-License-Identifier: Apache-2.0
// Cotangents through bodies. Branches: the pullback of the branch that was taken. scan: a scan in the opposite
// direction over the carries that the forward one kept. while_loop: one equation that stores the steps and replays
// them.
#include <algorithm>

#include "article.hpp"
#include "control_derivatives.hpp"
#include "equation_writer.hpp"
#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper {
namespace {

struct PullSite {
    EquationWriter& emit;
    const Equation& equation;
    std::span<const Atom> operands;
    const ForwardEquation& forward;
    std::span<const Tangent> cotangents;
    const std::vector<bool>& wanted;
    const PullRules& rules;

    /// Of results that can move, zeros made.
    [[nodiscard]] std::vector<Atom> given(std::size_t first, std::size_t last) const {
        std::vector<Atom> all;
        for (std::size_t i = first; i < last; ++i) {
            const ValueType type = emit.type(forward.results[i]);
            if (can_move(type)) all.push_back(or_zero(cotangents[i], type));
        }
        return all;
    }
    [[nodiscard]] std::size_t count(std::string_view name) const {
        return static_cast<std::size_t>(emit.take(integer_attribute(equation, name)));
    }
};

using Pulled = Result<std::vector<Tangent>>;

/// Puts what came back where it is wanted.
std::vector<Tangent> placed(std::span<const Atom> back, const std::vector<bool>& wanted) {
    std::vector<Tangent> all(wanted.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i]) all[i] = back[next++];
    }
    return all;
}

Pulled pull_branches(const PullSite& site, std::size_t before) {
    Equation pulled = site.equation;
    const std::vector<bool> wanted(site.wanted.begin() + static_cast<std::ptrdiff_t>(before), site.wanted.end());
    for (Body& body : pulled.bodies) {
        YOLK_TRY(body, cotangents_of_body(*body, wanted, site.rules));
    }
    pulled.operands.assign(site.operands.begin(), site.operands.end());
    for (const Atom& cotangent : site.given(0, site.forward.results.size())) pulled.operands.push_back(cotangent);
    const auto count = static_cast<std::size_t>(std::ranges::count(wanted, true));
    const std::vector<Atom> back = site.emit.all(std::move(pulled), count);
    std::vector<bool> all = site.wanted;
    std::fill_n(all.begin(), before, false);
    return site.emit.done(placed(back, all));
}

/// The step's pullback. Where no text is wanted, those among the carries get an empty one back: feedback ends up in
/// texts alone, and what makes them needs no rule.
Result<Body> pulled_step(const PullSite& site, std::size_t carries, const std::vector<bool>& wanted) {
    const Graph& step = *site.equation.bodies[1];
    const auto is_text = [&](std::size_t i) { return has_text(site.emit.type(site.operands[i])); };
    bool any_text = false;
    for (std::size_t i = 0; i < site.wanted.size(); ++i) any_text = any_text || (site.wanted[i] && is_text(i));
    std::vector<bool> asked = wanted;
    for (std::size_t i = 0; i < carries; ++i)
        asked[i] = wanted[i] && (any_text || site.emit.type(site.operands[i]).kind != ValueKind::Text);
    YOLK_TRY(const Body body, cotangents_of_body(step, asked, site.rules));
    Graph back = *body;
    back.outputs.clear();
    std::size_t next = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i]) back.outputs.push_back(asked[i] ? body->outputs[next++] : Atom(Value("")));
    }
    return std::make_shared<const Graph>(std::move(back));
}

Pulled pull_while_loop(const PullSite& site) {
    const std::size_t carries = site.count("carries");
    // All carries that can move hand on their cotangents from step to step, wanted or not.
    std::vector<bool> wanted = site.wanted;
    for (std::size_t i = 0; i < carries; ++i) wanted[i] = can_move(site.emit.type(site.operands[i]));
    YOLK_TRY(Body back, pulled_step(site, carries, wanted));
    Equation pulled = site.equation;
    pulled.operation = find_operation("while_loop_pullback");
    pulled.bodies.push_back(std::move(back));
    pulled.operands.assign(site.operands.begin(), site.operands.end());
    for (const Atom& cotangent : site.given(0, carries)) pulled.operands.push_back(cotangent);
    const auto count = static_cast<std::size_t>(std::ranges::count(wanted, true));
    return site.emit.done(placed(site.emit.all(std::move(pulled), count), wanted));
}

/// A kept carry or an element of a sequence, in the type that the step's body knows.
Atom restored(EquationWriter& emit, const Atom& element, const ValueType& type) {
    if (type.kind == ValueKind::Tensor) return emit.reshape(element, type.shape);
    const Atom number = emit("to_number", {element});
    if (type.kind == ValueKind::Integer) return emit("to_integer", {number});
    return type.kind == ValueKind::Boolean ? emit("less", {Value(0.5), number}) : number;
}

/// The type of one element of a stack of values of this type.
ValueType element_of_stack(const ValueType& type) {
    return {ValueKind::Tensor, type.kind == ValueKind::Tensor ? type.shape : Shape{1}};
}

/// Writes the scan that runs backward. Its carries: the cotangents of the carries, then sums for the wanted constants;
/// its sequences: the kept carries, the sequences, the cotangents of the results; its constants: the constants.
class ScanPullback {
   public:
    explicit ScanPullback(const PullSite& site)
        : site_(site),
          body_(*site.equation.bodies[0]),
          carries_(site.count("carries")),
          sequences_(site.count("sequences")),
          inputs_(input_types(body_)),
          outputs_(output_types(body_)),
          wanted_(site.wanted),
          builder_(body_.name),
          inner_(builder_) {
        for (std::size_t i = 0; i < carries_; ++i) wanted_[i] = can_move(inputs_[i]);
    }

    Pulled run() {
        add_carries();
        add_sequences();
        add_constants();
        YOLK_TRY(const Body back, cotangents_of_body(body_, wanted_, site_.rules));
        std::vector<Atom> arguments = values_;
        arguments.insert(arguments.end(), given_.begin(), given_.end());
        const std::vector<Atom> cotangents = inner_.spliced(*back, arguments);
        YOLK_TRY(std::vector<Atom> outputs, inner_.done(ordered(placed(cotangents, wanted_))));
        scan_.bodies = {std::make_shared<const Graph>(std::move(builder_).finish(std::move(outputs)))};
        const bool reverse = site_.emit.take(integer_attribute(site_.equation, "reverse")) != 0;
        scan_.operation = site_.equation.operation;
        scan_.attributes = {{"carries", static_cast<std::int64_t>(carry_count_)},
                            {"sequences", static_cast<std::int64_t>(sequence_count_)},
                            {"length", *find_attribute(site_.equation, "length")},
                            {"reverse", std::int64_t{!reverse}}};
        scan_.hyperfunction = site_.equation.hyperfunction;
        scan_.call = site_.equation.call;
        return site_.emit.done(taken_apart());
    }

   private:
    Atom input(std::string name, const ValueType& type, const Atom& operand) {
        scan_.operands.push_back(operand);
        return builder_.input(std::move(name), type);
    }

    void add_carries() {
        for (std::size_t i = 0; i < carries_; ++i) {
            if (!wanted_[i]) continue;
            const Atom start = or_zero(site_.cotangents[i], inputs_[i]);
            given_.push_back(input("d " + body_.inputs[i].first, inputs_[i], start));
        }
        for (std::size_t i = carries_ + sequences_; i < inputs_.size(); ++i) {
            if (wanted_[i])
                sums_.push_back(input("sum of d " + body_.inputs[i].first, inputs_[i], zero_of(inputs_[i])));
        }
        carry_count_ = scan_.operands.size();
    }

    void add_sequences() {
        for (std::size_t i = 0; i < carries_; ++i) {
            const Atom element = input(body_.inputs[i].first, element_of_stack(inputs_[i]), site_.forward.kept[i]);
            values_.push_back(restored(inner_, element, inputs_[i]));
        }
        for (std::size_t i = carries_; i < carries_ + sequences_; ++i)
            values_.push_back(input(body_.inputs[i].first, inputs_[i], site_.operands[i]));
        for (std::size_t i = carries_; i < outputs_.size(); ++i) {
            const Atom stack = or_zero(site_.cotangents[i], site_.emit.type(site_.forward.results[i]));
            const Atom element = input("d result", element_of_stack(outputs_[i]), stack);
            given_.push_back(restored(inner_, element, outputs_[i]));
        }
        sequence_count_ = scan_.operands.size() - carry_count_;
    }

    void add_constants() {
        for (std::size_t i = carries_ + sequences_; i < inputs_.size(); ++i)
            values_.push_back(input(body_.inputs[i].first, inputs_[i], site_.operands[i]));
    }

    /// Cotangents of carries, sums, then cotangents of elements.
    std::vector<Atom> ordered(const std::vector<Tangent>& cotangents) {
        std::vector<Atom> outputs, elements;
        std::size_t sum = 0;
        for (std::size_t i = 0; i < cotangents.size(); ++i) {
            if (!cotangents[i]) continue;
            if (i < carries_) outputs.push_back(*cotangents[i]);
            if (i >= carries_ && i < carries_ + sequences_) elements.push_back(*cotangents[i]);
            if (i >= carries_ + sequences_) {
                outputs.push_back(
                    *inner_.take(sum_back(inner_.builder(), sums_[sum], cotangents[i]), Tangent(sums_[sum])));
                ++sum;
            }
        }
        outputs.insert(outputs.end(), elements.begin(), elements.end());
        return outputs;
    }

    /// The backward scan's results, by the forward one's operands.
    std::vector<Tangent> taken_apart() {
        const auto count = static_cast<std::size_t>(std::ranges::count(wanted_, true));
        const std::vector<Atom> results = site_.emit.all(std::move(scan_), count);
        std::vector<Tangent> all(inputs_.size());
        std::size_t carry = 0, stack = carry_count_;
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            if (!wanted_[i]) continue;
            if (i < carries_ || i >= carries_ + sequences_) {
                all[i] = results[carry++];
            } else {
                all[i] = site_.emit.reshape(results[stack++], site_.emit.shape(site_.operands[i]));
            }
        }
        return all;
    }

    const PullSite& site_;
    const Graph& body_;
    std::size_t carries_, sequences_;
    std::vector<ValueType> inputs_, outputs_;  ///< of the body
    std::vector<bool> wanted_;
    GraphBuilder builder_;
    EquationWriter inner_;
    Equation scan_{};
    std::vector<Atom> values_{}, given_{}, sums_{};  ///< in the backward body
    std::size_t carry_count_ = 0, sequence_count_ = 0;
};

/// The scan with the carries before each step as further results.
Result<ForwardEquation> keeping_scan(GraphBuilder& builder, const Graph& graph, Equation scan) {
    YOLK_TRY(const std::int64_t count, integer_attribute(scan, "carries"));
    const auto carries = static_cast<std::size_t>(count);
    const Graph& body = *scan.bodies[0];
    GraphBuilder inner_builder(body.name);
    EquationWriter inner(inner_builder);
    Mapping mapping(body);
    copy_interface(body, inner_builder, mapping);
    std::vector<Atom> inputs;
    for (const auto& [name, id] : body.inputs) inputs.push_back(mapping(Atom(id)));
    std::vector<Atom> outputs = inner.spliced(body, inputs);
    for (std::size_t i = 0; i < carries; ++i) {
        const ValueType type = inner.type(inputs[i]);
        if (type.kind == ValueKind::Text || type.kind == ValueKind::Record || type.kind == ValueKind::List) {
            return unsupported(
                "pullback of graph '{}': carry {} of {} is {}, which cannot be kept for the way back; take it out "
                "of the loop.",
                graph.name, i, named(scan), with_article(type.kind));
        }
        if (type.kind == ValueKind::Integer) {
            outputs.push_back(inner("to_number", {inputs[i]}, {{"as", std::string("fp32")}}));
            continue;
        }
        const bool truth = type.kind == ValueKind::Boolean;
        outputs.push_back(truth ? inner("select", {inputs[i], Value(1.0), Value(0.0)}) : inputs[i]);
    }
    YOLK_TRY(outputs, inner.done(std::move(outputs)));
    scan.bodies = {std::make_shared<const Graph>(std::move(inner_builder).finish(std::move(outputs)))};
    ForwardEquation forward;
    YOLK_TRY(forward.results, builder.add(std::move(scan)));
    const auto first_kept = forward.results.end() - static_cast<std::ptrdiff_t>(carries);
    forward.kept.assign(first_kept, forward.results.end());
    forward.results.erase(first_kept, forward.results.end());
    return forward;
}

}  // namespace

Result<Body> cotangents_of_body(const Graph& body, std::vector<bool> wanted, const PullRules& rules) {
    YOLK_TRY(const Graph pulled, pullback_by(body, {.inputs = std::move(wanted)}, rules));
    return outputs_from(pulled, body.outputs.size());
}

Result<ForwardEquation> forward_bodies(GraphBuilder& builder, const Graph& graph, const Equation& equation,
                                       std::vector<Atom> operands) {
    Equation copy = equation;
    copy.operands = std::move(operands);
    if (is(equation, "scan")) return keeping_scan(builder, graph, std::move(copy));
    ForwardEquation forward;
    YOLK_TRY(forward.results, builder.add(std::move(copy)));
    return forward;
}

Result<std::vector<Tangent>> pull_bodies(GraphBuilder& builder, const Graph& graph, const Equation& equation,
                                         std::span<const Atom> operands, const ForwardEquation& forward,
                                         std::span<const Tangent> cotangents, const std::vector<bool>& wanted,
                                         const PullRules& rules) {
    EquationWriter emit(builder);
    const PullSite site{emit, equation, operands, forward, cotangents, wanted, rules};
    if (is(equation, "call") || is(equation, "parallel")) return pull_branches(site, 0);
    if (is(equation, "switch")) return pull_branches(site, 1);
    if (is(equation, "scan")) return ScanPullback(site).run();
    if (is(equation, "while_loop")) return pull_while_loop(site);
    if (is(equation, "while_loop_pullback")) {
        return no_rule(
            "pullback", graph, equation,
            "for the second order take the pullback of the pushforward, or use scan where the length is known");
    }
    return no_rule("pullback", graph, equation, "take the derivative of the graph itself, before this transform");
}

}  // namespace yolk::hyper
