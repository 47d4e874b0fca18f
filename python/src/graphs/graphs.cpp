// SPDX-License-Identifier: Apache-2.0
#include "graphs/graphs.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <variant>

#include "base/interrupt.hpp"
#include "tracing/at_once.hpp"
#include "tracing/callables.hpp"
#include "tracing/traced.hpp"
#include "tracing/values.hpp"
#include "yolk/internal/hyper/control.hpp"
#include "yolk/internal/hyper/foreign_code.hpp"

namespace yolk::python {
namespace {

namespace h = hyper;

/// (name, type in words, its kind, whether it moves) of an input or output.
using Described = std::tuple<std::string, std::string, std::string, bool>;

bool moves(const h::ValueType& type) {
    using h::ValueKind;
    if (type.kind == ValueKind::Record) {
        for (const auto& [name, field] : type.fields) {
            if (moves(field)) return true;
        }
    }
    return type.kind == ValueKind::Tensor || type.kind == ValueKind::Number || type.kind == ValueKind::Text;
}

Described described(const std::string& name, const h::ValueType& type) {
    return {name, h::to_string(type), std::string(h::to_string(type.kind)), moves(type)};
}

const h::ValueType& type_of_variable(const h::Graph& graph, h::VariableId id) { return graph.variables[id.value].type; }

std::vector<Described> inputs_of_graph(const RawGraph& raw) {
    std::vector<Described> all;
    for (const auto& [name, id] : raw.graph->inputs) all.push_back(described(name, type_of_variable(*raw.graph, id)));
    return all;
}

std::vector<Described> outputs_of_graph(const RawGraph& raw) {
    std::vector<Described> all;
    for (std::size_t i = 0; i < raw.graph->outputs.size(); ++i) {
        const h::Atom& output = raw.graph->outputs[i];
        const auto* id = std::get_if<h::VariableId>(&output);
        const h::ValueType type =
            id != nullptr ? type_of_variable(*raw.graph, *id) : h::type_of(std::get<h::Value>(output));
        all.push_back(described(i < raw.graph->output_names.size() ? raw.graph->output_names[i] : "", type));
    }
    return all;
}

std::vector<Described> parameters_of_graph(const RawGraph& raw) {
    std::vector<Described> all;
    for (const auto& [id, group] : raw.graph->parameters)
        all.push_back(described(group, type_of_variable(*raw.graph, id)));
    return all;
}

/// The graph of a Python function: it gets a list of traced values, and gives a list of outputs.
RawGraph trace(const std::string& name, const std::vector<std::string>& names, const nb::list& examples,
               nb::callable function) {
    std::vector<std::pair<std::string, h::ValueType>> inputs;
    for (std::size_t i = 0; i < names.size(); ++i)
        inputs.emplace_back(names[i], h::type_of(value_of(examples[i], "The example of '" + names[i] + "'")));
    auto graph = h::trace(name, inputs, [&](std::span<const h::Traced> values) {
        const InsideBody inside;
        try {
            nb::list given;
            for (const h::Traced& value : values) given.append(nb::cast(value));
            h::TracedValues outputs;
            for (const nb::handle output : nb::list(call_python(function, given))) outputs.push_back(traced_of(output));
            return outputs;
        } catch (nb::python_error& raised) {
            std::string message = words_of(raised);
            keep_raised(std::move(raised));
            throw std::runtime_error(message);
        }
    });
    if (const auto kept = take_kept(); kept && !graph) throw nb::python_error(std::move(*kept));
    return RawGraph::of(unwrap(std::move(graph)));
}

h::GraphArguments arguments_of(const h::Graph& graph, const nb::list& inputs, const nb::list& parameters) {
    h::GraphArguments arguments;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
        const auto& [name, id] = graph.inputs[i];
        arguments.inputs.push_back(value_as(inputs[i], type_of_variable(graph, id), "Input '" + name + "'"));
    }
    for (std::size_t i = 0; i < graph.parameters.size(); ++i) {
        const auto& [id, group] = graph.parameters[i];
        arguments.parameters.push_back(
            value_as(parameters[i], type_of_variable(graph, id), "The parameter '" + group + "'"));
    }
    return arguments;
}

nb::list python_values(const std::vector<h::Value>& values) {
    nb::list all;
    for (const h::Value& value : values) all.append(python_of(value));
    return all;
}

/// Work of a graph without the interpreter's lock; what a host function raised comes out as it was raised. `here`: they
/// run in this thread alone.
template <class Work>
auto run(bool here, Work work) {
    static_cast<void>(take_kept());
    RaisedInside inside;
    std::optional<decltype(work())> result;
    {
        const Interruptible interruptible;
        const WithoutLock released;
        const KeptHere kept_here(here);
        const h::LoopsHeedStop at_ctrl_c;
        result = work();
    }
    if (const auto raised = here ? take_kept() : inside.take(); raised && !*result)
        throw nb::python_error(std::move(*raised));
    Interruptible::raise_if_requested();
    return unwrap(std::move(*result));
}

/// threads: of the pool that host functions overlap on; 0: one after the other, in the caller's thread.
nb::list call_graph(const RawGraph& raw, const nb::list& inputs, const nb::list& parameters, h::Memo* memo,
                    std::uint32_t threads) {
    const h::GraphArguments arguments = arguments_of(*raw.graph, inputs, parameters);
    return python_values(run(threads == 0, [&]() -> Result<std::vector<h::Value>> {
        if (memo != nullptr) return h::call(*raw.graph, arguments, *memo);
        if (threads == 0) return h::call(*raw.graph, arguments);
        YOLK_TRY(h::HostPool pool, h::HostPool::create({.threads = threads}));
        return h::call_async(*raw.graph, arguments, pool);
    }));
}

std::string shown(const RawGraph& raw, const std::string& how) {
    std::vector<h::PlacedEquation> placed;
    if (!raw.varying.empty()) {
        auto found = h::place(*raw.graph, raw.varying);
        if (found) placed = *std::move(found);
    }
    if (how == "svg") return unwrap(h::to_svg(*raw.graph, placed));
    if (how == "dot") return unwrap(h::to_dot(*raw.graph, placed));
    return unwrap(h::to_text(*raw.graph, placed));
}

nb::list equations_of(const RawGraph& raw) {
    nb::list all;
    for (const h::Equation& equation : raw.graph->equations) all.append(nb::cast(equation));
    return all;
}

/// One equation after the other. Calls of several threads are refused.
class PythonWalk {
   public:
    PythonWalk(std::shared_ptr<const h::Graph> graph, h::Walk walk)
        : graph_(std::move(graph)), walk_(std::move(walk)) {}
    static std::unique_ptr<PythonWalk> of(const RawGraph& raw, const nb::list& inputs, const nb::list& parameters) {
        h::Walk walk = unwrap(h::Walk::create(*raw.graph, arguments_of(*raw.graph, inputs, parameters)));
        return std::make_unique<PythonWalk>(raw.graph, std::move(walk));
    }
    nb::typed<nb::object, std::optional<h::Equation>> next() const {
        return nb::cast(walk_.next() == nullptr ? std::nullopt : std::optional(*walk_.next()));
    }
    nb::list operands() {
        const auto lock = alone();
        check_there("operands()");
        return python_values(unwrap(walk_.operands()));
    }
    nb::list step() {
        const auto lock = alone();
        check_there("step()");
        return python_values(run(true, [&] { return walk_.step(); }));
    }
    void skip(const nb::list& results) {
        const auto lock = alone();
        check_there("skip()");
        const h::Equation& equation = *walk_.next();
        std::vector<h::Value> values;
        for (const nb::handle result : results) {
            const std::size_t at = values.size();
            const std::string what = "Result " + std::to_string(at);
            values.push_back(at < equation.results.size()
                                 ? value_as(result, type_of_variable(*graph_, equation.results[at]), what)
                                 : value_of(result, what));
        }
        unwrap(walk_.skip(std::move(values)));
    }
    nb::list outputs() {
        const auto lock = alone();
        return python_values(unwrap(walk_.outputs()));
    }

