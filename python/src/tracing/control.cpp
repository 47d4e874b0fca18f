// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/control.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "base/lock.hpp"
#include "tracing/at_once.hpp"
#include "tracing/callables.hpp"
#include "tracing/control.hpp"
#include "tracing/traced.hpp"

namespace yolk::python {
namespace {

namespace h = hyper;
using h::Traced;
using h::TracedValues;

bool is_several(nb::handle object) { return PyTuple_Check(object.ptr()) || PyList_Check(object.ptr()); }

/// A tuple or list of values, or a lone one.
TracedValues several_of(nb::handle object) {
    if (!is_several(object)) return {traced_of(object)};
    TracedValues all;
    for (const nb::handle one : object) all.push_back(traced_of(one));
    return all;
}

nb::object python_values(std::span<const Traced> values, bool several) {
    if (!several) return nb::cast(values[0]);
    nb::list all;
    for (const Traced& value : values) all.append(nb::cast(value));
    return nb::tuple(all);
}

/// Calls a body that C++ traces: what it raises is kept, and comes out where the operation returns.
template <class Call>
auto in_body(Call call) -> decltype(call()) {
    try {
        return call();
    } catch (nb::python_error& raised) {
        std::string message = words_of(raised);
        keep_raised(std::move(raised));
        throw std::runtime_error(message);
    }
}

/// Comparisons of numbers give 1 or 0.
Traced as_truth(const Traced& condition, h::Line line) {
    return condition.type().kind == h::ValueKind::Boolean ? condition : h::less(Traced(0.0), condition, line);
}

nb::object while_loop(nb::handle init, nb::callable condition, nb::callable step, std::uint64_t limit) {
    const bool several = is_several(init);
    const h::Line line = python_line();
    const auto arguments = [](std::span<const Traced> values) { return nb::tuple(python_values(values, true)); };
    const TracedValues last = h::while_loop(
        several_of(init),
        [&](std::span<const Traced> values) {
            return in_body([&] { return as_truth(traced_of(apply_python(condition, arguments(values))), line); });
        },
        [&](std::span<const Traced> values) {
            return in_body([&] { return several_of(apply_python(step, arguments(values))); });
        },
        limit, line);
    raise_error(last);
    return python_values(last, several);
}

nb::object switch_on(nb::handle key, nb::handle branches) {
    const h::Line line = python_line();
    std::vector<std::string> names;
    std::vector<nb::object> bodies;
    const bool named = PyDict_Check(branches.ptr());
    if (named) {
        for (const auto& [name, body] : nb::borrow<nb::dict>(branches)) {
            names.push_back(nb::cast<std::string>(name));
            bodies.push_back(nb::borrow(body));
        }
    } else {
        for (const nb::handle body : branches) bodies.push_back(nb::borrow(body));
    }
    bool several = false;
    std::vector<std::function<TracedValues()>> all;
    for (const nb::object& body : bodies) {
        all.push_back([&several, &body] {
            return in_body([&] {
                const nb::object result = call_python(body);
                several = is_several(result);
                return several_of(result);
            });
        });
    }
    const Traced chosen = named ? h::word_index(traced_of(key), names, line) : traced_of(key);
    const TracedValues results = h::switch_on(chosen, all, line);
    raise_error(results);
    return python_values(results, several);
}

/// What a step of a scan gave: (carry, result), each one value, a tuple of them, or None.
h::Scanned scanned_of(const nb::object& given) {
    if (!PyTuple_Check(given.ptr()) || nb::len(given) != 2) {
        throw Raised(
            bad_input("scan: a step gives (carry, result), with None where it has no result; this one gave {}.",
                      python_repr(given).c_str()));
    }
    const auto values = [](const nb::object& part) { return part.is_none() ? TracedValues() : several_of(part); };
    return {values(given[0]), values(given[1])};
}

nb::object scan(nb::handle init, nb::handle sequences, nb::callable step, std::optional<std::uint64_t> length,
                bool reverse) {
    const h::Line line = python_line();
    const bool several = is_several(init), several_sequences = is_several(sequences);
    const TracedValues carries = several_of(init);
    const TracedValues given = sequences.is_none() ? TracedValues() : several_of(sequences);
    bool several_results = false, no_result = false;
    const h::Scanned all = h::scan(
        carries, given,
        [&](std::span<const Traced> carry, std::span<const Traced> elements) {
            return in_body([&] {
                const nb::object element =
                    sequences.is_none() ? nb::object(nb::none()) : python_values(elements, several_sequences);
                const nb::object result = call_python(step, python_values(carry, several), element);
                h::Scanned scanned = scanned_of(result);
                no_result = nb::object(result[1]).is_none();
                several_results = is_several(result[1]);
                return scanned;
            });
        },
        {.length = length, .reverse = reverse}, line);
    raise_error(all.carries);
    return nb::make_tuple(python_values(all.carries, several),
                          no_result ? nb::object(nb::none()) : python_values(all.results, several_results));
}

Traced custom_call(const std::string& name, nb::handle operands, nb::callable function) {
    return h::custom_call(
        name, several_of(operands),
        [&](std::span<const Traced> values) {
            return in_body([&] { return traced_of(apply_python(function, nb::tuple(python_values(values, true)))); });
        },
        python_line());
}

/// `with yolk.tag("judge"):`. The tags in force are the thread's.
class PythonTag {
   public:
    explicit PythonTag(std::string name) : name_(std::move(name)) {}
    void enter() {
        if (depth_ != 0) throw Raised(bad_input("The tag '{}' is in force already; make another one.", name_));
        in_force().push_back(std::make_unique<h::Tag>(name_));
        depth_ = in_force().size();
    }
    void leave() {
        auto& tags = in_force();
        const std::size_t depth = std::exchange(depth_, 0);
        if (depth == 0 || tags.size() != depth)
            throw Raised(bad_input("The tag '{}' ends in another order or thread than it began.", name_));
        tags.pop_back();
    }

