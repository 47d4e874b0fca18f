// SPDX-License-Identifier: Apache-2.0
// Products with matrices, and rows of a table. On the host they are the kernels' exact twins.
#include <array>

#include "operation_lists.hpp"
#include "rearrangement.hpp"
#include "with_extent.hpp"
#include "yolk/matmul.hpp"
#include "yolk/perturbed_embedding.hpp"
#include "yolk/perturbed_linear.hpp"
#include "yolk/twin.hpp"

namespace yolk::hyper {
namespace {

constexpr std::int32_t kMean = -1;  // member without perturbation

Shape replace_last(const Shape& shape, std::uint64_t extent) { return with_extent(shape, shape.rank() - 1, extent); }

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
    auto values = reference::twin_result<float>(desc, {weight.values(), x.values()}, NoiseContext{}, kMean);
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

Result<Values> embedding(const Equation& equation, std::span<const Value> operands) {
    const Tensor &table = *operands[0].tensor(), &ids = *operands[1].tensor();
    YOLK_TRY(const std::vector<std::uint32_t> rows, ids_of(equation, ids, table.shape(), 0));
    const PerturbedEmbeddingDesc desc{.members = 1,
                                      .rows = static_cast<std::uint32_t>(rows.size()),
                                      .table_rows = static_cast<std::uint32_t>(table.shape()[0]),
                                      .columns = static_cast<std::uint32_t>(table.shape()[1])};
    return one_tensor({rows.size(), table.shape()[1]},
                      reference::twin_result<float>(desc, {table.values(), rows}, NoiseContext{}, kMean));
}

/// Of [..., rows, columns]: what is before the matrices.
Shape leading(const Shape& shape) {
    return Shape(std::vector<std::uint64_t>(shape.extents().begin(), shape.extents().end() - 2));
}

Result<Types> matmul_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 2));
    const Shape &a = operands[0].shape, &b = operands[1].shape;
    const auto refused = [&] {
        return operand_error(equation, operands,
                             "a [..., m, k] and b [..., k, n], whose leading dimensions, compared from the last on, "
                             "have equal extents or 1");
    };
    if (operands[0].kind != ValueKind::Tensor || operands[1].kind != ValueKind::Tensor || a.rank() < 2 ||
        b.rank() < 2 || a[a.rank() - 1] != b[b.rank() - 2])
        return refused();
    const auto batch = broadcast_shape(std::vector{leading(a), leading(b)});
    if (!batch) return refused();
    std::vector<std::uint64_t> extents(batch->extents().begin(), batch->extents().end());
    extents.push_back(a[a.rank() - 2]);
    extents.push_back(b[b.rank() - 1]);
    Shape shape(std::move(extents));
    for (const Shape* each : {&a, &b, &std::as_const(shape)}) YOLK_TRY_VOID(rows_of(equation, *each));
    return Types{{ValueKind::Tensor, std::move(shape)}};
}

/// For each matrix of `batch` which of the operand's it is.
std::vector<std::size_t> matrices_of(const Shape& operand, const Shape& batch) {
    const Shape own = leading(operand);
    std::vector<std::size_t> numbers;
    for_each_source(broadcasting(own, batch), [&](std::uint64_t from, bool) { numbers.push_back(from); });
    return numbers;
}

Result<Values> evaluate_matmul(const Equation& equation, std::span<const Value> operands) {
    const Tensor &a = *operands[0].tensor(), &b = *operands[1].tensor();
    YOLK_TRY(const Types types, matmul_types(equation, std::vector{type_of(operands[0]), type_of(operands[1])}));
    const Shape& shape = types[0].shape;
    const MatmulDesc desc{.m = static_cast<std::uint32_t>(shape[shape.rank() - 2]),
                          .n = static_cast<std::uint32_t>(shape[shape.rank() - 1]),
                          .k = static_cast<std::uint32_t>(a.shape()[a.shape().rank() - 1]),
                          .determinism = Determinism::Exact};
    const std::vector<std::size_t> of_a = matrices_of(a.shape(), leading(shape));
    const std::vector<std::size_t> of_b = matrices_of(b.shape(), leading(shape));
    const std::size_t a_size = std::size_t{desc.m} * desc.k, b_size = std::size_t{desc.k} * desc.n;
    const std::size_t out_size = std::size_t{desc.m} * desc.n;
    std::vector<float> values(of_a.size() * out_size);
    for (std::size_t z = 0; z < of_a.size(); ++z) {
        reference::twin_of(desc, {a.values().subspan(of_a[z] * a_size, a_size),
                                  b.values().subspan(of_b[z] * b_size, b_size),
                                  {},
                                  {},
                                  std::span(values).subspan(z * out_size, out_size)});
    }
    return one_tensor(shape, std::move(values));
}

constexpr std::array kTensorOperations{
    Operation{"matmul", matmul_types, evaluate_matmul},
    Operation{"linear", linear_types<false>, linear<false>},
    Operation{"linear_transposed", linear_types<true>, linear<true>},
    Operation{"embedding", embedding_types, embedding},
};

}  // namespace

std::span<const Operation> tensor_operations() noexcept { return kTensorOperations; }

}  // namespace yolk::hyper
