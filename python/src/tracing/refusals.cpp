// SPDX-License-Identifier: Apache-2.0
// What a traced value cannot be, with what to use in its place. Literals can be all of it.
#include <nanobind/stl/string.h>

#include <string>

#include "base/lock.hpp"
#include "tracing/traced.hpp"
#include "tracing/values.hpp"
#include "yolk/internal/hyper/foreign_code.hpp"

namespace yolk::python {
namespace {

namespace h = hyper;
namespace nb = nanobind;
using h::Traced;

/// A literal as a Python value: what was made of plain values alone.
nb::object plain_value(const Traced& x, const char* what, const char* instead) {
    const h::Value* value = h::literal_of(x);
    if (value == nullptr) refuse_use(what, instead);
    return python_of(*value);
}

}  // namespace

void refuse_use(const char* what, const char* instead) {
    PyErr_SetString(
        nb::module_::import_("yolk.errors").attr("Untraceable").ptr(),
        (std::string(what) + " a traced value is not possible: the graph would hold for this example only. " + instead)
            .c_str());
    throw nb::python_error();
}

void bind_refusals(nb::class_<Traced>& c) {
    constexpr const char* kKeep = "Keep it traced, or use a host function.";
    constexpr const char* kFormat = "Use yolk.format(\"... {} ...\", value), which writes it when the graph runs.";
    c.def("__bool__", [](const Traced& x) -> bool {
        const nb::object value = plain_value(
            x, "Choosing by",
            "Use yolk.where(condition, a, b) or yolk.switch_on, or `&`, `|` and `~` in place of and, or and not.");
        return is_true(value);
    });
    c.def("__float__", [](const Traced& x) { return nb::float_(plain_value(x, "A float of", kKeep)); });
    c.def("__int__", [](const Traced& x) { return nb::int_(plain_value(x, "An int of", kKeep)); });
    c.def("__index__", [](const Traced& x) {
        return nb::int_(plain_value(x, "Indexing by", "Index a traced value by it, or use yolk.gather."));
    });
    c.def("__str__", [](const Traced& x) { return python_str(plain_value(x, "A text of", kFormat)); });
    c.def("__format__", [](const Traced& x, nb::handle how) {
        return call_python("builtins", "format", plain_value(x, "A text of", kFormat), how);
    });
    c.def("__contains__",
          [](const Traced&, nb::handle) -> bool { refuse_use("`in` on", "Use yolk.contains(text, word) for texts."); });
    c.def("__array__", [](const Traced& x, nb::args, nb::kwargs) {
        const nb::object value =
            plain_value(x, "A NumPy array of",
                        "NumPy's functions take it as it is (np.tanh(x), np.sum(x)); for others use a host function.");
        return call_python("numpy", "asarray", value);
    });
    c.attr("__hash__") = nb::none();
}

}  // namespace yolk::python
