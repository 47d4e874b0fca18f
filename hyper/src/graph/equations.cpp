// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/operations.hpp"

#include <fmt/format.h>

#include <limits>

#include "body_calls.hpp"
#include "caught.hpp"
#include "equations.hpp"
#include "yolk/models.hpp"

namespace yolk::hyper {
namespace {

std::string types_to_string(std::span<const ValueType> types) {
    std::string text;
    for (const ValueType& type : types) text += (text.empty() ? "" : ", ") + to_string(type);
    return text.empty() ? "nothing" : text;
}

template <class T>
Result<T> attribute(const Equation& equation, std::string_view name, std::string_view type) {
    const Attribute* found = find_attribute(equation, name);
    if (found == nullptr || !std::holds_alternative<T>(*found))
        return bad_input("{}: it needs the attribute '{}', {}.", equation.operation->name, name, type);
    return std::get<T>(*found);
}

/// "matmul of hyperfunction 'net' (model.cpp:12)"
std::string described_equation(const Equation& equation) {
    std::string text(shown_name(equation));
    if (!equation.hyperfunction.empty()) text += fmt::format(" of hyperfunction '{}'", equation.hyperfunction);
    return equation.made_at ? text + fmt::format(" ({})", line_of(equation)) : text;
}

}  // namespace

std::string_view shown_name(const Equation& equation) {
    if (const Attribute* of = find_attribute(equation, "of")) return std::get<std::string>(*of);
    if (equation.host == nullptr || equation.host->model == nullptr) return equation.operation->name;
    return equation.host->model->schema ? "schema_call" : "model_call";
}

std::string described(const HostFunction& function) {
    return fmt::format("{} '{}'", function.model != nullptr ? "Model call" : "Host function", function.name);
}

std::string line_of(Line line) {
    const std::string_view path = line.file_name();
    return fmt::format("{}:{}", path.substr(path.find_last_of('/') + 1), line.line());
}
std::string line_of(const Equation& equation) { return equation.made_at ? line_of(*equation.made_at) : std::string(); }

std::string with_line(std::string label, const Equation& equation) {
    if (!equation.made_at) return label;
    return std::move(label) + ", " + line_of(equation);
}

Result<Types> checked_types(const Equation& equation, std::span<const ValueType> operands) {
    auto types = equation.operation->types(equation, operands);
    if (types || (equation.hyperfunction.empty() && !equation.made_at)) return types;
    return std::move(types).error().while_doing(fmt::format("checking {}", described_equation(equation)));
}

Result<void> expect_operands(const Equation& equation, std::span<const ValueType> operands, std::size_t count) {
    if (operands.size() == count) return {};
    return bad_input("{}: {} operands were given; it takes {}.", equation.operation->name, operands.size(), count);
}

Error operand_error(const Equation& equation, std::span<const ValueType> operands, std::string_view allowed) {
    return bad_input("{}: it was given {}; it takes {}.", equation.operation->name, types_to_string(operands), allowed);
}

Result<void> expect_tensor(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 1));
    if (operands[0].kind != ValueKind::Tensor || operands[0].shape.rank() == 0)
        return operand_error(equation, operands, "a tensor of at least one dimension");
    YOLK_TRY_VOID(rows_of(equation, operands[0].shape));
    return {};
}

Result<std::vector<std::uint64_t>> extents_attribute(const Equation& equation, std::string_view name) {
    YOLK_TRY(const std::vector<std::int64_t> list, integers_attribute(equation, name));
    std::vector<std::uint64_t> extents;
    for (const std::int64_t extent : list) {
        if (extent < 0)
            return bad_input("{}: {} [{}]; none may be negative.", equation.operation->name, name,
                             fmt::join(list, ", "));
        extents.push_back(static_cast<std::uint64_t>(extent));
    }
    return extents;
}

