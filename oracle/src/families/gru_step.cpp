// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "check_tools.hpp"
#include "gru_step_oracle.hpp"
#include "row_inputs.hpp"
#include "yolk/oracle/families.hpp"
#include "yolk/oracle/operation_problem.hpp"
#include "yolk/reference/gru_step.hpp"

namespace yolk::oracle {
namespace {

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
