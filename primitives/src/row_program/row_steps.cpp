// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/primitives/row_steps.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace yolk {

using enum ElementwiseOperation;

RowProgramWriter::Value RowProgramWriter::input(std::uint32_t dimensions) {
    inputs_.push_back(dimensions);
    return {Value::Kind::Input, static_cast<std::uint32_t>(inputs_.size() - 1)};
}

RowProgramWriter::Value RowProgramWriter::number(float number) {
    const auto is_same_number = [&](float known) {
        return std::bit_cast<std::uint32_t>(known) == std::bit_cast<std::uint32_t>(number);
    };
    const auto found = std::ranges::find_if(numbers_, is_same_number);
    const auto index = static_cast<std::uint32_t>(found - numbers_.begin());
    if (found == numbers_.end()) numbers_.push_back(number);
    return {Value::Kind::Number, index};
}

RowProgramWriter::Value RowProgramWriter::step(std::variant<ElementwiseOperation, RowOperation> operation,
                                               std::vector<Value> operands) {
    steps_.push_back({operation, std::move(operands)});
    return {Value::Kind::Step, static_cast<std::uint32_t>(steps_.size() - 1)};
}

/// With m the largest x and s the sum of exp(x - m): exp(x - m) (1 / s), or (x - m) - log(s). m - m is no number where
/// m is not finite, and then nothing of the row is.
RowProgramWriter::Value RowProgramWriter::softmax(Value x, bool logarithm) {
    const Value operand = step(RowOperation::Operand, {x});
    const Value largest = step(RowOperation::Max, {operand});
    const Value none = step(Subtract, {largest, largest});
    const Value distance = step(RowOperation::Difference, {operand, largest});
    const Value exponential = step(RowOperation::Exponential, {distance});
    const Value sum = step(RowOperation::Sum, {exponential});
    if (logarithm) {
        const Value of_sum = step(Add, {step(Log, {sum}), none});
        return step(RowOperation::Result, {step(RowOperation::Difference, {distance, of_sum})});
    }
    const Value of_sum = step(Add, {step(RowOperation::Reciprocal, {sum}), none});
    return step(RowOperation::Result, {step(RowOperation::Product, {exponential, of_sum})});
}

/// d / sqrt(mean(d^2) + epsilon), d = x - mean(x), or x. Means are sums times the fp32 number nearest to 1 / columns.
RowProgramWriter::Value RowProgramWriter::deviation_product(Value x, NormalizeRule rule, std::uint32_t columns,
                                                            float epsilon) {
    const Value factor = number(1.0F / static_cast<float>(columns));
    Value deviation = step(RowOperation::Operand, {x});
    if (rule == NormalizeRule::Layer) {
        const Value sum = step(RowOperation::Sum, {deviation});
        const Value mean = step(RowOperation::Operand, {step(RowOperation::Product, {sum, factor})});
        deviation = step(RowOperation::Operand, {step(RowOperation::Difference, {deviation, mean})});
    }
    const Value squares = step(RowOperation::Sum, {step(RowOperation::Product, {deviation, deviation})});
    const Value radicand = step(RowOperation::Total, {step(RowOperation::Product, {squares, factor}), number(epsilon)});
    return step(RowOperation::Product, {deviation, step(RowOperation::InverseSqrt, {radicand})});
}

RowProgramWriter::Value RowProgramWriter::normalized(Value x, NormalizeRule rule, std::uint32_t columns,
                                                     float epsilon) {
    return step(RowOperation::Result, {deviation_product(x, rule, columns, epsilon)});
}

RowProgramWriter::Value RowProgramWriter::reduced(Value x, ReduceOperation operation, std::uint32_t columns) {
    const Value operand = step(RowOperation::Operand, {x});
    switch (operation) {
        case ReduceOperation::Sum: return step(RowOperation::Sum, {operand});
        case ReduceOperation::Mean:
            return step(Multiply, {step(RowOperation::Sum, {operand}), number(1.0F / static_cast<float>(columns))});
        case ReduceOperation::Max: return step(RowOperation::Max, {operand});
        case ReduceOperation::Min: return step(RowOperation::Min, {operand});
        case ReduceOperation::Argmax: break;
    }
    return step(RowOperation::Argmax, {operand});
}

RowProgramDesc RowProgramWriter::program(std::vector<std::uint32_t> extents, std::uint32_t row) const {
    RowProgramDesc desc{.extents = std::move(extents), .row = row, .inputs = inputs_, .numbers = numbers_};
    const auto number_of = [&](const Value& value) {
        const auto inputs = static_cast<std::uint32_t>(inputs_.size());
        const auto numbers = static_cast<std::uint32_t>(numbers_.size());
        return value.index + (value.kind == Value::Kind::Input ? 0 : inputs) +
               (value.kind == Value::Kind::Step ? numbers : 0);
    };
    for (const Step& step : steps_) {
        RowStep& made = desc.steps.emplace_back();
        made.operation = step.operation;
        for (const Value& operand : step.operands) made.operands.push_back(number_of(operand));
    }
    return desc;
}

RowProgramDesc row_program_of(const SoftmaxDesc& desc) {
    constexpr std::uint32_t kAll = 7, kColumns = 2;
    RowProgramWriter writer;
    (void)writer.softmax(writer.input(kAll), desc.logarithm);
    RowProgramDesc program = writer.program({desc.members, desc.rows, desc.columns}, kColumns);
    program.config = desc.config;
    return program;
}

namespace {

/// The dimensions of a scale or bias, as operands.
std::uint32_t dimensions_of(RowVector vector) {
    constexpr std::uint32_t kShared = 4, kPerMember = 5;
    return vector == RowVector::PerMember ? kPerMember : kShared;
}

}  // namespace

RowProgramDesc row_program_of(const NormalizeDesc& desc) {
    constexpr std::uint32_t kAll = 7, kColumns = 2;
    using Value = RowProgramWriter::Value;
    RowProgramWriter writer;
    const Value x = writer.input(kAll);
    const bool has_scale = desc.scale != RowVector::None, has_bias = desc.bias != RowVector::None;
    const Value scale = has_scale ? writer.input(dimensions_of(desc.scale)) : Value();
    const Value bias = has_bias ? writer.input(dimensions_of(desc.bias)) : Value();
    Value result = writer.deviation_product(x, desc.rule, std::max(desc.columns, 1U), desc.epsilon);
    const auto operand = [&](Value value) { return writer.step(RowOperation::Operand, {value}); };
    if (has_scale) result = writer.step(RowOperation::Product, {result, operand(scale)});
    if (has_bias) result = writer.step(RowOperation::Total, {result, operand(bias)});
    (void)writer.step(RowOperation::Result, {result});
    RowProgramDesc program = writer.program({desc.members, desc.rows, desc.columns}, kColumns);
    program.config = desc.config;
    return program;
}

/// Rows along the last dimension where nothing lies behind them: their elements then lie side by side.
RowProgramDesc row_program_of(const ReduceDesc& desc) {
    RowProgramWriter writer;
    std::vector<std::uint32_t> extents{desc.outer, desc.columns};
    if (desc.inner != 1) extents.push_back(desc.inner);
    const std::uint32_t all = (1U << extents.size()) - 1;
    (void)writer.reduced(writer.input(all), desc.operation, desc.columns);
    RowProgramDesc program = writer.program(std::move(extents), 1);
    program.config = desc.config;
    return program;
}

}  // namespace yolk
