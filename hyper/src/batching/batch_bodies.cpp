// SPDX-License-Identifier: Apache-2.0
// Bodies of batched equations. Branches that the elements share run as they are; where each element has its own key,
// all branches run for all and each element takes its own. A loop goes on until no element is alive; those that are not
// keep their values. Bodies with effects are repeated for each element, so that each effect happens as often as
// without.
#include <algorithm>

#include "batching.hpp"
#include "yolk/internal/hyper/operations.hpp"

namespace yolk::hyper {
namespace {

std::vector<Form> forms_of(std::span<const Batched> values) {
    std::vector<Form> forms;
    for (const Batched& value : values) forms.push_back(value.form);
    return forms;
}

/// Results of an equation with a batched body, by the forms of the body's outputs.
std::vector<Batched> grouped(std::span<const Atom> atoms, std::span<const Form> forms, std::span<const ValueType> types,
                             std::uint64_t size) {
    std::vector<Batched> values;
    std::size_t next = 0;
    for (std::size_t i = 0; i < forms.size(); ++i) {
        const std::size_t count = forms[i] == Form::Listed ? size : 1;
        const auto own = atoms.subspan(next, count);
        values.push_back({forms[i], {own.begin(), own.end()}, types[i]});
        next += count;
    }
    return values;
}

std::size_t atom_count(std::span<const Form> forms, std::uint64_t size) {
    std::size_t count = 0;
    for (const Form form : forms) count += form == Form::Listed ? size : 1;
    return count;
}

void append_atoms(std::vector<Atom>& atoms, std::span<const Batched> values) {
    for (const Batched& value : values) atoms.insert(atoms.end(), value.atoms.begin(), value.atoms.end());
}

Body shared_body(Graph graph) { return std::make_shared<const Graph>(std::move(graph)); }

using Batches = Result<std::vector<Batched>>;

/// For each output the form that suits all bodies.
Result<std::vector<Form>> common_forms(const BatchSite& site, std::span<const Form> inputs, bool all_batched,
                                       const RuleTable<BatchRule>& rules) {
    std::vector<Form> forms(site.results.size(), Form::Shared);
    for (std::size_t i = 0; all_batched && i < forms.size(); ++i) forms[i] = batched_form(site.results[i]);
    for (const Body& body : site.equation.bodies) {
        YOLK_TRY(const BatchedBody natural, batch_body(*body, site.size, inputs, {}, rules));
        for (std::size_t i = 0; i < forms.size(); ++i) {
            if (natural.forms[i] != Form::Shared) forms[i] = batched_form(site.results[i]);
        }
    }
    return forms;
}

Batches batch_branches(BatchSite& site, std::size_t before, const RuleTable<BatchRule>& rules) {
    const std::span<const Batched> operands = site.operands.subspan(before);
    const std::vector<Form> inputs = forms_of(operands);
    YOLK_TRY(const std::vector<Form> forms, common_forms(site, inputs, false, rules));
    Equation all = site.equation;
    for (Body& body : all.bodies) {
        YOLK_TRY(BatchedBody batched, batch_body(*body, site.size, inputs, forms, rules));
        body = shared_body(std::move(batched.graph));
    }
    all.operands.clear();
    append_atoms(all.operands, site.operands);
    const std::vector<Atom> atoms = site.emit.all(std::move(all), atom_count(forms, site.size));
    return site.emit.done(grouped(atoms, forms, site.results, site.size));
}

/// Each element has a key of its own.
Batches batch_choices(BatchSite& site, const RuleTable<BatchRule>& rules) {
    EquationWriter& emit = site.emit;
    const std::vector<Form> inputs = forms_of(site.operands.subspan(1));
    YOLK_TRY(const std::vector<Form> forms, common_forms(site, inputs, true, rules));
    std::vector<Atom> arguments;
    append_atoms(arguments, site.operands.subspan(1));
    // Looked up in a list of the branches, so that a key without a branch is an error. A boolean has one.
    const Atom keys = emit.reshape(stacked(emit, site.size, site.operands[0]), {site.size});
    const bool truth = site.operands[0].type.kind == ValueKind::Boolean;
    const Atom checked =
        truth ? keys
              : emit("gather", {Value(counting(site.equation.bodies.size())), keys}, {{"dimension", std::int64_t{0}}});
    std::vector<Batched> chosen;
    for (std::size_t i = 0; i < site.equation.bodies.size(); ++i) {
        YOLK_TRY(const BatchedBody batched, batch_body(*site.equation.bodies[i], site.size, inputs, forms, rules));
        const std::vector<Batched> values =
            grouped(emit.spliced(batched.graph, arguments), forms, site.results, site.size);
        if (chosen.empty()) {
            chosen = values;
            continue;
        }
        const Atom mask = emit("equal_to", {checked, Value(static_cast<double>(i))});
        for (std::size_t k = 0; k < chosen.size(); ++k) chosen[k] = masked(emit, site.size, mask, values[k], chosen[k]);
    }
    return emit.done(std::move(chosen));
}

/// Which carries are batched: those that begin so, and those that a step makes so.
Result<void> grow_carries(const Graph& step, std::uint64_t size, std::size_t carries, std::vector<Form>& inputs,
                          const RuleTable<BatchRule>& rules) {
    const std::vector<ValueType> types = input_types(step);
    for (bool grew = true; grew;) {
        grew = false;
        YOLK_TRY(const BatchedBody natural, batch_body(step, size, inputs, {}, rules));
        for (std::size_t i = 0; i < carries; ++i) {
            if (inputs[i] != Form::Shared || natural.forms[i] == Form::Shared) continue;
            inputs[i] = batched_form(types[i]);
            grew = true;
        }
    }
    return {};
}

/// A sequence [length, ...] with the elements of the batch behind the steps: [length, size, ...].
Atom steps_first(EquationWriter& emit, std::uint64_t size, const Batched& sequence) {
    const Shape& shape = sequence.type.shape;
    std::vector<std::int64_t> order{1, 0};
    for (std::size_t i = 2; i <= shape.rank(); ++i) order.push_back(static_cast<std::int64_t>(i));
    const Atom turned = emit.permute(sequence.atoms[0], std::move(order));
    return shape.rank() == 1 ? emit.reshape(turned, {shape[0], size, 1}) : turned;
}

Batches batch_scan(BatchSite& site, const RuleTable<BatchRule>& rules) {
    EquationWriter& emit = site.emit;
    const Graph& body = *site.equation.bodies[0];
    const auto carries = static_cast<std::size_t>(site.integer("carries", 0));
    const auto sequences = static_cast<std::size_t>(site.integer("sequences", 0));
    std::vector<Form> inputs = forms_of(site.operands);
    YOLK_TRY_VOID(grow_carries(body, site.size, carries, inputs, rules));
    std::vector<Form> outputs(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(carries));
    YOLK_TRY(BatchedBody batched, batch_body(body, site.size, inputs, outputs, rules));
    Equation scan = site.equation;
    scan.operands.clear();
    std::vector<Batched> starts;
    for (std::size_t i = 0; i < site.operands.size(); ++i) {
        Batched value = in_form(emit, site.size, site.operands[i], inputs[i]);
        if (i >= carries && i < carries + sequences && value.form == Form::Stacked)
            value.atoms[0] = steps_first(emit, site.size, value);
        starts.push_back(std::move(value));
    }
    append_atoms(scan.operands, starts);
    scan.attributes = {{"carries", static_cast<std::int64_t>(atom_count(outputs, site.size))},
                       {"sequences", static_cast<std::int64_t>(sequences)},
                       {"length", *find_attribute(site.equation, "length")},
                       {"reverse", *find_attribute(site.equation, "reverse")}};
    scan.bodies = {shared_body(std::move(batched.graph))};
    const std::vector<Atom> atoms = emit.all(std::move(scan), atom_count(batched.forms, site.size));
    std::vector<Batched> results = grouped(atoms, batched.forms, site.results, site.size);
    for (std::size_t i = carries; i < results.size(); ++i) {
        if (results[i].form != Form::Stacked || emit.failed()) continue;
        std::vector<std::int64_t> order{1, 0};
        for (std::size_t k = 2; k < emit.shape(results[i].atoms[0]).rank(); ++k)
            order.push_back(static_cast<std::int64_t>(k));
        results[i].atoms[0] = emit.permute(results[i].atoms[0], std::move(order));
    }
    return emit.done(std::move(results));
}

/// A loop whose condition differs from element to element: which are alive goes along as one more carry, in front.
class MaskedLoop {
   public:
    MaskedLoop(BatchSite& site, std::size_t carries, std::vector<Form> inputs, const RuleTable<BatchRule>& rules)
        : site_(site), carries_(carries), inputs_(std::move(inputs)), rules_(rules) {
        // An element that is done keeps its values: all carries differ from element to element.
        const std::vector<ValueType> types = input_types(*site_.equation.bodies[1]);
        for (std::size_t i = 0; i < carries_; ++i) inputs_[i] = batched_form(types[i]);
    }

