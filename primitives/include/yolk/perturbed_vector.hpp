// SPDX-License-Identifier: Apache-2.0
// perturbed_vector: v + side * sigma * noise(domain Vector) for every member of a population, and v itself where it is
// frozen (docs/kernels/perturbed_vector.md). Class P.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/internal/primitives/operation.hpp"
#include "yolk/internal/primitives/parameters.hpp"

namespace yolk::abi::perturbed_vector {
struct Params;
}

namespace yolk {

/// Tuning parameters; any valid configuration gives the same bits.
struct PerturbedVectorConfig {
    std::uint32_t workgroup_size = 64;
};

struct PerturbedVectorViews {
    BufferView vector;  ///< fp32 [element_count]
    BufferView output;  ///< out, fp32 [members, element_count]
};

struct PerturbedVectorDesc {
    using Config = PerturbedVectorConfig;
    using Views = PerturbedVectorViews;
    using Params = abi::perturbed_vector::Params;
    /// Members first_member ... first_member + members - 1; member -1 is the mean.
    using Call = void(const NoiseContext& when, OrDefault<std::int32_t> first_member);

    std::uint32_t members = 0;        ///< 0 is legal
    std::uint32_t element_count = 0;  ///< of the vector
    ParameterId parameter{};          ///< whose noise stream perturbs it
    bool frozen = false;              ///< no noise: every member gets the vector
    bool antithetic = true;  ///< both sides of a pair share noise; false: every member has its own, pair = member
    std::optional<PerturbedVectorConfig> config{};  ///< unset: the device's table, else PerturbedVectorConfig{}
};

template <>
const Operation<PerturbedVectorDesc>& operation_of<PerturbedVectorDesc>();
using PerturbedVectorPlan = Plan<PerturbedVectorDesc>;
using BoundPerturbedVector = Bound<PerturbedVectorDesc>;
/// One dispatch, no scratch. Errors besides those of every plan: a parameter outside its range.
inline constexpr Planner<PerturbedVectorDesc> plan_perturbed_vector;

}  // namespace yolk
