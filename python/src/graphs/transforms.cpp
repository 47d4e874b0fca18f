// SPDX-License-Identifier: Apache-2.0
// The library's transforms of graphs (yolk/graph.hpp), with Python functions as rules and predicates.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/lock.hpp"
#include "graphs/graphs.hpp"
#include "tracing/at_once.hpp"
#include "tracing/callables.hpp"
#include "tracing/traced.hpp"
#include "tracing/values.hpp"
#include "yolk/internal/hyper/control.hpp"

namespace yolk::python {
namespace {

namespace h = hyper;
using h::Atom;
using h::Equation;
using h::GraphBuilder;
using Tangents = std::vector<h::Tangent>;
using Atoms = std::vector<Atom>;

/// What a transform came to. What a rule or predicate raised comes out as it was raised.
template <class T>
T done(Result<T> result) {
    if (const auto kept = take_kept()) throw nb::python_error(std::move(*kept));
    return unwrap(std::move(result));
}
RawGraph graph_done(Result<h::Graph> result) { return RawGraph::of(done(std::move(result))); }

/// The first of a host call is its hyperfunction's parameters: a literal [0] where it has none, which rules do not see.
std::size_t hidden_operands(const Equation& equation, std::span<const Atom> operands) {
    if (equation.host == nullptr || operands.empty()) return 0;
    const auto* literal = std::get_if<h::Value>(&operands[0]);
    return literal != nullptr && *literal == h::Value(h::Tensor()) ? 1 : 0;
}

/// The equations of a graph behind those of the builder.
Result<Atoms> spliced(GraphBuilder& builder, const h::Graph& body, std::span<const Atom> inputs) {
    std::vector<std::optional<Atom>> known(body.variables.size());
    const auto mapped = [&](const Atom& atom) {
        const auto* id = std::get_if<h::VariableId>(&atom);
        return id != nullptr ? *known[id->value] : atom;
    };
    for (std::size_t i = 0; i < inputs.size(); ++i) known[body.inputs[i].second.value] = inputs[i];
    for (const Equation& equation : body.equations) {
        Equation copy = equation;
        std::vector<h::ValueType> types;
        std::ranges::transform(equation.operands, copy.operands.begin(), mapped);
        for (const h::VariableId id : equation.results) types.push_back(body.variables[id.value].type);
        YOLK_TRY(const Atoms results, builder.add(std::move(copy), types));
        for (std::size_t i = 0; i < results.size(); ++i) known[equation.results[i].value] = results[i];
    }
    Atoms outputs;
    std::ranges::transform(body.outputs, std::back_inserter(outputs), mapped);
    return outputs;
}

/// A rule's answer in the type that is wanted: a number goes to every element of a tensor.
Result<Atom> of_type(GraphBuilder& builder, Atom atom, const h::ValueType& wanted, const std::string& what) {
    const h::ValueType given = builder.type(atom);
    if (given == wanted) return atom;
    const bool is_number = given.kind == h::ValueKind::Number || given.kind == h::ValueKind::Integer;
    if (const auto* literal = std::get_if<h::Value>(&atom); literal != nullptr && is_number) {
        if (auto conformed = h::conformed(*literal, wanted); conformed && h::type_of(*conformed) == wanted)
            return Atom(*std::move(conformed));
    }
    if (is_number && wanted.kind == h::ValueKind::Tensor) return builder.apply("add", {h::blank_of(wanted), atom});
    return bad_input("{} is a {}; a {} is needed, the type of what it is for.", what, h::to_string(given),
                     h::to_string(wanted));
}

/// Python's rule over traced values: `given` in groups, each a tuple; what it gives, one for each of `wanted`.
class Rule {
   public:
    Rule(nb::object function, std::string name, std::string what)
        : function_(keep(std::move(function))), name_(std::move(name)), what_(std::move(what)) {}

