// SPDX-License-Identifier: Apache-2.0
// Exact twin of the gru_step kernels (docs/kernels/gru_step.md), all [members, rows, columns].
#pragma once

#include <vector>

#include "yolk/primitives/gru_step.hpp"

namespace yolk::reference {

/// Biases are empty where there is none.
struct GruStepInputs {
    std::vector<float> gate_input;
    std::vector<float> gate_bias;
    std::vector<float> candidate_input;
    std::vector<float> candidate_bias;
    std::vector<float> state;
};

struct GruStepOutputs {
    std::vector<float> gate;
    std::vector<float> gated_state;
    std::vector<float> next_state;
};
/// Exact twin.
[[nodiscard]] GruStepOutputs gru_step_twin(const GruStepDesc& desc, const GruStepInputs& inputs);

}  // namespace yolk::reference
