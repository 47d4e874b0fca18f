// SPDX-License-Identifier: Apache-2.0
// Operations on numbers, booleans, text and records. They have no kernels.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "operation_lists.hpp"
#include "yolk/json.hpp"

namespace yolk::hyper {
namespace {

bool is_single(const ValueType& type) {
    if (type.kind == ValueKind::Number || type.kind == ValueKind::Integer) return true;
    return type.kind == ValueKind::Tensor && type.shape.element_count().value_or(0) == 1;
}

Result<Types> less_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 2));
    if (!is_single(operands[0]) || !is_single(operands[1]))
        return operand_error(equation, operands, "two numbers or tensors of one element");
    return Types{{ValueKind::Boolean, {}}};
}

Result<Values> evaluate_less(const Equation&, std::span<const Value> operands) {
    if (operands[0].integer() != nullptr && operands[1].integer() != nullptr)
        return Values{Value(*operands[0].integer() < *operands[1].integer())};
    YOLK_TRY(const double a, operands[0].as_number());
    YOLK_TRY(const double b, operands[1].as_number());
    return Values{Value(a < b)};
}

Result<Types> equal_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 2));
    const auto are = [&](ValueKind a, ValueKind b) { return operands[0].kind == a && operands[1].kind == b; };
    const bool are_numbers = are(ValueKind::Integer, ValueKind::Number) || are(ValueKind::Number, ValueKind::Integer);
    if (operands[0].kind != operands[1].kind && !are_numbers)
        return operand_error(equation, operands, "two values of one kind");
    return Types{{ValueKind::Boolean, {}}};
}

Result<Values> evaluate_equal(const Equation&, std::span<const Value> operands) {
    return Values{Value(operands[0] == operands[1])};
}

template <std::size_t kCount>
Result<Types> logic_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, kCount));
    for (const ValueType& type : operands) {
        if (type.kind != ValueKind::Boolean)
            return operand_error(equation, operands, kCount == 1 ? "a boolean" : "two booleans");
    }
    return Types{{ValueKind::Boolean, {}}};
}

Result<Values> evaluate_and(const Equation&, std::span<const Value> operands) {
    return Values{Value(*operands[0].boolean() && *operands[1].boolean())};
}
Result<Values> evaluate_or(const Equation&, std::span<const Value> operands) {
    return Values{Value(*operands[0].boolean() || *operands[1].boolean())};
}
Result<Values> evaluate_not(const Equation&, std::span<const Value> operands) {
    return Values{Value(!*operands[0].boolean())};
}

/// The texts around the places {} of a pattern, one more than there are places.
Result<std::vector<std::string>> around_places(std::string_view pattern) {
    std::vector<std::string> texts(1);
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        const char brace = pattern[at];
        const char next = at + 1 < pattern.size() ? pattern[at + 1] : '\0';
        if (brace != '{' && brace != '}') {
            texts.back() += brace;
        } else if (next == brace) {
            texts.back() += brace;
            ++at;
        } else if (brace == '{' && next == '}') {
            texts.emplace_back();
            ++at;
        } else {
            return bad_input(
                "format: the pattern {} has a single {} at byte {}; {{}} takes a value, and {{{{ and }}}} write a "
                "brace.",
                to_line(Json(std::string(pattern))), brace, at);
        }
    }
    return texts;
}

Result<Types> format_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY(const std::string pattern, text_attribute(equation, "pattern"));
    YOLK_TRY(const std::vector<std::string> texts, around_places(pattern));
    if (texts.size() - 1 != operands.size()) {
        return bad_input("format: {} values for the pattern \"{}\"; it has {} places {{}}.", operands.size(), pattern,
                         texts.size() - 1);
    }
    return Types{{ValueKind::Text, {}}};
}

Result<Values> evaluate_format(const Equation& equation, std::span<const Value> operands) {
    YOLK_TRY(const std::string pattern, text_attribute(equation, "pattern"));
    YOLK_TRY(const std::vector<std::string> texts, around_places(pattern));
    std::string text = texts.front();
    for (std::size_t i = 0; i < operands.size(); ++i) text += text_of(operands[i]) + texts.at(i + 1);
    return Values{Value(std::move(text))};
}

Result<Types> edit_types(const Equation& equation, std::span<const ValueType> operands) {
    for (const ValueType& type : operands) {
        if (type.kind != ValueKind::Text)
            return operand_error(equation, operands, "texts, a place of the pattern each");
    }
    return format_types(equation, operands);
}

Result<Values> evaluate_edit(const Equation& equation, std::span<const Value> operands) {
    if (std::ranges::all_of(operands, [](const Value& operand) { return operand.text()->empty(); }))
        return Values{Value("")};
    return evaluate_format(equation, operands);
}