    Result<Tangents> operator()(GraphBuilder& builder, const std::vector<Atoms>& groups,
                                std::span<const h::ValueType> wanted) const {
        std::vector<std::pair<std::string, h::ValueType>> inputs;
        Atoms given;
        for (const Atoms& group : groups) {
            for (const Atom& atom : group) {
                inputs.emplace_back(fmt::format("{}", given.size()), builder.type(atom));
                given.push_back(atom);
            }
        }
        std::vector<bool> none;
        const std::string label = fmt::format("The {} rule of '{}'", what_, name_);
        YOLK_TRY(const h::Graph body, h::trace(label, inputs, [&](std::span<const h::Traced> values) {
                     return called(groups, values, wanted.size(), none);
                 }));
        if (!body.parameters.empty())
            return bad_input("{} calls the hyperfunction '{}', which has parameters; rules take none.", label,
                             body.parameters[0].group);
        YOLK_TRY(const Atoms outputs, spliced(builder, body, given));
        Tangents tangents(wanted.size());
        for (std::size_t i = 0, next = 0; i < wanted.size(); ++i) {
            if (none[i]) continue;
            YOLK_TRY(Atom tangent,
                     of_type(builder, outputs[next++], wanted[i], fmt::format("Value {} of {}", i, label)));
            tangents[i] = std::move(tangent);
        }
        return tangents;
    }

   private:
    h::TracedValues called(const std::vector<Atoms>& groups, std::span<const h::Traced> values, std::size_t count,
                           std::vector<bool>& none) const {
        const InsideBody inside;
        try {
            nb::list arguments;
            std::size_t next = 0;
            for (const Atoms& group : groups) {
                nb::list part;
                for (std::size_t i = 0; i < group.size(); ++i) part.append(nb::cast(values[next++]));
                arguments.append(nb::tuple(part));
            }
            const nb::object result = apply_python(*function_, nb::tuple(arguments));
            nb::list all;
            if (PyTuple_Check(result.ptr()) || PyList_Check(result.ptr())) {
                for (const nb::handle one : result) all.append(one);
            } else {
                all.append(result);
            }
            if (nb::len(all) != count) {
                throw Raised(bad_input("The {} rule of '{}' gave {} values; {} are needed (None where nothing moves).",
                                       what_, name_, nb::len(all), count));
            }
            h::TracedValues outputs;
            for (const nb::handle one : all) {
                none.push_back(one.is_none());
                if (!none.back()) outputs.push_back(traced_of(one));
            }
            return outputs;
        } catch (nb::python_error& raised) {
            std::string message = words_of(raised);
            keep_raised(std::move(raised));
            throw std::runtime_error(message);
        }
    }

