// SPDX-License-Identifier: Apache-2.0
#include "tracing/traced.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "base/lock.hpp"
#include "tracing/at_once.hpp"
#include "tracing/control.hpp"
#include "tracing/values.hpp"
#include "yolk/internal/hyper/foreign_code.hpp"
#include "yolk/internal/hyper/traced_layers.hpp"

namespace yolk::python {
namespace {

namespace h = hyper;
using h::Traced;
using Dimensions = std::vector<std::int64_t>;

template <Traced (*kFunction)(const Traced&, h::Line)>
Traced unary(nb::handle x) {
    return kFunction(traced_of(x), python_line());
}
template <Traced (*kFunction)(const Traced&, const Traced&, h::Line)>
Traced binary(nb::handle a, nb::handle b) {
    return kFunction(traced_of(a), traced_of(b), python_line());
}

template <Traced (*kOne)(const Traced&, std::int64_t, bool, h::Line),
          Traced (*kSeveral)(const Traced&, const h::Integers&, bool, h::Line)>
Traced reduced(nb::handle x, nb::handle axis, bool keepdims) {
    const Traced value = traced_of(x);
    if (PyIndex_Check(axis.ptr())) return kOne(value, nb::cast<std::int64_t>(axis), keepdims, python_line());
    Dimensions dimensions;
    if (axis.is_none()) {
        for (std::size_t i = 0; i < value.shape().rank(); ++i) dimensions.push_back(static_cast<std::int64_t>(i));
    } else if (!nb::try_cast(axis, dimensions)) {
        throw Raised(
            bad_input("axis is {}; a whole number, several of them, or None is needed.", python_repr(axis).c_str()));
    }
    return kSeveral(value, dimensions, keepdims, python_line());
}

/// NumPy's product: matrices, with a vector on either side.
Traced product(nb::handle left, nb::handle right) {
    const Traced a = traced_of(left), b = traced_of(right);
    const h::Line line = python_line();
    if (a.shape().rank() == 2 && b.shape().rank() == 1) return h::linear(a, b, line);
    if (a.shape().rank() == 1 && b.shape().rank() == 2) return h::linear_transposed(b, a, line);
    if (a.shape().rank() == 1 && b.shape().rank() == 1) {
        const h::Located other(b, line);
        return h::sum(a * other, -1, false, line);
    }
    return h::matmul(a, b, line);
}

h::Range range_of(nb::handle slice) {
    const auto part = [&](const char* name) -> std::optional<std::int64_t> {
        const nb::object value = slice.attr(name);
        if (value.is_none()) return std::nullopt;
        return nb::cast<std::int64_t>(value);
    };
    return {.start = part("start").value_or(0), .stop = part("stop"), .step = part("step").value_or(1)};
}

/// x[1], x[2:5], x[:, 0], x[..., 1:], x["field"], x[ids].
Traced taken(const Traced& x, nb::handle key) {
    const h::Line line = python_line();
    if (PyUnicode_Check(key.ptr())) return h::field(x, nb::cast<std::string>(key), line);
    if (nb::isinstance<Traced>(key)) {
        const Traced& at = nb::cast<const Traced&>(key);
        return x.type().kind == h::ValueKind::List ? h::item(x, at, std::nullopt, line) : h::gather(x, at, 0, line);
    }
    if (x.type().kind == h::ValueKind::List) return h::item(x, traced_of(key), std::nullopt, line);
    nb::list parts;
    if (PyTuple_Check(key.ptr())) {
        for (const nb::handle part : key) parts.append(part);
    } else {
        parts.append(key);
    }
    const std::size_t given = nb::len(parts), rank = x.shape().rank();
    Traced value = x;
    std::int64_t dimension = 0;
    std::size_t left = given;
    for (const nb::handle part : parts) {
        --left;
        if (part.ptr() == Py_Ellipsis) {
            dimension = static_cast<std::int64_t>(rank - left) - static_cast<std::int64_t>(rank - value.shape().rank());
        } else if (PySlice_Check(part.ptr())) {
            value = h::slice(value, dimension++, range_of(part), line);
        } else if (PyIndex_Check(part.ptr())) {
            value = h::index(value, nb::cast<std::int64_t>(part), dimension, line);
        } else {
            throw Raised(
                bad_input("A traced value cannot be indexed by {}; whole numbers, slices, ..., a traced tensor of "
                          "ids or the name of a field are taken.",
                          python_repr(part).c_str()));
        }
    }
    return value;
}

std::vector<Traced> all_of(nb::handle list) {
    std::vector<Traced> all;
    for (const nb::handle one : list) all.push_back(traced_of(one));
    return all;
}

Dimensions shape_of(const Traced& x) {
    const auto extents = x.shape().extents();
    return {extents.begin(), extents.end()};
}
Shape shape_from(const std::vector<std::uint64_t>& extents) { return Shape(extents); }

template <Traced (*kFunction)(const Traced&, const Traced&, h::Line)>
auto comparing() {
    return [](const Traced& a, nb::handle b) { return kFunction(a, traced_of(b), python_line()); };
}

bool is_text(const Traced& x) { return x.type().kind == h::ValueKind::Text; }
/// Comparisons of texts are truth values of the graph; those of numbers are 1 or 0 (`&` is then the smaller of two).
bool is_truth(const Traced& x) { return x.type().kind == h::ValueKind::Boolean; }
Traced same_as(const Traced& a, const Traced& b) {
    return is_text(a) ? h::match(a, b, h::Match::Equal, python_line()) : h::equal_to(a, b, python_line());
}

void bind_operators(AtOnce<nb::class_<Traced>> c) {
    const auto operators = [&c](const char* name, const char* reversed, auto apply) {
        c.def(name,
              [apply](const Traced& a, nb::handle b) { return apply(a, h::Located(traced_of(b), python_line())); });
        c.def(reversed,
              [apply](const Traced& a, nb::handle b) { return apply(traced_of(b), h::Located(a, python_line())); });
    };
    operators("__add__", "__radd__", [](const Traced& a, const h::Located& b) { return a + b; });
    operators("__sub__", "__rsub__", [](const Traced& a, const h::Located& b) { return a - b; });
    operators("__mul__", "__rmul__", [](const Traced& a, const h::Located& b) { return a * b; });
    operators("__truediv__", "__rtruediv__", [](const Traced& a, const h::Located& b) { return a / b; });
    c.def("__neg__", [](const Traced& a) { return -h::Located(a, python_line()); });
    c.def("__pos__", [](const Traced& a) { return a; });
    c.def("__abs__", &unary<&h::absolute>);
    c.def("__pow__", [](const Traced& a, nb::handle b) { return h::power(a, traced_of(b), python_line()); });
    c.def("__rpow__", [](const Traced& a, nb::handle b) { return h::power(traced_of(b), a, python_line()); });
    c.def("__matmul__", [](nb::handle a, nb::handle b) { return product(a, b); });
    c.def("__rmatmul__", [](nb::handle a, nb::handle b) { return product(b, a); });
    c.def("__lt__", comparing<&h::less_than>());
    c.def("__le__", comparing<&h::less_or_equal>());
    c.def("__gt__", comparing<&h::greater_than>());
    c.def("__ge__", comparing<&h::greater_or_equal>());
    c.def("__eq__", [](const Traced& a, nb::handle b) { return same_as(a, traced_of(b)); });
    c.def("__ne__", [](const Traced& a, nb::handle b) {
        return is_text(a) ? h::logical_not(same_as(a, traced_of(b)), python_line())
                          : h::not_equal_to(a, traced_of(b), python_line());
    });
    c.def("__and__", [](const Traced& a, nb::handle b) {
        return is_truth(a) ? h::logical_and(a, traced_of(b), python_line())
                           : h::minimum(a, traced_of(b), python_line());
    });
    c.def("__or__", [](const Traced& a, nb::handle b) {
        return is_truth(a) ? h::logical_or(a, traced_of(b), python_line()) : h::maximum(a, traced_of(b), python_line());
    });
    c.def("__invert__", [](const Traced& a) {
        return is_truth(a) ? h::logical_not(a, python_line()) : Traced(1.0) - h::Located(a, python_line());
    });
}

void bind_shape(AtOnce<nb::class_<Traced>> c) {
    c.def_prop_ro("shape", [](const Traced& x) { return nb::tuple(nb::cast(shape_of(x))); });
    c.def_prop_ro("ndim", [](const Traced& x) { return x.shape().rank(); });
    c.def_prop_ro("T", [](const Traced& x) { return h::transpose(x, python_line()); });
    c.def("__getitem__", &taken);
    c.def("__len__", [](const Traced& x) -> std::int64_t {
        if (x.shape().rank() == 0) refuse_use("The length of", "Use yolk.length(list).");
        return static_cast<std::int64_t>(x.shape()[0]);
    });
    c.def("__iter__", [](const Traced& x) -> nb::object {
        if (x.shape().rank() == 0) refuse_use("Going through", "Use yolk.item(list, i).");
        nb::list items;
        for (std::uint64_t i = 0; i < x.shape()[0]; ++i)
            items.append(h::index(x, static_cast<std::int64_t>(i), 0, python_line()));
        return items.attr("__iter__")();
    });
}

void bind_shapes(AtOnce<nb::module_> m) {
    m.def(
        "reshape",
        [](nb::handle x, std::vector<std::uint64_t> shape) {
            return h::reshape(traced_of(x), shape_from(shape), python_line());
        },
        nb::arg("x"), nb::arg("shape"));
    m.def(
        "broadcast_to",
        [](nb::handle x, std::vector<std::uint64_t> shape) {
            return h::broadcast_to(traced_of(x), shape_from(shape), python_line());
        },
        nb::arg("x"), nb::arg("shape"));
    m.def(
        "transpose",
        [](nb::handle x, std::optional<Dimensions> axes) {
            const Traced value = traced_of(x);
            return axes ? h::permute(value, *axes, python_line()) : h::transpose(value, python_line());
        },
        nb::arg("x"), nb::arg("axes").none() = nb::none());
    m.def(
        "concatenate",
        [](nb::handle parts, std::int64_t axis) {
            return h::concat(std::span<const Traced>(all_of(parts)), axis, python_line());
        },
        nb::arg("parts"), nb::arg("axis") = 0);
    m.def(
        "stack",
        [](nb::handle parts, std::int64_t axis) {
            return h::stack(std::span<const Traced>(all_of(parts)), axis, python_line());
        },
        nb::arg("parts"), nb::arg("axis") = 0);
    m.def(
        "split",
        [](nb::handle whole, std::vector<std::uint64_t> sizes, std::int64_t axis) {
            return h::split(traced_of(whole), std::span<const std::uint64_t>(sizes), axis, python_line());
        },
        nb::arg("whole"), nb::arg("sizes"), nb::arg("axis") = 0);
    m.def(
        "pad",
        [](nb::handle x, Dimensions before, Dimensions after, double value) {
            return h::pad(traced_of(x), before, after, value, python_line());
        },
        nb::arg("x"), nb::arg("before"), nb::arg("after"), nb::arg("value") = 0.0);
    m.def(
        "gather",
        [](nb::handle x, nb::handle ids, std::int64_t axis) {
            return h::gather(traced_of(x), traced_of(ids), axis, python_line());
        },
        nb::arg("x"), nb::arg("ids"), nb::arg("axis") = 0);
}

void bind_elementwise(AtOnce<nb::module_> m) {
    m.def("absolute", &unary<&h::absolute>);
    m.def("sqrt", &unary<&h::sqrt>);
    m.def("rsqrt", &unary<&h::rsqrt>);
    m.def("sin", &unary<&h::sin>);
    m.def("cos", &unary<&h::cos>);
    m.def("exp", &unary<&h::exp>);
    m.def("log", &unary<&h::log>);
    m.def("floor", &unary<&h::floor>);
    m.def("round", &unary<&h::round>);
    m.def("relu", &unary<&h::relu>);
    m.def("gelu", &unary<&h::gelu>);
    m.def("silu", &unary<&h::silu>);
    m.def("tanh", &unary<&h::tanh>);
    m.def("sigmoid", &unary<&h::sigmoid>);
    m.def("maximum", &binary<&h::maximum>);
    m.def("minimum", &binary<&h::minimum>);
    m.def("power", &binary<&h::power>);
    m.def("matmul", &product);
    m.def("linear", &binary<&h::linear>, nb::arg("weight"), nb::arg("x"));
    m.def("embedding", &binary<&h::embedding>, nb::arg("table"), nb::arg("ids"));
    m.def(
        "where",
        [](nb::handle condition, nb::handle a, nb::handle b) {
            return h::where(traced_of(condition), traced_of(a), traced_of(b), python_line());
        },
        nb::arg("condition"), nb::arg("a"), nb::arg("b"));
    m.def(
        "clip",
        [](nb::handle x, nb::handle low, nb::handle high) {
            return h::clamp(traced_of(x), traced_of(low), traced_of(high), python_line());
        },
        nb::arg("x"), nb::arg("low"), nb::arg("high"));
}

void bind_reductions(AtOnce<nb::module_> m) {
    const auto reduction = [&m](const char* name, auto function) {
        m.def(name, function, nb::arg("x"), nb::arg("axis").none() = nb::none(), nb::arg("keepdims") = false);
    };
    reduction("sum", &reduced<&h::sum, &h::sum>);
    reduction("mean", &reduced<&h::mean, &h::mean>);
    reduction("max", &reduced<&h::max, &h::max>);
    reduction("min", &reduced<&h::min, &h::min>);
    m.def(
        "argmax", [](nb::handle x, std::int64_t axis) { return h::argmax(traced_of(x), axis, false, python_line()); },
        nb::arg("x"), nb::arg("axis") = -1);
    m.def(
        "cumsum", [](nb::handle x, std::int64_t axis) { return h::cumulative_sum(traced_of(x), axis, python_line()); },
        nb::arg("x"), nb::arg("axis") = -1);
    m.def(
        "softmax", [](nb::handle x, std::int64_t axis) { return h::softmax(traced_of(x), axis, python_line()); },
        nb::arg("x"), nb::arg("axis") = -1);
    m.def(
        "log_softmax",
        [](nb::handle x, std::int64_t axis) { return h::log_softmax(traced_of(x), axis, python_line()); }, nb::arg("x"),
        nb::arg("axis") = -1);
}

std::optional<Traced> optional_of(nb::handle object) {
    if (object.is_none()) return std::nullopt;
    return traced_of(object);
}

void bind_layers_and_texts(AtOnce<nb::module_> m) {
    m.def(
        "layer_norm",
        [](nb::handle x, nb::handle scale, nb::handle shift, double epsilon) {
            return h::layer_norm(traced_of(x), {optional_of(scale), optional_of(shift), epsilon}, python_line());
        },
        nb::arg("x"), nb::arg("scale").none() = nb::none(), nb::arg("shift").none() = nb::none(),
        nb::arg("epsilon") = 1e-5);
    m.def(
        "rms_norm",
        [](nb::handle x, nb::handle scale, double epsilon) {
            return h::rms_norm(traced_of(x), {optional_of(scale), std::nullopt, epsilon}, python_line());
        },
        nb::arg("x"), nb::arg("scale").none() = nb::none(), nb::arg("epsilon") = 1e-5);
    m.def(
        "attention",
        [](nb::handle q, nb::handle k, nb::handle v, bool causal) {
            return h::attention(traced_of(q), traced_of(k), traced_of(v), causal, python_line());
        },
        nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::arg("causal") = false);
    m.def(
        "format",
        [](std::string pattern, nb::args values) {
            return h::format(std::move(pattern), std::span<const Traced>(all_of(values)), python_line());
        },
        nb::arg("pattern"), nb::arg("values"));
    m.def(
        "contains",
        [](nb::handle text, nb::handle word) {
            return h::match(traced_of(text), traced_of(word), h::Match::Contains, python_line());
        },
        nb::arg("text"), nb::arg("word"));
    m.def(
        "pack",
        [](const nb::dict& fields) {
            h::NamedValues values;
            for (const auto& [name, value] : fields) values.emplace_back(nb::cast<std::string>(name), traced_of(value));
            return h::pack(values, python_line());
        },
        nb::arg("fields"));
    m.def("length", &unary<&h::length>, nb::arg("list"));
    m.def(
        "item",
        [](nb::handle list, nb::handle index, nb::handle like) {
            const std::optional<h::Value> example =
                like.is_none() ? std::nullopt : std::optional(value_of(like, "like"));
            return h::item(traced_of(list), traced_of(index), example, python_line());
        },
        nb::arg("list"), nb::arg("index"), nb::arg("like").none() = nb::none());
}

}  // namespace

h::Line python_line() {
    // Names live as long as the process: messages may give them at any time.
    static std::mutex guard;
    static std::set<std::string> files;
    const nb::tuple at = nb::tuple(call_python("yolk._lines", "of_caller"));
    const std::scoped_lock lock(guard);
    const std::string& file = *files.insert(nb::cast<std::string>(at[0])).first;
    return {file.c_str(), nb::cast<std::uint32_t>(at[1])};
}

void bind_traced(nb::module_& module) {
    nb::class_<Traced> c(module, "Traced",
                         "A value under the tracer: what is done with it becomes equations of a graph.");
    bind_operators(AtOnce(c));
    bind_refusals(c);
    c.def("__repr__", [](const Traced& x) {
        const h::Value* value = h::literal_of(x);
        return "<yolk.Traced " + h::to_string(x.type()) + (value ? " " + h::to_string(*value) : std::string()) + ">";
    });
    nb::module_ operations = module.def_submodule("operations", "Operations on traced values, by NumPy's names.");
    bind_shape(AtOnce(c));
    bind_shapes(AtOnce(operations));
    bind_elementwise(AtOnce(operations));
    bind_reductions(AtOnce(operations));
    bind_layers_and_texts(AtOnce(operations));
    bind_control(operations);
    bind_named_operations(operations);
}

}  // namespace yolk::python
