// SPDX-License-Identifier: Apache-2.0
// Operations with kernels: on the host they are the kernels' exact twins.
#include <algorithm>
#include <array>
#include <cmath>

#include "operations_impl.hpp"
#include "yolk/reference/elementwise.hpp"
#include "yolk/reference/perturbed_embedding.hpp"
#include "yolk/reference/perturbed_linear.hpp"
#include "yolk/reference/reduce.hpp"
#include "yolk/reference/softmax.hpp"

namespace yolk::hyper {
namespace {

constexpr std::int32_t kCentre = -1;  // member without perturbation

Result<Values> one_tensor(Shape shape, std::vector<float> values) {
    YOLK_TRY(Tensor tensor, Tensor::create(std::move(shape), std::move(values)));
    return Values{std::move(tensor)};
}

Shape replace_last(const Shape& shape, std::uint64_t extent) { return with_extent(shape, shape.rank() - 1, extent); }

Shape without_last(const Shape& shape) {
    if (shape.rank() <= 1) return {1};
    return Shape(std::vector<std::uint64_t>(shape.extents().begin(), shape.extents().end() - 1));
}

bool is_row_of(const Shape& row, const Shape& shape) {
    return row.rank() == 1 && shape.rank() >= 1 && row[0] == shape[shape.rank() - 1];
}

Result<Types> binary_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 2));
    const ValueType &a = operands[0], &b = operands[1];
    const bool numbers = a.kind == ValueKind::Number && b.kind == ValueKind::Number;
    const bool tensors = a.kind == ValueKind::Tensor &&
                         (b.kind == ValueKind::Number ||
                          (b.kind == ValueKind::Tensor && (a.shape == b.shape || is_row_of(b.shape, a.shape))));
    if (!numbers && !tensors) {
        return operand_error(equation, operands,
                             "two numbers, or a tensor and one of the same shape, a number, or a row [columns] of its "
                             "last dimension");
    }
    YOLK_TRY_VOID(rows_of(equation, a.shape));
    return Types{a};
}

double binary_number(ElementwiseOperation operation, double a, double b) {
    switch (operation) {
        case ElementwiseOperation::Add: return a + b;
        case ElementwiseOperation::Subtract: return a - b;
        case ElementwiseOperation::Multiply: return a * b;
        default: return std::isnan(a) || a > b ? a : b;
    }
}

template <ElementwiseOperation kOperation>
Result<Values> binary(const Equation& equation, std::span<const Value> operands) {
    if (operands[0].number() != nullptr)
        return Values{Value(binary_number(kOperation, *operands[0].number(), *operands[1].number()))};
    const Tensor& first = *operands[0].tensor();
    YOLK_TRY(const RowShape size, rows_of(equation, first.shape()));
    ElementwiseDesc desc{.operation = kOperation, .rows = size.rows, .columns = size.columns};
    std::vector<float> row;
    std::span<const float> second;
    if (const double* number = operands[1].number()) {
        row.assign(size.columns, static_cast<float>(*number));
        second = row;
        desc.second = SecondOperand::Row;
    } else {
        second = operands[1].tensor()->values();
        const bool same = operands[1].tensor()->shape() == first.shape();
        desc.second = same ? SecondOperand::Full : SecondOperand::Row;
    }
    return one_tensor(first.shape(), reference::elementwise_twin(desc, first.values(), second));
}

Result<Types> unary_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 1));
    if (operands[0].kind != ValueKind::Tensor && operands[0].kind != ValueKind::Number)
        return operand_error(equation, operands, "a tensor or a number");
    YOLK_TRY_VOID(rows_of(equation, operands[0].shape));
    return Types{operands[0]};
}