   private:
    std::unique_lock<std::mutex> alone() {
        std::unique_lock lock(one_at_a_time_, std::try_to_lock);
        if (!lock.owns_lock())
            throw Raised(bad_input("Another call of this walk is under way; take one walk per thread."));
        return lock;
    }
    void check_there(const char* what) const {
        if (walk_.next() == nullptr) throw Raised(bad_input("{}: the walk is at its end.", what));
    }
    std::mutex one_at_a_time_;
    std::shared_ptr<const h::Graph> graph_;
    h::Walk walk_;
};

void bind_equations(nb::module_& module) {
    nb::class_<h::Equation>(module, "Equation", "One equation of a graph.")
        .def_prop_ro("operation", [](const h::Equation& e) { return std::string(e.operation->name); })
        .def_ro("hyperfunction", &h::Equation::hyperfunction, "Whose body it comes from; empty: the traced function's.")
        .def_ro("call", &h::Equation::call, "Which of that hyperfunction's calls.")
        .def_ro("tags", &h::Equation::tags, "Of the yolk.tag that it was traced in, outermost first.")
        .def_prop_ro(
            "is_host", [](const h::Equation& e) { return e.host != nullptr; }, "Whether it calls a host function.")
        .def_prop_ro(
            "line",
            [](const h::Equation& e) -> std::optional<std::pair<std::string, std::uint32_t>> {
                if (!e.made_at) return std::nullopt;
                return std::pair<std::string, std::uint32_t>(e.made_at->file_name(), e.made_at->line());
            },
            "(file, line) of the program; None where it is not known.")
        .def_prop_ro("attributes",
                     [](const h::Equation& e) {
                         nb::dict all;
                         for (const auto& [name, value] : e.attributes)
                             all[name.c_str()] = std::visit([](const auto& each) { return nb::cast(each); }, value);
                         return all;
                     })
        .def_prop_ro(
            "bodies",
            [](const h::Equation& e) {
                // As graphs of the package: yolk._graph.from_raw.
                const nb::object from_raw = nb::module_::import_("yolk._graphs.graph").attr("from_raw");
                nb::list all;
                for (const auto& body : e.bodies)
                    all.append(from_raw(nb::cast(RawGraph{body, {}}), nb::dict(), nb::dict(), "tuple"));
                return all;
            },
            "Of a call, a branch or a loop: a list of yolk.Graph.")
        .def("__repr__", [](const h::Equation& e) {
            return "<yolk.Equation " + std::string(e.operation->name) +
                   (e.hyperfunction.empty() ? std::string() : " of " + e.hyperfunction) + ">";
        });
    nb::class_<h::Memo>(module, "Memo", "Results of equations by what went in. Threads may share it.")
        .def(nb::init<>())
        .def_prop_ro("hits", &h::Memo::hits)
        .def_prop_ro("misses", &h::Memo::misses);
    nb::class_<PythonWalk>(module, "RawWalk")
        .def_prop_ro("next", &PythonWalk::next)
        .def("operands", &PythonWalk::operands)
        .def("step", &PythonWalk::step)
        .def("skip", &PythonWalk::skip, nb::arg("results"))
        .def("outputs", &PythonWalk::outputs);
}

}  // namespace

