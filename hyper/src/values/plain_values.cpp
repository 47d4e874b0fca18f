// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/plain_values.hpp"
#include "yolk/internal/core/printable.hpp"

#include <fmt/format.h>

#include "yolk/json.hpp"

namespace yolk::hyper {

Error detail::operand_error(std::size_t index, const Value& value, std::string_view wanted) {
    if (index == kInside) return bad_input("It is {}; {} is wanted.", to_string(type_of(value)), wanted);
    return bad_input("Its operand {} is {}; the body takes {}.", index, to_string(type_of(value)), wanted);
}

Result<Value> detail::field_from(const Value& record, const std::string& name) {
    const std::string type = to_string(type_of(record));
    if (record.record() == nullptr)
        return bad_input("It is {}; a record with a field '{}' is wanted.", type, shown(name));
    if (const Value* field = record.record()->find(name)) return *field;
    return bad_input("It is {}, which has no field '{}'; that field is wanted.", type, shown(name));
}

Error detail::field_error(Error error, const std::string& name, std::size_t index) {
    if (!name.empty()) error = std::move(error).while_doing(fmt::format("reading field '{}'", shown(name)));
    if (index == kInside) return error;
    return std::move(error).while_doing(fmt::format("reading operand {}", index));
}

Result<double> detail::choice_from(const Value& value, const std::vector<std::string>& choices) {
    for (std::size_t i = 0; i < choices.size(); ++i) {
        if (value == Value(choices[i]) || value == Value(static_cast<double>(i))) return static_cast<double>(i);
    }
    return bad_input("It is {}; wanted is one of: {}.", to_string(value), fmt::join(choices, ", "));
}

double detail::written(float number) { return shortest(number); }

Error detail::integer_error(std::uint64_t integer) {
    return bad_input("It is {}, which has more than 64 bits with its sign; return a number or a text.", integer);
}

Error detail::item_error(Error error, std::size_t item, std::size_t index) {
    return field_error(std::move(error).while_doing(fmt::format("reading item {}", item)), {}, index);
}

Result<Tensor> detail::tensor_from(const Value& value, std::size_t index) {
    if (value.tensor() == nullptr && value.list() == nullptr) return operand_error(index, value, "a tensor");
    auto tensor = tensor_of(value);
    if (!tensor) return field_error(std::move(tensor).error(), {}, index);
    return tensor;
}

Result<std::vector<Value>> detail::items_from(const Value& value, std::size_t index) {
    if (value.list() != nullptr) return value.list()->items();
    if (value.tensor() == nullptr) return operand_error(index, value, "a list");
    const Tensor& tensor = *value.tensor();
    const auto extents = tensor.shape().extents();
    std::vector<Value> items;
    if (extents.size() <= 1) {
        for (const double number : written_numbers(tensor)) items.emplace_back(number);
        return items;
    }
    const std::vector<std::uint64_t> each(extents.begin() + 1, extents.end());
    if (tensor.values().empty()) {
        items.assign(extents[0], Value(Tensor::filled(Shape(each), 0.0F)));
        return items;
    }
    YOLK_TRY(const std::vector<Tensor> parts,
             Tensor::slices(Shape(each), {tensor.values().begin(), tensor.values().end()}));
    items.assign(parts.begin(), parts.end());
    return items;
}

}  // namespace yolk::hyper
