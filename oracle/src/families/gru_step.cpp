// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cmath>
#include <vector>

#include "check_tools.hpp"
#include "error_bounds.hpp"
#include "row_inputs.hpp"
#include "yolk/oracle/families.hpp"
#include "yolk/oracle/operation_problem.hpp"
#include "yolk/reference/gru_step.hpp"

namespace yolk::oracle {
namespace {

struct GruStepOracle {
    std::vector<OracleValue> gate;
    std::vector<OracleValue> gated_state;
    std::vector<OracleValue> next_state;
};

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

/// Double precision, std::exp and std::tanh, in the published form h' = (1 - f) h + f tanh(...). The tolerance follows
/// each rounding and the stated errors of the exact functions.
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

class GruStepProblem final : public OperationProblem<GruStepDesc> {
   public:
    GruStepProblem(const GruStepDesc& desc, RowInputs inputs, std::uint64_t seed)
        : OperationProblem(desc, name_of(inputs), GruStepHalf::Gate), inputs_(inputs), seed_(seed) {}

    [[nodiscard]] std::vector<Expected> expected() const override {
        const reference::GruStepInputs inputs = make_inputs();
        const reference::GruStepOutputs twin = reference::gru_step_twin(desc(), inputs);
        GruStepOracle oracle = gru_step_oracle(desc(), inputs);
        return {{.twin = words_of(twin.gate), .oracle = std::move(oracle.gate)},
                {.twin = words_of(twin.gated_state), .oracle = std::move(oracle.gated_state)},
                {.twin = words_of(twin.next_state), .oracle = std::move(oracle.next_state)}};
    }
    /// A sigmoid and a tanh, and a few more.
    [[nodiscard]] Work work() const override {
        const auto elements = static_cast<double>(count());
        return {.operations = 75.0 * elements, .bytes = 32.0 * elements};
    }

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        const reference::GruStepInputs inputs = make_inputs();
        return {bytes_of_values(inputs.gate_input), bytes_of_values(inputs.gate_bias),
                bytes_of_values(inputs.candidate_input), bytes_of_values(inputs.candidate_bias),
                bytes_of_values(inputs.state)};
    }
    [[nodiscard]] PlannedProblem::Record record_of(BoundGruStep bound) const override {
        return [bound = std::make_shared<const BoundGruStep>(std::move(bound))](Recorder& recorder) {
            bound->record(recorder, GruStepHalf::Gate);
            recorder.barrier(Barrier::ComputeToCompute);
            bound->record(recorder, GruStepHalf::Update);
        };
    }

   private:
    [[nodiscard]] std::size_t count() const { return std::size_t{desc().members} * desc().rows * desc().columns; }
    [[nodiscard]] std::vector<float> make_bias(RowVector kind, std::uint64_t seed) const {
        if (kind == RowVector::None) return {};
        const std::size_t members = kind == RowVector::PerMember ? desc().members : 1;
        return row_inputs(seed, members * desc().columns, RowInputs::Plain);
    }
    [[nodiscard]] reference::GruStepInputs make_inputs() const {
        return {.gate_input = row_inputs(seed_, count(), inputs_),
                .gate_bias = make_bias(desc().gate_bias, seed_ + 1),
                .candidate_input = row_inputs(seed_ + 2, count(), inputs_),
                .candidate_bias = make_bias(desc().candidate_bias, seed_ + 3),
                .state = row_inputs(seed_ + 4, count(), inputs_)};
    }

    RowInputs inputs_;
    std::uint64_t seed_;
};

struct GruStepCase {
    std::uint32_t members, rows, columns;
    RowInputs inputs;
    RowVector gate_bias = RowVector::None;
    RowVector candidate_bias = RowVector::None;
};

// Nothing, one element, around a workgroup's tile of 64, primes, larger than the largest tile; each kind of bias;
// scales.
constexpr auto kGruStepCases = std::to_array<GruStepCase>({
    {0, 3, 5, RowInputs::Plain},
    {3, 0, 5, RowInputs::Plain, RowVector::Shared, RowVector::PerMember},
    {3, 5, 0, RowInputs::Plain, RowVector::PerMember, RowVector::Shared},
    {1, 1, 1, RowInputs::Plain, RowVector::Shared, RowVector::Shared},
    {3, 3, 7, RowInputs::Plain, RowVector::PerMember, RowVector::None},
    {1, 1, 64, RowInputs::Wide, RowVector::None, RowVector::PerMember},
    {5, 1, 13, RowInputs::Steep, RowVector::Shared, RowVector::PerMember},
    {2, 4, 32, RowInputs::Tiny, RowVector::PerMember, RowVector::Shared},
    {2, 4, 33, RowInputs::Huge},
    {7, 11, 31, RowInputs::Ties, RowVector::PerMember, RowVector::PerMember},
    {2, 1, 2053, RowInputs::Plain, RowVector::Shared, RowVector::Shared},
});

Problems gru_step_cases(std::uint64_t seed) {
    Problems problems;
    for (const GruStepCase& c : kGruStepCases) {
        const GruStepDesc desc{.members = c.members,
                               .rows = c.rows,
                               .columns = c.columns,
                               .gate_bias = c.gate_bias,
                               .candidate_bias = c.candidate_bias};
        problems.push_back(std::make_unique<GruStepProblem>(desc, c.inputs, seed));
    }
    return problems;
}

Problems gru_step_benchmarks() {
    Problems problems;
    const GruStepDesc desc{.members = 1024,
                           .rows = 4,
                           .columns = 256,
                           .gate_bias = RowVector::Shared,
                           .candidate_bias = RowVector::Shared};
    problems.push_back(std::make_unique<GruStepProblem>(desc, RowInputs::Plain, 1));
    return problems;
}

std::unique_ptr<Problem> make_gru_step_problem(const GruStepDesc& desc) {
    return std::make_unique<GruStepProblem>(desc, RowInputs::Plain, 1);
}

}  // namespace

const Family& gru_step_family() noexcept {
    static constexpr Family kFamily{.name = "gru_step",
                                    .exactness = "P",
                                    .cases = &gru_step_cases,
                                    .benchmarks = &gru_step_benchmarks,
                                    .configurations_per_case = 4,
                                    .operation = &kOperationText<GruStepDesc, &make_gru_step_problem>};
    return kFamily;
}

}  // namespace yolk::oracle
