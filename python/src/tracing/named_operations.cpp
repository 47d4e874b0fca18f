// SPDX-License-Identifier: Apache-2.0
// Operators as functions, and what else the vocabulary has beside what Python writes with operators.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tracing/at_once.hpp"
#include "tracing/control.hpp"
#include "tracing/traced.hpp"
#include "yolk/internal/hyper/traced_layers.hpp"

namespace yolk::python {
namespace {

namespace h = hyper;
using h::Traced;

template <Traced (*kFunction)(const Traced&, const Traced&, h::Line)>
Traced two(nb::handle a, nb::handle b) {
    return kFunction(traced_of(a), traced_of(b), python_line());
}

template <Traced (*kFunction)(const Traced&, const Traced&, const Traced&, std::int64_t, h::Line)>
Traced scattered(nb::handle x, nb::handle ids, nb::handle updates, std::int64_t axis) {
    return kFunction(traced_of(x), traced_of(ids), traced_of(updates), axis, python_line());
}

void bind_arithmetic(AtOnce<nb::module_> m) {
    const auto function = [&m](const char* name, auto apply) {
        m.def(
            name,
            [apply](nb::handle a, nb::handle b) {
                return apply(traced_of(a), h::Located(traced_of(b), python_line()));
            },
            nb::arg("a"), nb::arg("b"));
    };
    function("add", [](const Traced& a, const h::Located& b) { return a + b; });
    function("subtract", [](const Traced& a, const h::Located& b) { return a - b; });
    function("multiply", [](const Traced& a, const h::Located& b) { return a * b; });
    function("divide", [](const Traced& a, const h::Located& b) { return a / b; });
    m.def(
        "negative", [](nb::handle x) { return -h::Located(traced_of(x), python_line()); }, nb::arg("x"));
    m.def("less", &two<&h::less_than>, nb::arg("a"), nb::arg("b"));
    m.def("less_equal", &two<&h::less_or_equal>, nb::arg("a"), nb::arg("b"));
    m.def("greater", &two<&h::greater_than>, nb::arg("a"), nb::arg("b"));
    m.def("greater_equal", &two<&h::greater_or_equal>, nb::arg("a"), nb::arg("b"));
    m.def("equal", &two<&h::equal_to>, nb::arg("a"), nb::arg("b"));
    m.def("not_equal", &two<&h::not_equal_to>, nb::arg("a"), nb::arg("b"));
    m.def("scatter", &scattered<&h::scatter>, nb::arg("x"), nb::arg("ids"), nb::arg("updates"), nb::arg("axis") = 0);
    m.def("scatter_add", &scattered<&h::scatter_add>, nb::arg("x"), nb::arg("ids"), nb::arg("updates"),
          nb::arg("axis") = 0);
}

h::Window window_of(h::Integers size, std::optional<h::Integers> stride, std::optional<h::Integers> padding,
                    std::optional<h::Integers> dilation) {
    return {.size = std::move(size),
            .stride = std::move(stride).value_or(h::Integers()),
            .padding = std::move(padding).value_or(h::Integers()),
            .dilation = std::move(dilation).value_or(h::Integers())};
}

using Sides = std::optional<h::Integers>;

void bind_windows(AtOnce<nb::module_> m) {
    m.def(
        "patches",
        [](nb::handle x, h::Integers size, Sides stride, Sides padding, Sides dilation, double fill) {
            return h::patches(traced_of(x), window_of(std::move(size), stride, padding, dilation), fill, python_line());
        },
        nb::arg("x"), nb::arg("size"), nb::arg("stride").none() = nb::none(), nb::arg("padding").none() = nb::none(),
        nb::arg("dilation").none() = nb::none(), nb::arg("fill") = 0.0,
        "What a window sees of x [..., image, channels] at each place: [..., places, window channels].");
    m.def(
        "convolution",
        [](nb::handle weight, nb::handle x, h::Integers size, Sides stride, Sides padding, Sides dilation) {
            return h::convolution(traced_of(weight), traced_of(x),
                                  window_of(std::move(size), stride, padding, dilation), python_line());
        },
        nb::arg("weight"), nb::arg("x"), nb::arg("size"), nb::arg("stride").none() = nb::none(),
        nb::arg("padding").none() = nb::none(), nb::arg("dilation").none() = nb::none(),
        "A linear layer of weight [out, window channels] over the patches of x [..., image, channels].");
    const auto pooling = [&m](const char* name, auto pool, const char* text) {
        m.def(
            name,
            [pool](nb::handle x, h::Integers size, Sides stride, Sides padding, Sides dilation) {
                return pool(traced_of(x), window_of(std::move(size), stride, padding, dilation), python_line());
            },
            nb::arg("x"), nb::arg("size"), nb::arg("stride").none() = nb::none(),
            nb::arg("padding").none() = nb::none(), nb::arg("dilation").none() = nb::none(), text);
    };
    pooling("max_pool", &h::max_pool,
            "The largest element of each channel that a window sees; the stride is its size.");
    pooling("mean_pool", &h::mean_pool, "The mean of them; padding counts as zeros.");
}

void bind_choices_and_lists(AtOnce<nb::module_> m) {
    m.def(
        "select",
        [](nb::handle condition, nb::handle a, nb::handle b) {
            const Traced truth = traced_of(condition);
            const h::Line line = python_line();
            const bool is_truth = truth.type().kind == h::ValueKind::Boolean;
            return h::select(is_truth ? truth : h::less(Traced(0.0), truth, line), traced_of(a), traced_of(b), line);
        },
        nb::arg("condition"), nb::arg("a"), nb::arg("b"), "One of two values of any one type, by a truth value.");
    const auto matching = [&m](const char* name, h::Match how) {
        m.def(
            name,
            [how](nb::handle text, nb::handle word) {
                return h::match(traced_of(text), traced_of(word), how, python_line());
            },
            nb::arg("text"), nb::arg("word"));
    };
    matching("starts_with", h::Match::Starts);
    matching("ends_with", h::Match::Ends);
    m.def(
        "word_index",
        [](nb::handle text, std::vector<std::string> words) {
            return h::word_index(traced_of(text), std::move(words), python_line());
        },
        nb::arg("text"), nb::arg("words"), "Which of the words a text is, from 0.");
    m.def(
        "make_list",
        [](nb::args items) {
            std::vector<Traced> all;
            for (const nb::handle item : items) all.push_back(traced_of(item));
            return h::make_list(std::span<const Traced>(all), python_line());
        },
        nb::arg("items"));
    m.def(
        "join",
        [](nb::handle list, std::string between) {
            return h::join(traced_of(list), std::move(between), python_line());
        },
        nb::arg("list"), nb::arg("between") = "");
    m.def(
        "to_tensor",
        [](nb::handle list, std::optional<std::vector<std::uint64_t>> shape) {
            std::optional<Shape> known;
            if (shape) known = Shape(*shape);
            return h::to_tensor(traced_of(list), known, python_line());
        },
        nb::arg("list"), nb::arg("shape").none() = nb::none());
    m.def(
        "to_integer", [](nb::handle x) { return h::to_integer(traced_of(x), python_line()); }, nb::arg("x"));
}

}  // namespace

void bind_named_operations(nb::module_& operations) {
    bind_arithmetic(AtOnce(operations));
    bind_windows(AtOnce(operations));
    bind_choices_and_lists(AtOnce(operations));
}

}  // namespace yolk::python