Result<std::size_t> dimension_of(const Equation& equation, const Shape& shape) {
    const auto rank = static_cast<std::int64_t>(shape.rank());
    YOLK_TRY(const std::int64_t dimension, integer_attribute(equation, "dimension"));
    if (dimension < 0 || dimension >= rank) {
        return bad_input("{}: dimension {} of a tensor {}; it must be from 0 to {}.", equation.operation->name,
                         dimension, shape.to_string(), rank - 1);
    }
    return static_cast<std::size_t>(dimension);
}

Result<std::size_t> dimension_or_last(const Equation& equation, const Shape& shape) {
    if (find_attribute(equation, "dimension") == nullptr && shape.rank() > 0) return shape.rank() - 1;
    return dimension_of(equation, shape);
}

Result<Values> one_tensor(Shape shape, std::vector<float> values) {
    YOLK_TRY(Tensor tensor, Tensor::create(std::move(shape), std::move(values)));
    return Values{std::move(tensor)};
}

Along along(const Shape& shape, std::size_t dimension) {
    Along result{.extent = static_cast<std::uint32_t>(shape[dimension])};
    for (std::size_t i = 0; i < dimension; ++i) result.outer *= static_cast<std::uint32_t>(shape[i]);
    for (std::size_t i = dimension + 1; i < shape.rank(); ++i) result.inner *= static_cast<std::uint32_t>(shape[i]);
    return result;
}

Result<RowShape> rows_of(const Equation& equation, const Shape& shape) {
    YOLK_TRY(const std::uint64_t count, shape.element_count());
    std::uint64_t rows = 1;
    for (std::size_t i = 0; i + 1 < shape.rank(); ++i) rows *= shape[i];
    const std::uint64_t columns = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
    constexpr std::uint64_t kLimit = std::numeric_limits<std::int32_t>::max();
    if (count > kLimit || rows > kLimit || columns > kLimit) {
        return bad_input("{}: a tensor {}; tensors have less than 2^31 elements.", equation.operation->name,
                         shape.to_string());
    }
    return RowShape{static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(columns)};
}

Result<std::int64_t> integer_attribute(const Equation& equation, std::string_view name) {
    return attribute<std::int64_t>(equation, name, "an integer");
}
Result<std::vector<std::int64_t>> integers_attribute(const Equation& equation, std::string_view name) {
    return attribute<std::vector<std::int64_t>>(equation, name, "a list of integers");
}
Result<double> real_attribute(const Equation& equation, std::string_view name) {
    return attribute<double>(equation, name, "a number");
}
Result<std::vector<std::string>> texts_attribute(const Equation& equation, std::string_view name) {
    return attribute<std::vector<std::string>>(equation, name, "a list of texts");
}
Result<std::string> text_attribute(const Equation& equation, std::string_view name) {
    return attribute<std::string>(equation, name, "a text");
}

Result<Value> run_caught(const HostFunction& function, const HostCall& call) {
    if (!function.run) return bad_input("Hyperfunction '{}' has no body: give it a callable.", function.name);
    if (DryRun::is_on()) return function.stand_in;
    const bool asks = function.model != nullptr;
    return caught([&] { return fmt::format("{} '{}'", asks ? "Model call" : "Hyperfunction", function.name); },
                  [&]() -> Result<Value> {
                      auto result = function.run(call);
                      if (result) return result;
                      return std::move(result).error().while_doing(
                          fmt::format("calling {} '{}'", asks ? "model" : "hyperfunction", function.name));
                  });
}

Result<std::vector<Value>> evaluate_equation(const Equation& equation, std::span<const Value> operands) {
    if (equation.operation == nullptr) return bad_input("An equation without an operation cannot be evaluated.");
    std::vector<ValueType> types;
    for (const Value& operand : operands) types.push_back(type_of(operand));
    YOLK_TRY_VOID(checked_types(equation, types));
    auto results = equation.operation->evaluate(equation, operands);
    if (!results && equation.host == nullptr)
        return std::move(results).error().while_doing(fmt::format("evaluating {}", described_equation(equation)));
    return results;
}

}  // namespace yolk::hyper
