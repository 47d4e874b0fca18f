// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/gru_step.hpp"

#include <cmath>

#include "row_twin.hpp"
#include "yolk/exact/exact_activations.h"

namespace yolk::reference {

namespace {

/// element(flat index, its place in a bias of each kind)
template <class Element>
void for_each_unit(const GruStepDesc& desc, Element&& element) {
    const auto place = [&](RowVector kind, std::size_t member, std::size_t column) {
        return kind == RowVector::PerMember ? member * desc.columns + column : column;
    };
    std::size_t flat = 0;
    for (std::size_t member = 0; member < desc.members; ++member) {
        for (std::size_t row = 0; row < desc.rows; ++row) {
            for (std::size_t column = 0; column < desc.columns; ++column) {
                element(flat++, place(desc.gate_bias, member, column), place(desc.candidate_bias, member, column));
            }
        }
    }
}

float one_nan(float x) { return std::isnan(x) ? row_nan() : x; }

float biased_twin(const std::vector<float>& input, std::size_t i, const std::vector<float>& bias, std::size_t place) {
    const float a = exact::exact_flush_operand(input[i]);
    return bias.empty() ? a : a + exact::exact_flush_operand(bias[place]);
}

}  // namespace

GruStepOutputs gru_step_twin(const GruStepDesc& desc, const GruStepInputs& inputs) {
    GruStepOutputs out;
    for_each_unit(desc, [&](std::size_t i, std::size_t gate_place, std::size_t candidate_place) {
        const float h = exact::exact_flush_operand(inputs.state[i]);
        const float f = exact::exact_sigmoid(biased_twin(inputs.gate_input, i, inputs.gate_bias, gate_place));
        out.gate.push_back(f);
        out.gated_state.push_back(one_nan(exact::exact_flush(f * h)));
        const float candidate =
            exact::exact_tanh(biased_twin(inputs.candidate_input, i, inputs.candidate_bias, candidate_place));
        out.next_state.push_back(one_nan(h + exact::exact_flush(f * (candidate - h))));
    });
    return out;
}

}  // namespace yolk::reference
