// SPDX-License-Identifier: Apache-2.0
// Operations on lists under the tracer: they find out of what type an item is.
#include <fmt/format.h>

#include "tracer.hpp"

namespace yolk::hyper {
namespace {

/// The list, where it can be looked at; nothing in a body, which is traced before there are values.
const List* known_list(const Traced& list) {
    const auto& tracer = Tracer::tracer_of(list);
    if (tracer != nullptr && tracer->is_body()) return nullptr;
    return Tracer::value_of(list).list();
}

Traced no_value(std::string_view name, std::string_view what, const Traced& list) {
    return refuse(bad_input("{}: the list is not known inside a body, which is traced before there are values; say {}.",
                            name, what),
                  std::span(&list, 1))[0];
}

}  // namespace

Traced make_list(std::span<const Traced> items, Line line) { return apply("list", items, {}, 1, line)[0]; }
Traced make_list(std::initializer_list<Traced> items, Line line) {
    return make_list(std::span(items.begin(), items.size()), line);
}

Traced length(const Traced& list, Line line) { return apply("length", {list}, {}, line); }

Traced item(const Traced& list, const Traced& index, const std::optional<Value>& like, Line line) {
    if (like) return apply("item", {list, index, Traced(blank_of(type_of(*like)))}, {}, line);
    const List* known = known_list(list);
    const auto& at = Tracer::tracer_of(index);
    const bool is_body = at != nullptr && at->is_body();
    if ((known == nullptr && list.type().kind == ValueKind::List) || (known != nullptr && is_body))
        return no_value("item", "what an item is like: item(list, index, like)", list);
    Value blank(0.0);  // of what is not there, or no list: the operation says so
    if (known != nullptr) {
        const auto position = Tracer::value_of(index).as_integer();
        const auto found = position ? Value(*known).at(*position) : Result<Value>(position.error());
        if (found) blank = blank_of(type_of(*found));
    }
    return apply("item", {list, index, Traced(std::move(blank))}, {}, line);
}

Traced join(const Traced& list, std::string between, Line line) {
    return apply("join", {list}, {{"between", std::move(between)}}, line);
}

Traced to_tensor(const Traced& list, const std::optional<Shape>& shape, Line line) {
    Shape wanted{0};
    if (shape) {
        wanted = *shape;
    } else if (const List* known = known_list(list)) {
        const auto tensor = tensor_of(Value(*known));
        if (tensor) wanted = tensor->shape();
    } else if (list.type().kind == ValueKind::List) {
        return no_value("to_tensor", "of what shape the tensor is: to_tensor(list, shape)", list);
    }
    const Integers extents(wanted.extents().begin(), wanted.extents().end());
    return apply("to_tensor", {list}, {{"shape", extents}}, line);
}

Traced to_integer(const Traced& x, Line line) { return apply("to_integer", {x}, {}, line); }

}  // namespace yolk::hyper
