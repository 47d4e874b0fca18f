// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "base/options.hpp"
#include "systems/systems.hpp"
#include "tracing/at_once.hpp"
#include "tracing/callables.hpp"
#include "tracing/traced.hpp"
#include "tracing/values.hpp"
#include "yolk/internal/hyper/hyperfunction.hpp"

namespace yolk::python {
namespace {

namespace h = hyper;
using h::Traced;

/// {"kind": "real" | "integer" | "boolean" | "choice", "name", "initial", "lower", "upper", "log", "choices"}.
h::Field field_of(const nb::dict& given) {
    h::Field field;
    field.name = nb::cast<std::string>(given["name"]);
    const auto kind = nb::cast<std::string>(given["kind"]);
    field.kind = kind == "integer"   ? h::FieldKind::Integer
                 : kind == "boolean" ? h::FieldKind::Boolean
                 : kind == "choice"  ? h::FieldKind::Choice
                                     : h::FieldKind::Real;
    field.scale = nb::cast<bool>(given["log"]) ? h::FieldScale::Log : h::FieldScale::Linear;
    field.initial = real_number(field.name, given["initial"]);
    field.lower = real_number(field.name, given["lower"]);
    field.upper = real_number(field.name, given["upper"]);
    field.choices = nb::cast<std::vector<std::string>>(given["choices"]);
    return field;
}

/// What yolk/_parameters.py says of a hyperfunction's parameters.
void describe(h::AnyHyperfunction::Parts& parts, const nb::dict& given) {
    const auto kind = nb::cast<std::string>(given["kind"]);
    h::ParameterSpec& spec = parts.spec;
    spec.shape = Shape{0};
    if (kind == "weights") {
        spec.shape = Shape(nb::cast<std::vector<std::uint64_t>>(given["shape"]));
        spec.noise_rank = nb::cast<std::uint32_t>(given["rank"]);
        if (!given["values"].is_none())
            parts.values = tensor_of(given["values"], "The first values of '" + spec.name + "'");
    } else if (kind == "fields") {
        std::vector<double> first;
        for (const nb::handle one : given["fields"]) {
            spec.fields.push_back(field_of(nb::cast<nb::dict>(one)));
            first.push_back(spec.fields.back().initial);
        }
        spec.shape = Shape{spec.fields.size()};
        parts.values = h::Tensor::of_numbers(std::move(first));
    } else if (kind == "text") {
        spec.is_text = true;
        parts.text = nb::cast<std::string>(given["text"]);
        spec.most_bytes = nb::cast<std::uint64_t>(given["most_bytes"]);
    }
}

/// The library keeps what is thrown as an error of the function.
template <class Call>
auto with_lock(Call call) -> decltype(call()) {
    const InsideBody inside;
    try {
        return call();
    } catch (nb::python_error& raised) {
        std::string message = words_of(raised);
        keep_raised(std::move(raised));
        throw std::runtime_error(message);
    }
}

h::TensorBody tensor_body(Kept body, bool has_parameters) {
    return [body = std::move(body), has_parameters](const Traced& parameters, std::span<const Traced> operands) {
        return with_lock([&]() -> Traced {
            nb::list arguments;
            if (has_parameters) arguments.append(nb::cast(parameters));
            for (const Traced& operand : operands) arguments.append(nb::cast(operand));
            return traced_of(apply_python(*body, nb::tuple(arguments)));
        });
    };
}

std::function<Result<h::Value>(const h::HostCall&)> host_body(Kept body) {
    return [body = std::move(body)](const h::HostCall& call) -> Result<h::Value> {
        const InsideBody inside;
        try {
            nb::list numbers, operands;
            for (const double number : h::written_numbers(call)) numbers.append(number);
            for (const h::Value& operand : call.operands) operands.append(python_of(operand));
            return value_of(call_python(*body, numbers, std::string(call.text), operands),
                            "The result of a host function");
        } catch (nb::python_error& raised) {
            return error_of_raised(raised);
        } catch (const Raised& raised) {
            return raised.error();
        }
    };
}

h::HostOptions host_options(const nb::dict& given) {
    const auto milliseconds = [&given](const char* name) {
        return std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * real_number(name, given[name])));
    };
    return {
        .max_concurrency = static_cast<std::uint32_t>(whole_number("concurrency", given["concurrency"], UINT32_MAX)),
        .timeout = milliseconds("timeout"),
        .retries = static_cast<std::uint32_t>(whole_number("retries", given["retries"], UINT32_MAX)),
        .backoff = milliseconds("backoff")};
}