   private:
    static std::vector<std::unique_ptr<h::Tag>>& in_force() {
        thread_local std::vector<std::unique_ptr<h::Tag>> tags;
        return tags;
    }
    std::string name_;
    std::size_t depth_ = 0;  // 0: not in force
};

}  // namespace

void bind_control(nb::module_& operations) {
    AtOnce m(operations);
    operations.def("while_loop", &while_loop, nb::arg("init"), nb::arg("condition"), nb::arg("step"), nb::arg("limit"),
                   "Steps while condition(*values) holds; an error where it still holds after `limit` steps.");
    operations.def(
        "switch_on", &switch_on, nb::arg("key"), nb::arg("branches"),
        "The branch of a whole number, [if false, if true] of a truth value, or the one that a text names in "
        "a dict. Branches are functions without arguments; only the one that is taken runs.");
    operations.def("scan", &scan, nb::arg("init"), nb::arg("sequences").none(), nb::arg("step"),
                   nb::arg("length").none() = nb::none(), nb::arg("reverse") = false,
                   "step(carry, element) -> (carry, result) for each element of the sequences; the last carry, and the "
                   "results stacked.");
    m.def("custom_call", &custom_call, nb::arg("name"), nb::arg("operands"), nb::arg("function"),
          "The function of the operands as one equation, under a name that rules can be given for.");
    m.def(
        "stop_gradient", [](nb::handle x) { return h::stop_gradient(traced_of(x), python_line()); }, nb::arg("x"),
        "x, through which no derivative goes.");
    m.def(
        "checkpoint",
        [](nb::handle x, std::string key, std::string collection) {
            return h::checkpoint(traced_of(x), std::move(key), std::move(collection), python_line());
        },
        nb::arg("x"), nb::arg("key"), nb::arg("collection") = "",
        "x under a name: yolk.collect gives it out, yolk.inject puts another value in its place.");
    m.def(
        "factor", [](nb::handle weight) { return h::factor(traced_of(weight), python_line()); }, nb::arg("weight"),
        "A weight of this path, finite and not negative, for yolk.weighted; the weight itself.");
    m.def(
        "depends",
        [](nb::handle value, nb::args others) {
            Traced result = traced_of(value);
            for (const nb::handle other : others) result = h::depends(result, {traced_of(other)}, python_line());
            return result;
        },
        nb::arg("value"), nb::arg("others"), "value, after the others are there.");
    m.def(
        "to_number", [](nb::handle x) { return h::to_number(traced_of(x), python_line()); }, nb::arg("x"),
        "A tensor of one element, or an integer, as a number.");
    nb::class_<PythonTag>(
        operations, "tag",
        "Equations that are traced within `with yolk.tag(name):` have the tag: for predicates, models "
        "and people.")
        .def(nb::init<std::string>(), nb::arg("name"))
        .def("__enter__",
             [](nb::object self) {
                 nb::cast<PythonTag&>(self).enter();
                 return self;
             })
        .def("__exit__", [](PythonTag& tag, nb::args) { tag.leave(); });
}

}  // namespace yolk::python