h::Value value_as(nb::handle object, const h::ValueType& type, const std::string& what) {
    if (nb::isinstance<h::Traced>(object) && h::literal_of(nb::cast<const h::Traced&>(object)) == nullptr)
        throw Raised(bad_input("{} is a traced value; graphs run on values. Call the function itself there.", what));
    h::Value value = value_of(object, what);
    if (type.kind == h::ValueKind::Tensor && value.tensor() == nullptr && value.text() == nullptr) {
        if (auto tensor = h::tensor_of(value)) value = *std::move(tensor);
    }
    const bool is_one = value.tensor() != nullptr && value.tensor()->values().size() == 1;
    if (is_one && type.kind == h::ValueKind::Number) value = unwrap(value.as_number());
    if (is_one && type.kind == h::ValueKind::Integer) value = unwrap(value.as_integer());
    if (value.number() != nullptr && type.kind == h::ValueKind::Tensor && type.shape == Shape{1})
        value = h::Tensor::vector({static_cast<float>(*value.number())});
    if (auto conformed = h::conformed(value, type)) value = *std::move(conformed);
    if (h::type_of(value) == type) return value;
    throw Raised(bad_input("{} is a {}; a {} was given.", what, h::to_string(type), h::to_string(h::type_of(value))));
}

void bind_graphs(nb::module_& module) {
    nb::class_<RawGraph> c(module, "RawGraph", "The graph behind yolk.Graph.");
    bind_equations(module);
    c.def_static("trace", &trace, nb::arg("name"), nb::arg("names"), nb::arg("examples"), nb::arg("function"));
    c.def("named_outputs", [](const RawGraph& raw, std::vector<std::string> names) {
        h::Graph graph = *raw.graph;
        graph.output_names = std::move(names);
        unwrap(h::validate(graph));
        return RawGraph::of(std::move(graph));
    });
    c.def_prop_ro("name", [](const RawGraph& raw) { return raw.graph->name; });
    c.def("__len__", [](const RawGraph& raw) { return raw.graph->equations.size(); });
    c.def("inputs", &inputs_of_graph);
    c.def("outputs", &outputs_of_graph);
    c.def("parameters", &parameters_of_graph);
    c.def("equations", &equations_of);
    c.def("call", &call_graph, nb::arg("inputs"), nb::arg("parameters"), nb::arg("memo").none(), nb::arg("threads"));
    c.def("walk", &PythonWalk::of, nb::arg("inputs"), nb::arg("parameters"));
    c.def("shown", &shown, nb::arg("how"));
    c.def("stages", [](const RawGraph& raw) { return unwrap(h::stages(*raw.graph)); });
    c.def("signature", [](const RawGraph& raw) { return unwrap(h::signature(*raw.graph)); });
    bind_transforms(c);
}

}  // namespace yolk::python
