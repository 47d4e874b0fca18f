// SPDX-License-Identifier: Apache-2.0
// optimizer: adds lr * step to all parameters in one dispatch (docs/kernels/optimizer.md). Class P: own square root and
// reciprocal. Adam: Kingma and Ba 2015, Algorithm 1, on an ascent direction.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "yolk/internal/primitives/operation.hpp"

namespace yolk::abi::optimizer {
struct Params;
}

namespace yolk {

enum class OptimizerRule { Sgd, Momentum, Adam };
constexpr auto enum_words(OptimizerRule /*type*/) {
    return std::to_array<std::string_view>({"sgd", "momentum", "adam"});
}
[[nodiscard]] constexpr std::string_view to_string(OptimizerRule rule) noexcept { return word_of(rule); }
[[nodiscard]] Result<OptimizerRule> parse_optimizer_rule(std::string_view name);
/// fp32 arrays of state per parameter element: 0, 1 (momentum: first moment), 2 (Adam: first and second).
[[nodiscard]] std::uint32_t optimizer_state_arrays(OptimizerRule rule) noexcept;

struct OptimizerConfig {
    std::uint32_t workgroup_size = 64;
};

struct OptimizerViews {
    BufferView gradient;    ///< fp32 [element_count], an ascent direction
    BufferView parameters;  ///< in and out, fp32 [element_count]
    BufferView state;       ///< in and out, fp32 [state_arrays, element_count]: first moments, then second; zero at the
                            ///< start; empty for SGD
    BufferView skipped{};   ///< in and out, uint32 [1]: with `counts_skipped`, the elements that were left are added
};

struct OptimizerDesc {
    using Config = OptimizerConfig;
    using Views = OptimizerViews;
    using Params = abi::optimizer::Params;
    /// `step` counts from 0 (Adam's bias correction uses step + 1).
    using Call = void(float learning_rate, std::uint32_t step);

    OptimizerRule rule = OptimizerRule::Sgd;
    std::uint32_t element_count = 0;          ///< 0 is legal
    float beta1 = 0.9F;                       ///< momentum's and Adam's first decay, in [0, 1)
    float beta2 = 0.999F;                     ///< Adam's second, in [0, 1)
    float epsilon = 1e-8F;                    ///< Adam's, in [2^-40, 1]
    bool counts_skipped = false;              ///< elements that keep parameter and moments, as one would not be finite
    std::optional<OptimizerConfig> config{};  ///< unset: the device's table, else OptimizerConfig{}
};

template <>
const Operation<OptimizerDesc>& operation_of<OptimizerDesc>();
using OptimizerPlan = Plan<OptimizerDesc>;
using BoundOptimizer = Bound<OptimizerDesc>;
/// One dispatch, no scratch. Errors besides those of every plan: decays or epsilon outside their ranges.
inline constexpr Planner<OptimizerDesc> plan_optimizer;

}  // namespace yolk