constexpr std::array<std::string_view, 4> kMatches{"equal", "contains", "starts", "ends"};

Result<Types> match_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 2));
    YOLK_TRY(const std::string how, text_attribute(equation, "how"));
    if (std::ranges::find(kMatches, how) == kMatches.end())
        return bad_input("match: how is '{}'; it is one of {}.", how, fmt::join(kMatches, ", "));
    if (operands[0].kind != ValueKind::Text || operands[1].kind != ValueKind::Text)
        return operand_error(equation, operands, "two texts: where to look, and what for");
    return Types{{ValueKind::Boolean, {}}};
}

Result<Values> evaluate_match(const Equation& equation, std::span<const Value> operands) {
    YOLK_TRY(const std::string how, text_attribute(equation, "how"));
    const std::string &text = *operands[0].text(), &wanted = *operands[1].text();
    if (how == "contains") return Values{Value(text.find(wanted) != std::string::npos)};
    if (how == "starts") return Values{Value(text.starts_with(wanted))};
    if (how == "ends") return Values{Value(text.ends_with(wanted))};
    return Values{Value(text == wanted)};
}

Result<Types> word_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 1));
    YOLK_TRY_VOID(texts_attribute(equation, "words"));
    if (operands[0].kind != ValueKind::Text) return operand_error(equation, operands, "a text");
    return Types{{ValueKind::Integer, {}}};
}

Result<Values> evaluate_word(const Equation& equation, std::span<const Value> operands) {
    YOLK_TRY(const std::vector<std::string> words, texts_attribute(equation, "words"));
    const auto found = std::ranges::find(words, *operands[0].text());
    if (found != words.end()) return Values{Value(static_cast<std::int64_t>(found - words.begin()))};
    return bad_input("word_index: {} is none of the words '{}'.", to_string(operands[0]), fmt::join(words, "', '"));
}

Result<Record::Fields> named_fields(const Equation& equation, std::vector<Value> values) {
    YOLK_TRY(const std::vector<std::string> names, texts_attribute(equation, "names"));
    if (names.size() != values.size())
        return bad_input("pack: {} names for {} values; each value has one.", names.size(), values.size());
    Record::Fields fields;
    for (std::size_t i = 0; i < names.size(); ++i) fields.emplace_back(names[i], std::move(values[i]));
    return fields;
}

Result<Types> pack_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY(Record::Fields fields, named_fields(equation, std::vector<Value>(operands.size())));
    ValueType type{.kind = ValueKind::Record};
    for (std::size_t i = 0; i < operands.size(); ++i) type.fields.emplace_back(fields[i].first, operands[i]);
    if (auto record = Record::create(std::move(fields)); !record)
        return std::move(record).error().while_doing("making the record of a pack");
    return Types{std::move(type)};
}

Result<Values> evaluate_pack(const Equation& equation, std::span<const Value> operands) {
    YOLK_TRY(Record::Fields fields, named_fields(equation, {operands.begin(), operands.end()}));
    YOLK_TRY(Record record, Record::create(std::move(fields)));
    return Values{Value(std::move(record))};
}

Result<Types> field_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 1));
    YOLK_TRY(const std::string name, text_attribute(equation, "name"));
    if (operands[0].kind != ValueKind::Record) return operand_error(equation, operands, "a record");
    std::vector<std::string> names;
    for (const auto& [known, type] : operands[0].fields) {
        if (known == name) return Types{type};
        names.push_back("'" + known + "'");
    }
    return bad_input("field: the record has no field '{}'; it has {}.", name,
                     names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

Result<Values> evaluate_field(const Equation& equation, std::span<const Value> operands) {
    YOLK_TRY(const std::string name, text_attribute(equation, "name"));
    return Values{*operands[0].record()->find(name)};
}

constexpr std::array kDataOperations{
    Operation{"less", less_types, evaluate_less},         Operation{"equal", equal_types, evaluate_equal},
    Operation{"and", logic_types<2>, evaluate_and},       Operation{"or", logic_types<2>, evaluate_or},
    Operation{"not", logic_types<1>, evaluate_not},       Operation{"format", format_types, evaluate_format},
    Operation{"pack", pack_types, evaluate_pack},         Operation{"field", field_types, evaluate_field},
    Operation{"format_edits", edit_types, evaluate_edit}, Operation{"match", match_types, evaluate_match},
    Operation{"word_index", word_types, evaluate_word},
};

}  // namespace

std::span<const Operation> data_operations() noexcept { return kDataOperations; }

}  // namespace yolk::hyper
