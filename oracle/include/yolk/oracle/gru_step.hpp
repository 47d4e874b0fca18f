// SPDX-License-Identifier: Apache-2.0
// Host results for the gru_step kernels (docs/kernels/gru_step.md), all [members, rows, columns].
#pragma once

#include <memory>
#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/gru_step.hpp"

namespace yolk::oracle {

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

struct GruStepOracle {
    std::vector<OracleValue> gate;
    std::vector<OracleValue> gated_state;
    std::vector<OracleValue> next_state;
};
/// Double precision, std::exp and std::tanh, in the published form h' = (1 - f) h + f tanh(...). The tolerance follows
/// each rounding and the stated errors of the exact functions.
[[nodiscard]] GruStepOracle gru_step_oracle(const GruStepDesc& desc, const GruStepInputs& inputs);

/// A problem of this description, for tuning and timing.
[[nodiscard]] std::unique_ptr<Problem> make_gru_step_problem(const GruStepDesc& desc);

}  // namespace yolk::oracle
