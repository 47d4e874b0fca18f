// SPDX-License-Identifier: Apache-2.0
// Operations that move the elements of tensors: to other places, and by ids.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "operation_lists.hpp"
#include "rearrangement.hpp"
#include "yolk/scatter.hpp"
#include "yolk/twin.hpp"

namespace yolk::hyper {
namespace {

Result<Types> rearrange_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 1));
    if (operands[0].kind != ValueKind::Tensor) return operand_error(equation, operands, "a tensor");
    YOLK_TRY_VOID(rows_of(equation, operands[0].shape));
    YOLK_TRY(const Rearrangement rearrangement, rearrangement_of(equation, operands[0].shape));
    Shape shape = shape_of(rearrangement);
    YOLK_TRY_VOID(rows_of(equation, shape));
    return Types{{ValueKind::Tensor, std::move(shape)}};
}

Result<Values> evaluate_rearrange(const Equation& equation, std::span<const Value> operands) {
    const Tensor& x = *operands[0].tensor();
    YOLK_TRY(const Rearrangement rearrangement, rearrangement_of(equation, x.shape()));
    return one_tensor(shape_of(rearrangement), rearranged(x.values(), joined(rearrangement)));
}

Shape gathered_shape(const Shape& x, std::size_t dimension, const Shape& ids) {
    std::vector<std::uint64_t> extents(x.extents().begin(), x.extents().end());
    const auto at = extents.begin() + static_cast<std::ptrdiff_t>(dimension);
    extents.insert(extents.erase(at), ids.extents().begin(), ids.extents().end());
    return Shape(std::move(extents));
}

bool are_tensors(std::span<const ValueType> operands) {
    return std::ranges::all_of(operands, [](const ValueType& type) { return type.kind == ValueKind::Tensor; });
}

Result<Types> gather_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 2));
    if (!are_tensors(operands) || operands[0].shape.rank() == 0)
        return operand_error(equation, operands, "a tensor of at least one dimension, and ids in a tensor");
    YOLK_TRY(const std::size_t dimension, dimension_of(equation, operands[0].shape));
    Shape shape = gathered_shape(operands[0].shape, dimension, operands[1].shape);
    for (const Shape* each : {&operands[0].shape, &operands[1].shape, &std::as_const(shape)})
        YOLK_TRY_VOID(rows_of(equation, *each));
    return Types{{ValueKind::Tensor, std::move(shape)}};
}

Result<Values> evaluate_gather(const Equation& equation, std::span<const Value> operands) {
    const Tensor &x = *operands[0].tensor(), &where = *operands[1].tensor();
    YOLK_TRY(const std::size_t dimension, dimension_of(equation, x.shape()));
    YOLK_TRY(const std::vector<std::uint32_t> ids, ids_of(equation, where, x.shape(), dimension));
    const Along size = along(x.shape(), dimension);
    std::vector<float> values;
    values.reserve(std::size_t{size.outer} * ids.size() * size.inner);
    for (std::size_t o = 0; o < size.outer; ++o) {
        for (const std::uint32_t id : ids) {
            const auto row = x.values().subspan((o * size.extent + id) * size.inner, size.inner);
            values.insert(values.end(), row.begin(), row.end());
        }
    }
    return one_tensor(gathered_shape(x.shape(), dimension, where.shape()), std::move(values));
}

Result<Types> scatter_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 3));
    if (!are_tensors(operands) || operands[0].shape.rank() == 0)
        return operand_error(equation, operands, "a tensor of at least one dimension, ids and updates in tensors");
    YOLK_TRY(const std::size_t dimension, dimension_of(equation, operands[0].shape));
    const Shape wanted = gathered_shape(operands[0].shape, dimension, operands[1].shape);
    if (operands[2].shape != wanted) {
        return operand_error(equation, operands,
                             fmt::format("updates of the shape that gather gives, here {}", wanted.to_string()));
    }
    for (const ValueType& operand : operands) YOLK_TRY_VOID(rows_of(equation, operand.shape));
    return Types{operands[0]};
}

Result<Values> evaluate_scatter(const Equation& equation, std::span<const Value> operands) {
    const Tensor& x = *operands[0].tensor();
    YOLK_TRY(const std::size_t dimension, dimension_of(equation, x.shape()));
    YOLK_TRY(const std::vector<std::uint32_t> ids, ids_of(equation, *operands[1].tensor(), x.shape(), dimension));
    const Along size = along(x.shape(), dimension);
    const ScatterDesc desc{.members = size.outer,
                           .target_rows = size.extent,
                           .columns = size.inner,
                           .id_count = static_cast<std::uint32_t>(ids.size()),
                           .mode = equation.operation->name == "scatter" ? ScatterMode::Assign : ScatterMode::Add,
                           .shared_ids = true};
    std::vector<float> values(x.values().begin(), x.values().end());
    reference::twin_of(desc, {values, ids, operands[2].tensor()->values()});
    return one_tensor(x.shape(), std::move(values));
}

constexpr std::array kMoveOperations{
    Operation{"permute", rearrange_types, evaluate_rearrange},
    Operation{"slice", rearrange_types, evaluate_rearrange},
    Operation{"pad", rearrange_types, evaluate_rearrange},
    Operation{"broadcast_to", rearrange_types, evaluate_rearrange},
    Operation{"gather", gather_types, evaluate_gather},
    Operation{"scatter", scatter_types, evaluate_scatter},
    Operation{"scatter_add", scatter_types, evaluate_scatter},
};

}  // namespace

Result<std::vector<std::uint32_t>> ids_of(const Equation& equation, const Tensor& ids, const Shape& table,
                                          std::size_t dimension) {
    std::vector<std::uint32_t> whole;
    for (const float id : ids.values()) {
        if (!(id >= 0.0F) || id >= static_cast<float>(table[dimension]) || id != std::floor(id)) {
            return bad_input("{}: id {} along dimension {} of a tensor {}; ids are whole numbers below {}.",
                             equation.operation->name, id, dimension, table.to_string(), table[dimension]);
        }
        whole.push_back(static_cast<std::uint32_t>(id));
    }
    return whole;
}

std::span<const Operation> move_operations() noexcept { return kMoveOperations; }

}  // namespace yolk::hyper
