// SPDX-License-Identifier: Apache-2.0
// Operations along one dimension. On the host they are the kernels' exact twins.
#include <fmt/format.h>

#include <array>

#include "operation_lists.hpp"
#include "with_extent.hpp"
#include "yolk/cumulative_sum.hpp"
#include "yolk/normalize.hpp"
#include "yolk/reduce.hpp"
#include "yolk/softmax.hpp"
#include "yolk/twin.hpp"

namespace yolk::hyper {
namespace {

Result<Types> softmax_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_tensor(equation, operands));
    return Types{operands[0]};
}

template <bool kLogarithm>
Result<Values> softmax(const Equation& equation, std::span<const Value> operands) {
    const Tensor& x = *operands[0].tensor();
    YOLK_TRY(const RowShape size, rows_of(equation, x.shape()));
    const SoftmaxDesc desc{.rows = size.rows, .columns = size.columns, .logarithm = kLogarithm};
    return one_tensor(x.shape(), reference::twin_result<float>(desc, {x.values()}));
}

/// Without the dimension, or with 1 where it is kept; of [n] comes [1].
Result<Shape> reduced_shape(const Equation& equation, const Shape& shape, std::size_t dimension) {
    const bool asked = find_attribute(equation, "keep") != nullptr;
    std::int64_t keep = 0;
    if (asked) {
        YOLK_TRY(keep, integer_attribute(equation, "keep"));
    }
    if (keep != 0 && keep != 1) {
        return bad_input("{}: keep is {}; it is 1 to keep the dimension with an extent of 1, or 0.",
                         equation.operation->name, keep);
    }
    if (keep == 1 || shape.rank() == 1) return with_extent(shape, dimension, 1);
    std::vector<std::uint64_t> extents(shape.extents().begin(), shape.extents().end());
    extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(dimension));
    return Shape(std::move(extents));
}

Result<Types> reduce_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_tensor(equation, operands));
    YOLK_TRY(const std::size_t dimension, dimension_or_last(equation, operands[0].shape));
    if (operands[0].shape[dimension] == 0) {
        return operand_error(equation, operands, fmt::format("a tensor whose dimension {} is not empty", dimension));
    }
    YOLK_TRY(Shape shape, reduced_shape(equation, operands[0].shape, dimension));
    return Types{{ValueKind::Tensor, std::move(shape)}};
}

Result<Values> reduce(const Equation& equation, std::span<const Value> operands) {
    const Tensor& x = *operands[0].tensor();
    YOLK_TRY(const std::size_t dimension, dimension_or_last(equation, x.shape()));
    YOLK_TRY(Shape shape, reduced_shape(equation, x.shape(), dimension));
    const Along size = along(x.shape(), dimension);
    const ReduceDesc desc{.operation = named_like<ReduceOperation>(*equation.operation),
                          .outer = size.outer,
                          .columns = size.extent,
                          .inner = size.inner};
    if (desc.operation != ReduceOperation::Argmax)
        return one_tensor(std::move(shape), reference::twin_result<float>(desc, {x.values()}));
    const auto places = reference::twin_result<std::uint32_t>(desc, {x.values()});
    return one_tensor(std::move(shape), {places.begin(), places.end()});
}

Result<Types> normalize_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_tensor(equation, operands));
    YOLK_TRY(const double epsilon, real_attribute(equation, "epsilon"));
    if (!(epsilon >= 0x1p-40 && epsilon <= 0x1p40)) {
        return bad_input("{}: epsilon {}; it takes 2^-40 (9.1e-13) to 2^40.", equation.operation->name, epsilon);
    }
    return Types{operands[0]};
}

template <NormalizeRule kRule>
Result<Values> normalize(const Equation& equation, std::span<const Value> operands) {
    const Tensor& x = *operands[0].tensor();
    YOLK_TRY(const RowShape size, rows_of(equation, x.shape()));
    YOLK_TRY(const double epsilon, real_attribute(equation, "epsilon"));
    const NormalizeDesc desc{
        .rule = kRule, .rows = size.rows, .columns = size.columns, .epsilon = static_cast<float>(epsilon)};
    return one_tensor(x.shape(), reference::twin_result<float>(desc, {x.values(), {}, {}}));
}

Result<Types> cumulative_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_tensor(equation, operands));
    YOLK_TRY_VOID(dimension_of(equation, operands[0].shape));
    return Types{operands[0]};
}

Result<Values> cumulative_sum(const Equation& equation, std::span<const Value> operands) {
    const Tensor& x = *operands[0].tensor();
    YOLK_TRY(const std::size_t dimension, dimension_of(equation, x.shape()));
    const Along size = along(x.shape(), dimension);
    const CumulativeSumDesc desc{.outer = size.outer, .columns = size.extent, .inner = size.inner};
    return one_tensor(x.shape(), reference::twin_result<float>(desc, {x.values()}));
}

constexpr std::array kRowOperations{
    Operation{"softmax", softmax_types, softmax<false>},
    Operation{"log_softmax", softmax_types, softmax<true>},
    Operation{"sum", reduce_types, reduce},
    Operation{"mean", reduce_types, reduce},
    Operation{"max", reduce_types, reduce},
    Operation{"min", reduce_types, reduce},
    Operation{"argmax", reduce_types, reduce},
    Operation{"cumulative_sum", cumulative_types, cumulative_sum},
    Operation{"layer_norm", normalize_types, normalize<NormalizeRule::Layer>},
    Operation{"rms_norm", normalize_types, normalize<NormalizeRule::RootMeanSquare>},
};

}  // namespace

std::span<const Operation> row_operations() noexcept { return kRowOperations; }

}  // namespace yolk::hyper