    Batches run() {
        YOLK_TRY(condition_,
                 batch_body(*site_.equation.bodies[0], site_.size, inputs_, std::vector{Form::Stacked}, rules_));
        const std::span<const Form> carried = std::span(inputs_).first(carries_);
        YOLK_TRY(step_, batch_body(*site_.equation.bodies[1], site_.size, inputs_, carried, rules_));
        EquationWriter& emit = site_.emit;
        std::vector<Batched> start;
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            start.push_back(in_form(emit, site_.size, site_.operands[i], inputs_[i]));
        std::vector<Atom> values;
        append_atoms(values, start);
        Equation loop = site_.equation;
        loop.operands = {emit.spliced(condition_.graph, values)[0]};
        loop.operands.insert(loop.operands.end(), values.begin(), values.end());
        YOLK_TRY(Body condition, any_alive());
        YOLK_TRY(Body step, alive_step());
        loop.bodies = {std::move(condition), std::move(step)};
        const std::size_t count = atom_count(carried, site_.size);
        loop.attributes = {{"carries", static_cast<std::int64_t>(count + 1)},
                           {"limit", *find_attribute(site_.equation, "limit")}};
        const std::vector<Atom> atoms = emit.all(std::move(loop), count + 1);
        return emit.done(grouped(std::span(atoms).subspan(1), carried, site_.results, site_.size));
    }