    Kept function_;
    std::string name_;
    std::string what_;  // "pushforward"
};

Atom or_blank(GraphBuilder& builder, const h::Tangent& tangent, const Atom& like) {
    return tangent ? *tangent : Atom(h::blank_of(builder.type(like)));
}

h::HyperfunctionRules<h::PushRule> push_rules(const nb::dict& given) {
    h::HyperfunctionRules<h::PushRule> rules;
    for (const auto& [key, function] : given) {
        const auto name = nb::cast<std::string>(key);
        rules[name] = [rule = Rule(nb::borrow(function), name, "pushforward")](
                          GraphBuilder& builder, const Equation& equation, std::span<const Atom> operands,
                          std::span<const h::Tangent> tangents, std::span<const Atom> results) {
            std::vector<Atoms> groups(3);
            std::vector<h::ValueType> wanted;
            for (std::size_t i = hidden_operands(equation, operands); i < operands.size(); ++i) {
                groups[0].push_back(operands[i]);
                groups[1].push_back(or_blank(builder, tangents[i], operands[i]));
            }
            for (const Atom& result : results) {
                groups[2].push_back(result);
                wanted.push_back(builder.type(result));
            }
            return rule(builder, groups, wanted);
        };
    }
    return rules;
}

h::HyperfunctionRules<h::PullRule> pull_rules(const nb::dict& given) {
    h::HyperfunctionRules<h::PullRule> rules;
    for (const auto& [key, function] : given) {
        const auto name = nb::cast<std::string>(key);
        rules[name] = [rule = Rule(nb::borrow(function), name, "pullback")](
                          GraphBuilder& builder, const Equation& equation, std::span<const Atom> operands,
                          std::span<const Atom> results, std::span<const h::Tangent> cotangents,
                          const std::vector<bool>& /*wanted*/) -> Result<Tangents> {
            std::vector<Atoms> groups(3);
            std::vector<h::ValueType> wanted;
            const std::size_t hidden = hidden_operands(equation, operands);
            for (std::size_t i = hidden; i < operands.size(); ++i) {
                groups[0].push_back(operands[i]);
                wanted.push_back(builder.type(operands[i]));
            }
            for (std::size_t i = 0; i < results.size(); ++i) {
                groups[1].push_back(results[i]);
                groups[2].push_back(or_blank(builder, cotangents[i], results[i]));
            }
            YOLK_TRY(Tangents back, rule(builder, groups, wanted));
            back.insert(back.begin(), hidden, h::Tangent());
            return back;
        };
    }
    return rules;
}

RawGraph pulled(const RawGraph& raw, std::optional<std::vector<std::string>> inputs,
                std::optional<std::vector<std::string>> parameters, const nb::dict& rules) {
    h::PullbackOptions options{.inputs = std::move(inputs), .parameters = std::move(parameters)};
    options.hyperfunctions = pull_rules(rules);
    return graph_done(h::pullback(*raw.graph, options));
}

RawGraph staged(const RawGraph& raw, nb::handle predicate) {
    if (predicate.is_none()) return graph_done(h::sched(*raw.graph));
    bool failed = false;
    return graph_done(h::sched(*raw.graph, [&](const Equation& equation) {
        if (failed) return false;
        try {
            return is_true(call_python(predicate, nb::cast(equation)));
        } catch (nb::python_error& raised) {
            failed = true;
            keep_raised(std::move(raised));
            return false;
        }
    }));
}

using NamedObjects = std::vector<std::pair<std::string, nb::object>>;

RawGraph with_static(const RawGraph& raw, const NamedObjects& given) {
    std::vector<std::pair<std::string, h::Value>> values;
    for (const auto& [name, object] : given) {
        const auto found =
            std::ranges::find_if(raw.graph->inputs, [&name = name](const auto& input) { return input.first == name; });
        const std::string what = "Input '" + name + "'";
        values.emplace_back(name, found == raw.graph->inputs.end()
                                      ? value_of(object, what)
                                      : value_as(object, raw.graph->variables[found->second.value].type, what));
    }
    return graph_done(h::with_static_inputs(*raw.graph, values));
}

}  // namespace

void bind_transforms(nb::class_<RawGraph>& c) {
    c.def("dce",
          [](const RawGraph& raw, const std::vector<bool>& used) { return graph_done(h::dce(*raw.graph, used)); });
    c.def("inline_calls", [](const RawGraph& raw) { return graph_done(h::inline_calls(*raw.graph)); });
    c.def("as_call", [](const RawGraph& raw) { return graph_done(h::as_call(*raw.graph)); });
    c.def("pushforward", [](const RawGraph& raw, const nb::dict& rules) {
        return graph_done(h::pushforward(*raw.graph, h::pushforward_rules(), push_rules(rules)));
    });
    c.def("pullback", &pulled, nb::arg("inputs").none(), nb::arg("parameters").none(), nb::arg("rules"));
    c.def("batch", [](const RawGraph& raw, std::uint64_t size, std::vector<std::optional<std::size_t>> axes) {
        return graph_done(h::batch(*raw.graph, {.size = size, .axes = std::move(axes)}));
    });
    c.def("sched", &staged, nb::arg("eligible").none());
    c.def("weighted", [](const RawGraph& raw) { return graph_done(h::weighted(*raw.graph)); });
    c.def("collect", [](const RawGraph& raw, const std::string& collection) {
        h::Collected collected = done(h::collect(*raw.graph, collection));
        return std::pair(RawGraph::of(std::move(collected.graph)), std::move(collected.keys));
    });
    c.def("inject", [](const RawGraph& raw, const std::string& collection, const NamedObjects& given) {
        std::vector<std::pair<std::string, h::Value>> values;
        for (const auto& [key, object] : given)
            values.emplace_back(key, value_of(object, "The value of '" + key + "'"));
        return graph_done(h::inject(*raw.graph, collection, values));
    });
    c.def("with_static_inputs", &with_static);
    c.def("fold", [](const RawGraph& raw) { return graph_done(h::fold(*raw.graph)); });
    c.def("folded_outputs", [](const RawGraph& raw) {
        nb::list all;
        for (const h::Value& value : done(h::folded_outputs(*raw.graph))) all.append(python_of(value));
        return all;
    });
}

}  // namespace yolk::python
