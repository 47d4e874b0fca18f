// SPDX-License-Identifier: Apache-2.0
// What Python gives an operation: traced values, plain ones, and lists and dicts of both.
#include <nanobind/stl/string.h>

#include <span>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "base/lock.hpp"
#include "tracing/at_once.hpp"
#include "tracing/traced.hpp"
#include "tracing/values.hpp"

namespace yolk::python {
namespace {

namespace h = hyper;
using h::Traced;

constexpr const char* kOperand = "The operand";

/// Whether it is a traced value, or a list, a tuple or a dict with one somewhere in it. `depth` as in check_depth().
bool has_traced(nb::handle object, std::size_t depth) {
    if (nb::isinstance<Traced>(object)) return true;
    const bool is_dict = nb::isinstance<nb::dict>(object);
    if (!is_dict && !nb::isinstance<nb::list>(object) && !nb::isinstance<nb::tuple>(object)) return false;
    check_depth(kOperand, depth);
    const nb::object items = is_dict ? nb::object(nb::borrow<nb::dict>(object).values()) : nb::borrow(object);
    for (const nb::handle item : items) {
        if (has_traced(item, depth + 1)) return true;
    }
    return false;
}

/// Lists and dicts with traced values in them become equations that make them.
Traced traced_at(nb::handle object, std::size_t depth) {
    if (nb::isinstance<Traced>(object)) {
        const Traced& operand = nb::cast<const Traced&>(object);
        check_operand(operand);
        return operand;
    }
    if (!has_traced(object, depth)) return Traced(value_of(object, kOperand));
    if (nb::isinstance<nb::dict>(object)) {
        h::NamedValues fields;
        for (const auto& [key, value] : nb::borrow<nb::dict>(object)) {
            std::string name;
            if (!nb::try_cast(key, name))
                throw Raised(bad_input("{} has the key {}, which is no text.", kOperand, python_repr(key).c_str()));
            fields.emplace_back(name, traced_at(value, depth + 1));
        }
        return h::pack(fields, python_line());
    }
    std::vector<Traced> items;
    for (const nb::handle item : object) items.push_back(traced_at(item, depth + 1));
    return h::make_list(std::span<const Traced>(items), python_line());
}

}  // namespace

Traced traced_of(nb::handle object) { return traced_at(object, 0); }

}  // namespace yolk::python
