// SPDX-License-Identifier: Apache-2.0
#include "gru_step_oracle.hpp"

#include <cmath>

#include "error_bounds.hpp"
#include "yolk/reference/gru_step.hpp"

namespace yolk::oracle {

namespace {

constexpr double kCandidateError = 1.2e-6;  // absolute, docs/kernels/exact_math.md
constexpr double kSigmoidError = 2.5e-7;    // relative
constexpr double kGateFloor = 0x1p-99;

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

/// A value in double and how far the kernel's may be off it.
struct GateEstimate {
    double value = 0.0;
    double off = 0.0;
};

GateEstimate biased(const std::vector<float>& input, std::size_t i, const std::vector<float>& bias, std::size_t place) {
    if (bias.empty()) return {input[i], kOperandFloor};
    const double sum = static_cast<double>(input[i]) + bias[place];
    return {sum, 2.0 * kOperandFloor + kFp32Rounding * (std::abs(sum) + 2.0 * kOperandFloor)};
}

/// The slope of the sigmoid is f (1 - f): its relative change is at most that of exp, the offset itself.
GateEstimate gate_of(const GateEstimate& input) {
    const double f = 1.0 / (1.0 + std::exp(-input.value));
    return {f, f * 1.01 * (std::expm1(input.off) + kSigmoidError) + kGateFloor};
}

/// The slope of tanh is at most 1.
GateEstimate candidate_of(const GateEstimate& input) { return {std::tanh(input.value), input.off + kCandidateError}; }

/// f times x.
GateEstimate times_gate(const GateEstimate& f, const GateEstimate& x) {
    const double value = f.value * x.value;
    const double off = f.off * (std::abs(x.value) + x.off) + f.value * x.off;
    return {value, off + kFp32Rounding * (std::abs(value) + off) + kGateFloor};
}

}  // namespace

GruStepOracle gru_step_oracle(const GruStepDesc& desc, const reference::GruStepInputs& inputs) {
    GruStepOracle out;
    for_each_unit(desc, [&](std::size_t i, std::size_t gate_place, std::size_t candidate_place) {
        const double h = inputs.state[i];
        const GateEstimate f = gate_of(biased(inputs.gate_input, i, inputs.gate_bias, gate_place));
        const GateEstimate candidate =
            candidate_of(biased(inputs.candidate_input, i, inputs.candidate_bias, candidate_place));
        const GateEstimate gated = times_gate(f, {h, kOperandFloor});
        const double distance = candidate.value - h;
        const double before = candidate.off + kOperandFloor;
        const GateEstimate moved = times_gate(f, {distance, before + kFp32Rounding * (std::abs(distance) + before)});
        const double next = (1.0 - f.value) * h + f.value * candidate.value;
        const double off = moved.off + kOperandFloor;
        out.gate.push_back({f.value, f.off});
        out.gated_state.push_back({gated.value, gated.off});
        // The oracle's own rounding, in double, shows where the state is large.
        out.next_state.push_back({next, off + kFp32Rounding * (std::abs(next) + off) + 0x1p-50 * std::abs(h)});
    });
    return out;
}

}  // namespace yolk::oracle
