// SPDX-License-Identifier: Apache-2.0
// gru_step: the elementwise half of a step of a minimal gated unit (Zhou, Wu, Zhang, Zhou 2016, arXiv:1603.09420), for
// every member of a population (docs/kernels/gru_step.md). Class P.
//   f = sigmoid(gate_input + gate_bias), gated_state = f state                          Gate
//   next_state = state + f (tanh(candidate_input + candidate_bias) - state)             Update
// The caller makes the inputs by matmul or perturbed_linear: gate_input = W_f x + U_f state before the first half,
// candidate_input = W_h x + U_h gated_state between the two.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/abi/gru_step.h"
#include "yolk/primitives/operation.hpp"
#include "yolk/primitives/row_vector.hpp"

namespace yolk {

/// Tuning parameters; any valid configuration gives the same bytes.
struct GruStepConfig {
    std::uint32_t workgroup_size = 64;          ///< 1, 4, 8, 16, 32, 64, 128, 256
    std::uint32_t elements_per_invocation = 1;  ///< 1, 2, 4, 8
};

enum class GruStepHalf {
    Gate,    ///< gate and gated_state
    Update,  ///< next_state, from the gate among others
};

/// Each fp32 [members, rows, columns] but the biases: [columns] or [members, columns], empty where there is none.
struct GruStepViews {
    BufferView gate_input;
    BufferView gate_bias;
    BufferView candidate_input;
    BufferView candidate_bias;
    BufferView state;
    BufferView gate;         ///< out of the first half, which the second reads
    BufferView gated_state;  ///< out of the first half
    BufferView next_state;   ///< out of the second half; not the state itself
};

struct GruStepDesc {
    using Config = GruStepConfig;
    using Views = GruStepViews;
    using Params = abi::gru_step::Params;
    /// The caller puts a barrier between the halves.
    using Call = void(GruStepHalf half);
    struct Pipelines {
        PipelineOf<Params> gate, update;
    };
    struct Bindings {
        BindingOf<Params> gate, update;
    };

    std::uint32_t members = 1;  ///< 0 is legal, for each of the three
    std::uint32_t rows = 0;     ///< per member
    std::uint32_t columns = 0;  ///< of the state
    RowVector gate_bias = RowVector::None;
    RowVector candidate_bias = RowVector::None;
    std::optional<GruStepConfig> config{};  ///< unset: the device's table, else its heuristic
};

template <>
const Operation<GruStepDesc>& operation_of<GruStepDesc>();
using GruStepPlan = Plan<GruStepDesc>;
using BoundGruStep = Bound<GruStepDesc>;
/// No scratch; one dispatch for each half of the step.
inline constexpr Planner<GruStepDesc> plan_gru_step;

}  // namespace yolk
