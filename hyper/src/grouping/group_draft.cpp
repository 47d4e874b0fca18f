// SPDX-License-Identifier: Apache-2.0
#include "group_draft.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "equations.hpp"
#include "lowering_rules.hpp"
#include "program_costs.hpp"
#include "yolk/internal/primitives/row_steps.hpp"

namespace yolk::hyper::population {
namespace {

const Shape& shape_of(const Operand& operand) {
    static const Shape scalar;
    return operand.type.kind == ValueKind::Tensor ? operand.type.shape : scalar;
}

/// Makes the description of a group, equation by equation.
class GroupDrafter {
   public:
    GroupDrafter(const PlacedExamples& examples, std::span<const std::size_t> equations, GroupSpace space)
        : examples_(examples), equations_(equations), space_(std::move(space)) {}

    [[nodiscard]] std::optional<GroupDraft> draft() {
        for (const std::size_t i : equations_) {
            if (!add(i)) return {};
        }
        RowProgramDesc program = writer_.program(space_.extents(), space_.row());
        if (program.inputs.size() > kMostProgramInputs || program.steps.size() > kMostProgramSteps ||
            program.numbers.size() > abi::row_program::kMostNumbers)
            return {};
        if (!space_.has_rows()) return of_elements(std::move(program));
        return is_legal(program) && is_worth_joining(program, free_)
                   ? std::optional(GroupDraft{std::move(program), std::move(inputs_)})
                   : std::nullopt;
    }

   private:
    using Value = RowProgramWriter::Value;
    /// A variable, or the place of a literal; and the dimensions that it has.
    using InputKey = std::pair<std::array<std::size_t, 3>, std::uint32_t>;

    [[nodiscard]] std::optional<GroupDraft> of_elements(RowProgramDesc program) {
        ElementwiseDesc desc{.extents = std::move(program.extents), .inputs = std::move(program.inputs)};
        for (RowStep& step : program.steps)
            desc.steps.push_back({std::get<ElementwiseOperation>(step.operation), std::move(step.operands)});
        if (!has_few_runs(desc) || !is_worth_joining(desc)) return {};
        return GroupDraft{std::move(desc), std::move(inputs_)};
    }
    /// What is reduced has to vary along the row, and the result has the shape of the last equation's.
    [[nodiscard]] bool is_legal(const RowProgramDesc& program) const {
        const std::vector<bool> varies = varies_along_row(program);
        const auto is_wrong = [&](const RowStep& step) { return is_reduction(step) && !varies[step.operands.front()]; };
        return std::ranges::none_of(program.steps, is_wrong) && has_few_runs(program) &&
               std::ranges::count_if(program.steps, [](const RowStep& step) { return is_reduction(step); }) <=
                   abi::row_program::kMostReductions &&
               varies.back() != space_.is_of_rows(result_shape(equations_.back()));
    }

    [[nodiscard]] const Equation& equation(std::size_t i) const { return examples_.graph.equations[i]; }
    [[nodiscard]] const Shape& result_shape(std::size_t i) const {
        return examples_.graph.variables[equation(i).results[0].value].type.shape;
    }
    /// What the operand is repeated to.
    [[nodiscard]] const Shape& shape_beside(std::size_t i, const Operand& operand) const {
        const bool is_kept = part_of(equation(i)) == Part::Reduction || rule_of(equation(i).operation) == &kReshape;
        return is_kept ? shape_of(operand) : result_shape(i);
    }
    bool add(std::size_t i) {
        std::vector<Value> values;
        for (const Operand& operand : operands_of(examples_.graph, examples_.placed, i, examples_.is_uniform)) {
            const std::optional<Value> value = value_of(i, operand);
            if (!value) return false;
            values.push_back(*value);
        }
        const std::optional<Value> result = step(i, std::move(values));
        if (result) made_.emplace(equation(i).results[0].value, *result);
        return result.has_value();
    }
    /// Nothing where no program says how it is repeated: along a part of a row, or, where it is one for each row, along
    /// anything else.
    [[nodiscard]] std::optional<Value> value_of(std::size_t i, const Operand& operand) {
        const Shape &from = shape_of(operand), &to = shape_beside(i, operand);
        const std::optional<std::uint32_t> dimensions = space_.dimensions(from, to);
        if (!dimensions) return {};
        if (operand.variable != nullptr) {
            if (const auto made = made_.find(operand.variable->value); made != made_.end()) {
                const bool is_repeated = space_.is_of_rows(from) && !space_.is_of_rows(to);
                return is_repeated && *dimensions != space_.dimensions_of_rows() ? std::nullopt
                                                                                 : std::optional(made->second);
            }
        }
        const std::uint32_t bits =
            *dimensions | (operand.traits.varies ? 1U : 0U) | (operand.traits.per_example ? 2U : 0U);
        InputKey key{{1, operand.place.equation, operand.place.operand}, bits};
        if (operand.variable != nullptr) key.first = {0, operand.variable->value, 0};
        const auto known = known_.find(key);
        if (known != known_.end()) return known->second;
        inputs_.push_back({operand, bits});
        return known_.emplace(key, writer_.input(bits)).first->second;
    }
    /// The equation's value. Nothing if a program cannot compute it.
    [[nodiscard]] std::optional<Value> step(std::size_t i, std::vector<Value> values) {
        const Operation& operation = *equation(i).operation;
        const Rule* rule = rule_of(&operation);
        Value result = values.front();
        switch (part_of(equation(i))) {
            case Part::None: return {};
            case Part::Renaming: return result;
            case Part::Element:
                result = writer_.step(named_like<ElementwiseOperation>(operation), std::move(values));
                break;
            case Part::Reduction:
                if (rule == &kArgmax && i != equations_.back()) return {};
                result = writer_.reduced(result, named_like<ReduceOperation>(operation), space_.columns());
                break;
            case Part::Row:
                if (rule == &kSoftmax) {
                    result = writer_.softmax(result, operation.name == "log_softmax");
                } else {
                    const auto [rule_of_rows, epsilon] = normalization_of(equation(i));
                    result = writer_.normalized(result, rule_of_rows, space_.columns(), epsilon);
                }
                break;
        }
        // Softmax has its exponentials twice wherever it is, for the sum and for the result.
        free_.resize(writer_.steps(), rule == &kSoftmax);
        return result;
    }

    const PlacedExamples& examples_;
    std::span<const std::size_t> equations_;
    GroupSpace space_;
    RowProgramWriter writer_;
    std::vector<GroupInput> inputs_;
    std::vector<bool> free_;  // by step: is_worth_joining()
    std::map<InputKey, Value> known_;
    std::map<std::uint32_t, Value> made_;  // by variable
};

}  // namespace

std::optional<GroupDraft> draft_of(const PlacedExamples& examples, std::span<const std::size_t> equations) {
    std::optional<GroupSpace> space = GroupSpace::of(examples, equations);
    if (!space) return {};
    return GroupDrafter(examples, equations, *std::move(space)).draft();
}

}  // namespace yolk::hyper::population