template <ElementwiseOperation kOperation>
Result<Values> unary(const Equation& equation, std::span<const Value> operands) {
    if (const double* number = operands[0].number()) {
        if constexpr (kOperation == ElementwiseOperation::Negate) return Values{Value(-*number)};
        if constexpr (kOperation == ElementwiseOperation::Relu) return Values{Value(*number > 0.0 ? *number : 0.0)};
        const std::array<float, 1> x{static_cast<float>(*number)};
        const auto y = reference::elementwise_twin({.operation = kOperation, .rows = 1, .columns = 1}, x);
        return Values{Value(double{y[0]})};
    }
    const Tensor& x = *operands[0].tensor();
    YOLK_TRY(const RowShape size, rows_of(equation, x.shape()));
    const ElementwiseDesc desc{.operation = kOperation, .rows = size.rows, .columns = size.columns};
    return one_tensor(x.shape(), reference::elementwise_twin(desc, x.values()));
}

Result<void> expect_tensor(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 1));
    if (operands[0].kind != ValueKind::Tensor || operands[0].shape.rank() == 0)
        return operand_error(equation, operands, "a tensor of at least one dimension");
    YOLK_TRY_VOID(rows_of(equation, operands[0].shape));
    return {};
}

Result<Types> softmax_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_tensor(equation, operands));
    return Types{operands[0]};
}

template <bool kLogarithm>
Result<Values> softmax(const Equation& equation, std::span<const Value> operands) {
    const Tensor& x = *operands[0].tensor();
    YOLK_TRY(const RowShape size, rows_of(equation, x.shape()));
    const SoftmaxDesc desc{.rows = size.rows, .columns = size.columns, .logarithm = kLogarithm};
    return one_tensor(x.shape(), reference::softmax_twin(desc, {x.values().begin(), x.values().end()}));
}

Result<Types> reduce_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_tensor(equation, operands));
    const Shape& shape = operands[0].shape;
    if (shape[shape.rank() - 1] == 0)
        return operand_error(equation, operands, "a tensor whose last dimension is not empty");
    return Types{{ValueKind::Tensor, without_last(shape)}};
}

template <ReduceOperation kOperation>
Result<Values> reduce(const Equation& equation, std::span<const Value> operands) {
    const Tensor& x = *operands[0].tensor();
    YOLK_TRY(const RowShape size, rows_of(equation, x.shape()));
    const ReduceDesc desc{.operation = kOperation, .outer = size.rows, .columns = size.columns};
    const auto words = reference::reduce_twin(desc, {x.values().begin(), x.values().end()});
    std::vector<float> values;
    values.reserve(words.size());
    for (const std::uint32_t word : words) {
        values.push_back(kOperation == ReduceOperation::Argmax ? static_cast<float>(word) : std::bit_cast<float>(word));
    }
    return one_tensor(without_last(x.shape()), std::move(values));
}

template <bool kTransposed>
Result<Types> linear_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 2));
    const Shape &weight = operands[0].shape, &x = operands[1].shape;
    const bool fits = operands[0].kind == ValueKind::Tensor && operands[1].kind == ValueKind::Tensor &&
                      weight.rank() == 2 && x.rank() >= 1 && x[x.rank() - 1] == weight[kTransposed ? 0 : 1];
    if (!fits) {
        return operand_error(
            equation, operands,
            kTransposed ? "a weight [out, in] and x [..., out]" : "a weight [out, in] and x [..., in]");
    }
    YOLK_TRY_VOID(rows_of(equation, x));
    YOLK_TRY_VOID(rows_of(equation, weight));
    const Shape result = replace_last(x, weight[kTransposed ? 1 : 0]);
    YOLK_TRY_VOID(rows_of(equation, result));
    return Types{{ValueKind::Tensor, result}};
}