   private:
    /// The mask and the step's inputs, as inputs of a body.
    std::vector<Atom> add_inputs(GraphBuilder& builder) const {
        std::vector<Atom> atoms{builder.input("alive", {ValueKind::Tensor, {site_.size}})};
        for (const auto& [name, id] : step_.graph.inputs)
            atoms.emplace_back(builder.input(name, step_.graph.variables[id.value].type));
        return atoms;
    }

    Result<Body> any_alive() const {
        GraphBuilder builder(condition_.graph.name);
        EquationWriter emit(builder);
        const std::vector<Atom> inputs = add_inputs(builder);
        const Attributes along{{"dimension", std::int64_t{0}}, {"keep", std::int64_t{1}}};
        const Atom any = emit("less", {Value(0.0), emit("max", {inputs[0]}, along)});
        YOLK_TRY(Atom holds, emit.done(any));
        return shared_body(std::move(builder).finish({std::move(holds)}));
    }

    Result<Body> alive_step() const {
        GraphBuilder builder(step_.graph.name);
        EquationWriter emit(builder);
        const std::vector<Atom> inputs = add_inputs(builder);
        std::vector<Atom> values(inputs.begin() + 1, inputs.end());
        const std::span<const Form> carried = std::span(inputs_).first(carries_);
        const std::vector<Batched> before = grouped(values, carried, site_.results, site_.size);
        const std::vector<Batched> after =
            grouped(emit.spliced(step_.graph, values), carried, site_.results, site_.size);
        std::vector<Batched> kept;
        for (std::size_t i = 0; i < carries_; ++i)
            kept.push_back(masked(emit, site_.size, inputs[0], after[i], before[i]));
        std::vector<Atom> outputs;
        append_atoms(outputs, kept);
        std::ranges::copy(outputs, values.begin());
        const Atom alive = emit.multiply(inputs[0], emit.spliced(condition_.graph, values)[0]);
        outputs.insert(outputs.begin(), alive);
        YOLK_TRY(outputs, emit.done(std::move(outputs)));
        return shared_body(std::move(builder).finish(std::move(outputs)));
    }

    BatchSite& site_;
    std::size_t carries_;
    std::vector<Form> inputs_;
    const RuleTable<BatchRule>& rules_;
    BatchedBody condition_{}, step_{};
};

Batches batch_while_loop(BatchSite& site, const RuleTable<BatchRule>& rules) {
    const auto carries = static_cast<std::size_t>(site.integer("carries", 0));
    std::vector<Form> inputs = forms_of(site.operands);
    YOLK_TRY_VOID(grow_carries(*site.equation.bodies[1], site.size, carries, inputs, rules));
    YOLK_TRY(BatchedBody condition, batch_body(*site.equation.bodies[0], site.size, inputs, {}, rules));
    if (condition.forms[0] != Form::Shared) return MaskedLoop(site, carries, std::move(inputs), rules).run();
    const std::vector<Form> outputs(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(carries));
    YOLK_TRY(BatchedBody step, batch_body(*site.equation.bodies[1], site.size, inputs, outputs, rules));
    Equation loop = site.equation;
    loop.operands.clear();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Batched value = in_form(site.emit, site.size, site.operands[i], inputs[i]);
        loop.operands.insert(loop.operands.end(), value.atoms.begin(), value.atoms.end());
    }
    const std::size_t count = atom_count(outputs, site.size);
    loop.attributes = {{"carries", static_cast<std::int64_t>(count)},
                       {"limit", *find_attribute(site.equation, "limit")}};
    loop.bodies = {shared_body(std::move(condition.graph)), shared_body(std::move(step.graph))};
    return site.emit.done(grouped(site.emit.all(std::move(loop), count), outputs, site.results, site.size));
}

}  // namespace

Batches batch_bodies(BatchSite& site, const RuleTable<BatchRule>& rules) {
    const Equation& equation = site.equation;
    if (is(equation, "call") || is(equation, "parallel") || is(equation, "weighted"))
        return batch_branches(site, 0, rules);
    if (is(equation, "switch") && site.is_shared(0)) return batch_branches(site, 1, rules);
    if (!has_effects(equation)) {
        if (is(equation, "switch")) return batch_choices(site, rules);
        if (is(equation, "scan")) return batch_scan(site, rules);
        if (is(equation, "while_loop")) return batch_while_loop(site, rules);
    }
    return site.emit.done(repeated(site));
}

}  // namespace yolk::hyper
