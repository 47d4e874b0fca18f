// SPDX-License-Identifier: Apache-2.0
// Operations on lists. What is in a list is data, so those that take something out of it say of what type that is, and
// it is an error where an item is of another.
#include <array>

#include "article.hpp"
#include "operation_lists.hpp"

namespace yolk::hyper {
namespace {

Result<void> expect_list(const Equation& equation, std::span<const ValueType> operands, std::size_t count) {
    YOLK_TRY_VOID(expect_operands(equation, operands, count));
    if (operands[0].kind == ValueKind::List) return {};
    return operand_error(equation, operands, count == 1 ? "a list" : "a list first");
}

Result<Types> list_types(const Equation&, std::span<const ValueType>) { return Types{{ValueKind::List, {}}}; }

Result<Values> evaluate_list(const Equation&, std::span<const Value> operands) {
    YOLK_TRY(List list, List::create({operands.begin(), operands.end()}));
    return Values{Value(std::move(list))};
}

Result<Types> length_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_list(equation, operands, 1));
    return Types{{ValueKind::Integer, {}}};
}

Result<Values> evaluate_length(const Equation&, std::span<const Value> operands) {
    return Values{Value(static_cast<std::int64_t>(operands[0].list()->items().size()))};
}

Result<Types> item_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_list(equation, operands, 3));
    const ValueType& index = operands[1];
    const bool one = index.kind == ValueKind::Tensor && index.shape.element_count().value_or(0) == 1;
    if (!one && index.kind != ValueKind::Number && index.kind != ValueKind::Integer)
        return operand_error(equation, operands, "a list, a whole number, and a value of the item's type");
    return Types{operands[2]};
}

Result<Values> evaluate_item(const Equation&, std::span<const Value> operands) {
    auto index = operands[1].as_integer();
    if (!index) return std::move(index).error().while_doing("item: reading the index");
    auto found = operands[0].at(*index);
    if (!found) return std::move(found).error().while_doing("taking an item");
    const ValueType wanted = type_of(operands[2]);
    auto item = conformed(*std::move(found), wanted);
    if (!item) return std::move(item).error().while_doing("taking an item");
    if (const ValueType given = type_of(*item); given != wanted) {
        return bad_input("item: item {} of the list is {}; here it must be {}.", *index, with_article(given),
                         with_article(wanted));
    }
    return Values{*std::move(item)};
}

Result<Types> join_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_list(equation, operands, 1));
    YOLK_TRY_VOID(text_attribute(equation, "between"));
    return Types{{ValueKind::Text, {}}};
}

Result<Values> evaluate_join(const Equation& equation, std::span<const Value> operands) {
    YOLK_TRY(const std::string between, text_attribute(equation, "between"));
    std::string text;
    for (const Value& item : operands[0].list()->items()) {
        if (&item != operands[0].list()->items().data()) text += between;
        text += text_of(item);
    }
    return Values{Value(std::move(text))};
}

Result<Types> to_tensor_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_list(equation, operands, 1));
    YOLK_TRY(std::vector<std::uint64_t> extents, extents_attribute(equation, "shape"));
    return Types{{ValueKind::Tensor, Shape(std::move(extents))}};
}

Result<Values> evaluate_to_tensor(const Equation& equation, std::span<const Value> operands) {
    YOLK_TRY(std::vector<std::uint64_t> extents, extents_attribute(equation, "shape"));
    auto tensor = tensor_of(operands[0]);
    if (!tensor) return std::move(tensor).error().while_doing("to_tensor");
    if (const Shape shape(std::move(extents)); tensor->shape() != shape) {
        return bad_input("to_tensor: the list is a tensor {}; here it must be one {}.", tensor->shape().to_string(),
                         shape.to_string());
    }
    return Values{Value(*std::move(tensor))};
}

constexpr std::array kListOperations{
    Operation{"list", list_types, evaluate_list},
    Operation{"length", length_types, evaluate_length},
    Operation{"item", item_types, evaluate_item},
    Operation{"join", join_types, evaluate_join},
    Operation{"to_tensor", to_tensor_types, evaluate_to_tensor},
};

}  // namespace

std::span<const Operation> list_operations() noexcept { return kListOperations; }

}  // namespace yolk::hyper
