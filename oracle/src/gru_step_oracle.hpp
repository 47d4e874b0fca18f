// SPDX-License-Identifier: Apache-2.0
// Oracle of the gru_step kernels (docs/kernels/gru_step.md), all [members, rows, columns].
#pragma once

#include <vector>

#include "yolk/oracle/family.hpp"
#include "yolk/primitives/gru_step.hpp"
#include "yolk/reference/gru_step.hpp"

namespace yolk::oracle {

struct GruStepOracle {
    std::vector<OracleValue> gate;
    std::vector<OracleValue> gated_state;
    std::vector<OracleValue> next_state;
};
/// Double precision, std::exp and std::tanh, in the published form h' = (1 - f) h + f tanh(...). The tolerance follows
/// each rounding and the stated errors of the exact functions.
[[nodiscard]] GruStepOracle gru_step_oracle(const GruStepDesc& desc, const reference::GruStepInputs& inputs);

}  // namespace yolk::oracle
