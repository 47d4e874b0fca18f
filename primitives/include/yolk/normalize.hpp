// SPDX-License-Identifier: Apache-2.0
// normalize: layer normalization (Ba, Kiros, Hinton 2016, arXiv:1607.06450) and root-mean-square normalization (Zhang,
// Sennrich 2019, arXiv:1910.07467) of rows (docs/kernels/normalize.md). Class P: the order of the sums depends on
// `columns` alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "yolk/internal/primitives/operation.hpp"
#include "yolk/internal/primitives/row_config.hpp"
#include "yolk/internal/primitives/row_vector.hpp"
#include "yolk/row_program.hpp"

namespace yolk {

enum class NormalizeRule {
    Layer,           ///< (x - mean) / sqrt(variance + epsilon), the variance over `columns`
    RootMeanSquare,  ///< x / sqrt(mean(x^2) + epsilon)
};
constexpr auto enum_words(NormalizeRule /*type*/) {
    return std::to_array<std::string_view>({"layer", "root_mean_square"});
}

struct NormalizeViews {
    BufferView in;     ///< fp32 [members, rows, columns]
    BufferView scale;  ///< fp32 [columns] or [members, columns]; empty where there is none
    BufferView bias;   ///< likewise
    BufferView out;    ///< out, fp32 [members, rows, columns]
};

struct NormalizeDesc {
    using Config = RowConfig;
    using Views = NormalizeViews;
    using Params = abi::row_program::Params;
    using Bindings = RowProgramDispatch;

    NormalizeRule rule = NormalizeRule::Layer;
    std::uint32_t members = 1;  ///< 0 is legal, for each of the three
    std::uint32_t rows = 0;     ///< per member
    std::uint32_t columns = 0;
    RowVector scale = RowVector::None;  ///< every row is multiplied by it
    RowVector bias = RowVector::None;   ///< added; of Layer only
    float epsilon = 1e-5F;              ///< 2^-40 (9.1e-13) ... 2^40
    std::optional<RowConfig> config{};  ///< unset: the device's table, else heuristic_row_config
};

template <>
const Operation<NormalizeDesc>& operation_of<NormalizeDesc>();
using NormalizePlan = Plan<NormalizeDesc>;
using BoundNormalize = Bound<NormalizeDesc>;
/// One dispatch, no scratch. Errors besides those of every plan: epsilon outside its range, a bias for RootMeanSquare,
/// rows longer than the device's loops.
inline constexpr Planner<NormalizeDesc> plan_normalize;

}  // namespace yolk