h::AnyHyperfunction make_function(const std::string& name, const nb::dict& parameters, nb::object body,
                                  std::size_t arity, bool optimize, nb::handle host, nb::handle stand_in) {
    h::AnyHyperfunction::Parts parts;
    parts.spec.name = name;
    parts.spec.optimize = optimize;
    parts.arity = arity;
    parts.made_at = python_line();
    describe(parts, parameters);
    if (host.is_none()) {
        parts.tensor = tensor_body(keep(std::move(body)), parts.spec.has_parameters());
        parts.stand_in = h::Tensor::filled({1}, 0.0F);
    } else {
        parts.stand_in = stand_in.is_none() ? h::Value() : value_of(stand_in, "stand_in");
        parts.host =
            std::make_shared<const h::HostFunction>(h::HostFunction{.name = name,
                                                                    .run = host_body(keep(std::move(body))),
                                                                    .options = host_options(nb::cast<nb::dict>(host)),
                                                                    .stand_in = parts.stand_in});
    }
    return h::AnyHyperfunction(std::move(parts));
}

}  // namespace

void bind_functions(nb::module_& module) {
    nb::class_<h::AnyHyperfunction> c(module, "Function", "What @yolk.hyperfunction makes.");
    AtOnce(c).def("call", [](const h::AnyHyperfunction& f, const nb::args& operands) {
        std::vector<Traced> all;
        for (const nb::handle operand : operands) all.push_back(traced_of(operand));
        return f(std::span<const Traced>(all), python_line());
    });
    c.def_static("make", &make_function, nb::arg("name"), nb::arg("parameters"), nb::arg("body"), nb::arg("arity"),
                 nb::arg("optimize"), nb::arg("host").none(), nb::arg("stand_in").none())
        .def_prop_ro("name", [](const h::AnyHyperfunction& f) { return f.name(); })
        .def_prop_ro("arity", [](const h::AnyHyperfunction& f) { return f.parts().arity; })
        .def_prop_ro("first",
                     [](const h::AnyHyperfunction& f) -> nb::object {
                         const h::AnyHyperfunction::Parts& parts = f.parts();
                         if (!parts.spec.has_parameters()) return nb::none();
                         if (parts.spec.is_text) return nb::cast(parts.text);
                         const bool is_unset = parts.spec.fields.empty() && parts.values.values().empty();
                         constexpr std::uint64_t kSeed = 1;  // of yolk.System
                         return python_of(is_unset ? h::initial_weights(parts.spec, kSeed) : parts.values);
                     })
        .def("call_with", [](const h::AnyHyperfunction& f, nb::handle parameters, const nb::args& operands) {
            const h::Value values =
                f.parts().spec.has_parameters() ? value_of(parameters, "The parameters") : h::Value(h::Tensor());
            std::vector<h::Value> all;
            for (const nb::handle operand : operands) all.push_back(value_of(operand, "The operand"));
            RaisedInside inside;
            std::optional<Result<h::Value>> result;
            {
                const WithoutLock released;
                result = f.call_with(values, all);
            }
            if (const auto kept = take_kept(); kept && !*result) throw nb::python_error(std::move(*kept));
            if (!*result)
                if (auto raised = inside.take()) throw nb::python_error(std::move(*raised));
            return python_of(unwrap(std::move(*result)));
        });
}

}  // namespace yolk::python