template <bool kTransposed>
Result<Values> linear(const Equation& equation, std::span<const Value> operands) {
    const Tensor &weight = *operands[0].tensor(), &x = *operands[1].tensor();
    YOLK_TRY(const RowShape size, rows_of(equation, x.shape()));
    const PerturbedLinearDesc desc{.members = 1,
                                   .rows = size.rows,
                                   .in = static_cast<std::uint32_t>(weight.shape()[1]),
                                   .out = static_cast<std::uint32_t>(weight.shape()[0]),
                                   .transposed = kTransposed};
    auto values = reference::perturbed_linear_twin(desc, weight.values(), x.values(), {}, kCentre);
    return one_tensor(replace_last(x.shape(), weight.shape()[kTransposed ? 1 : 0]), std::move(values));
}

Result<Types> embedding_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 2));
    const Shape &table = operands[0].shape, &ids = operands[1].shape;
    if (operands[0].kind != ValueKind::Tensor || operands[1].kind != ValueKind::Tensor || table.rank() != 2 ||
        ids.rank() != 1)
        return operand_error(equation, operands, "a table [vocabulary, width] and ids [n]");
    const Shape result{ids[0], table[1]};
    YOLK_TRY_VOID(rows_of(equation, table));
    YOLK_TRY_VOID(rows_of(equation, result));
    return Types{{ValueKind::Tensor, result}};
}

Result<Values> embedding(const Equation&, std::span<const Value> operands) {
    const Tensor &table = *operands[0].tensor(), &ids = *operands[1].tensor();
    std::vector<std::uint32_t> rows;
    for (const float id : ids.values()) {
        if (!(id >= 0.0F) || id >= static_cast<float>(table.shape()[0]) || id != std::floor(id)) {
            return bad_input("embedding: id {} for a table {}; ids are whole numbers below {}.", id,
                             table.shape().to_string(), table.shape()[0]);
        }
        rows.push_back(static_cast<std::uint32_t>(id));
    }
    const PerturbedEmbeddingDesc desc{.members = 1,
                                      .rows = static_cast<std::uint32_t>(rows.size()),
                                      .table_rows = static_cast<std::uint32_t>(table.shape()[0]),
                                      .columns = static_cast<std::uint32_t>(table.shape()[1])};
    return one_tensor({rows.size(), table.shape()[1]},
                      reference::perturbed_embedding_twin(desc, table.values(), rows, {}, kCentre));
}

constexpr std::array kTensorOperations{
    Operation{"add", binary_types, binary<ElementwiseOperation::Add>},
    Operation{"subtract", binary_types, binary<ElementwiseOperation::Subtract>},
    Operation{"multiply", binary_types, binary<ElementwiseOperation::Multiply>},
    Operation{"maximum", binary_types, binary<ElementwiseOperation::Maximum>},
    Operation{"negate", unary_types, unary<ElementwiseOperation::Negate>},
    Operation{"relu", unary_types, unary<ElementwiseOperation::Relu>},
    Operation{"gelu", unary_types, unary<ElementwiseOperation::Gelu>},
    Operation{"silu", unary_types, unary<ElementwiseOperation::Silu>},
    Operation{"tanh", unary_types, unary<ElementwiseOperation::Tanh>},
    Operation{"sigmoid", unary_types, unary<ElementwiseOperation::Sigmoid>},
    Operation{"exp", unary_types, unary<ElementwiseOperation::Exp>},
    Operation{"log", unary_types, unary<ElementwiseOperation::Log>},
    Operation{"softmax", softmax_types, softmax<false>},
    Operation{"log_softmax", softmax_types, softmax<true>},
    Operation{"sum", reduce_types, reduce<ReduceOperation::Sum>},
    Operation{"mean", reduce_types, reduce<ReduceOperation::Mean>},
    Operation{"argmax", reduce_types, reduce<ReduceOperation::Argmax>},
    Operation{"linear", linear_types<false>, linear<false>},
    Operation{"linear_transposed", linear_types<true>, linear<true>},
    Operation{"embedding", embedding_types, embedding},
};

}  // namespace

std::span<const Operation> tensor_operations() noexcept { return kTensorOperations; }

}  // namespace yolk::hyper
