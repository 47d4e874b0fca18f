// SPDX-License-Identifier: Apache-2.0
#include "exact_twin.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "caught.hpp"
#include "equations.hpp"
#include "evaluation.hpp"
#include "lowering_rules.hpp"
#include "output_space.hpp"
#include "yolk/internal/hyper/operations.hpp"
#include "yolk/perturbed_embedding.hpp"
#include "yolk/perturbed_linear.hpp"
#include "yolk/twin.hpp"

namespace yolk::hyper::population {
namespace {

/// One candidate over the examples of one structure, equation by equation.
class CandidateWalk {
   public:
    CandidateWalk(const ExampleGroup& group, const PlacedGraph& placed, const Question& question,
                  Candidates& candidates, std::uint32_t m)
        : group_(group),
          placed_(placed),
          question_(question),
          candidates_(candidates),
          m_(m),
          values_(group.count(), KnownValues(group.graph().variables.size())) {}

    /// `number`: the group's, among the examples'.
    [[nodiscard]] Result<void> run(HostPool* pool, HostMemory* memory, std::uint32_t number, std::uint64_t& calls);
    [[nodiscard]] Value output(std::uint32_t e);

   private:
    [[nodiscard]] Value operand(std::uint32_t e, const AtomPlace& place);
    [[nodiscard]] std::string label(std::uint32_t e) const {
        return fmt::format("example {}, candidate {}", group_.indices[e], candidates_.before() + m_);
    }
    [[nodiscard]] Result<void> call_host(std::size_t index, HostPool* pool, HostMemory* memory, std::uint32_t number,
                                         std::uint64_t& calls);
    [[nodiscard]] Result<void> evaluate(std::size_t index, std::uint32_t e);
    [[nodiscard]] const Source* drawn_matrix(std::size_t index) const;
    [[nodiscard]] Result<std::vector<Value>> perturbed(std::size_t index, std::uint32_t e, const Source& source);
    [[nodiscard]] Result<void> keep(std::size_t index, std::uint32_t e, std::vector<Value> results);

    const ExampleGroup& group_;
    const PlacedGraph& placed_;
    const Question& question_;
    Candidates& candidates_;
    std::uint32_t m_;
    std::vector<KnownValues> values_;  // by example
};

Value CandidateWalk::operand(std::uint32_t e, const AtomPlace& place) {
    if (const auto* id = std::get_if<VariableId>(&atom_at(group_.graph(), place))) {
        const Traits& traits = placed_.variables[id->value];
        if (traits.source >= 0) return candidates_.natural(static_cast<std::size_t>(traits.source), m_);
        if (traits.varies) return values_[e][id->value].value_or(Value());
    }
    return traced_value(group_.examples[e], place);
}

Value CandidateWalk::output(std::uint32_t e) {
    std::vector<Value> outputs;
    for (std::size_t i = 0; i < group_.graph().outputs.size(); ++i) outputs.push_back(operand(e, {kOutputs, i}));
    return output_from(group_.graph(), std::move(outputs));
}

Result<void> CandidateWalk::keep(std::size_t index, std::uint32_t e, std::vector<Value> results) {
    const Graph& graph = group_.graph();
    YOLK_TRY_VOID(check_results(graph, index, results));
    for (std::size_t i = 0; i < results.size(); ++i)
        values_[e][graph.equations[index].results[i].value] = std::move(results[i]);
    return {};
}

Result<void> CandidateWalk::call_host(std::size_t index, HostPool* pool, HostMemory* memory, std::uint32_t number,
                                      std::uint64_t& made) {
    const Equation& equation = group_.graph().equations[index];
    std::vector<PendingHostCall> calls;
    for (std::uint32_t e = 0; e < group_.count(); ++e) {
        PendingHostCall& call = calls.emplace_back(PendingHostCall{.key = {candidates_.before() + m_, number, index, e},
                                                                   .function = equation.host,
                                                                   .operands = {},
                                                                   .label = with_line(label(e), equation)});
        for (std::size_t i = 0; i < equation.operands.size(); ++i) call.operands.push_back(operand(e, {index, i}));
    }
    std::vector<Result<Value>> results = make_host_calls(pool, memory, calls, made);
    for (std::uint32_t e = 0; e < group_.count(); ++e) {
        if (!results[e]) return std::move(results[e]).error();
        YOLK_TRY_VOID(keep(index, e, {*std::move(results[e])}));
    }
    return {};
}

/// Which operand of a product a kernel may draw the perturbation of.
std::size_t weight_of(const Equation& equation) { return equation.operation->name == "matmul" ? 1 : 0; }

/// Where a kernel draws the perturbation of a matrix instead of being given the sum.
const Source* CandidateWalk::drawn_matrix(std::size_t index) const {
    if (placed_.equations[index].placement != Placement::Device) return nullptr;
    const Equation& equation = group_.graph().equations[index];
    if (!draws_noise_of(equation, weight_of(equation))) return nullptr;
    const auto* id = std::get_if<VariableId>(&equation.operands[weight_of(equation)]);
    if (id == nullptr || placed_.variables[id->value].source < 0) return nullptr;
    const Source& source = question_.sources[static_cast<std::size_t>(placed_.variables[id->value].source)];
    return source.drawn_on_device() && source.spec.is_matrix() ? &source : nullptr;
}

Result<std::vector<Value>> CandidateWalk::perturbed(std::size_t index, std::uint32_t e, const Source& source) {
    const Equation& equation = group_.graph().equations[index];
    const Value second = operand(e, {index, 1 - weight_of(equation)});
    const Shape& shape = group_.graph().variables[equation.results.front().value].type.shape;
    const auto rows = static_cast<std::uint32_t>(source.spec.shape[0]);
    const auto columns = static_cast<std::uint32_t>(source.spec.shape[1]);
    const std::int32_t member = candidates_.first_member() + static_cast<std::int32_t>(m_);
    std::vector<float> values;
    if (equation.operation == find_operation("embedding")) {
        std::vector<std::uint32_t> ids;
        for (const float id : second.tensor()->values()) ids.push_back(static_cast<std::uint32_t>(id));
        const PerturbedEmbeddingDesc desc{.members = 1,
                                          .rows = static_cast<std::uint32_t>(ids.size()),
                                          .table_rows = rows,
                                          .columns = columns,
                                          .rank = source.rank,
                                          .parameter = source.id,
                                          .antithetic = candidates_.antithetic()};
        values = reference::twin_result<float>(desc, {candidates_.mean(source), ids}, candidates_.when(), member);
    } else {
        const PerturbedLinearDesc desc{.members = 1,
                                       .rows = rows_columns(second.tensor()->shape()).rows,
                                       .in = columns,
                                       .out = rows,
                                       .rank = source.rank,
                                       .parameter = source.id,
                                       .transposed = equation.operation != find_operation("linear"),
                                       .antithetic = candidates_.antithetic()};
        values = reference::twin_result<float>(desc, {candidates_.mean(source), second.tensor()->values()},
                                               candidates_.when(), member);
    }
    YOLK_TRY(Tensor tensor, Tensor::create(shape, std::move(values)));
    return std::vector<Value>{std::move(tensor)};
}

Result<void> CandidateWalk::evaluate(std::size_t index, std::uint32_t e) {
    const Equation& equation = group_.graph().equations[index];
    const auto results = [&]() -> Result<std::vector<Value>> {
        if (const Source* source = drawn_matrix(index)) return perturbed(index, e, *source);
        std::vector<Value> operands;
        for (std::size_t i = 0; i < equation.operands.size(); ++i) operands.push_back(operand(e, {index, i}));
        return caught([&] { return equation.operation->name; }, [&] { return evaluate_equation(equation, operands); });
    };
    auto made = results();
    if (!made) return std::move(made).error().while_doing("evaluating " + label(e));
    return keep(index, e, *std::move(made));
}

Result<void> CandidateWalk::run(HostPool* pool, HostMemory* memory, std::uint32_t number, std::uint64_t& calls) {
    const Graph& graph = group_.graph();
    for (std::size_t i = 0; i < graph.equations.size(); ++i) {
        if (placed_.equations[i].placement == Placement::Data) continue;
        if (graph.equations[i].host) {
            YOLK_TRY_VOID(call_host(i, pool, memory, number, calls));
            continue;
        }
        for (std::uint32_t e = 0; e < group_.count(); ++e) YOLK_TRY_VOID(evaluate(i, e));
    }
    return {};
}

}  // namespace

Result<PopulationOutputs> PopulationTwin::evaluate(const Question& question, const evolve::MemberRange& part,
                                                   HostMemory* memory) const {
    PopulationOutputs outputs{.examples = examples_->count(), .candidates = part.count};
    outputs.values.resize(std::size_t{outputs.examples} * outputs.candidates);
    outputs.errors.resize(outputs.candidates);
    Candidates candidates(question, part);
    for (std::uint32_t g = 0; g < examples_->groups().size(); ++g) {
        const ExampleGroup& group = examples_->groups()[g];
        const PlacedGraph placed = place_group(group, question.sources);
        for (std::uint32_t m = 0; m < part.count; ++m) {
            if (outputs.errors[m]) continue;
            CandidateWalk walk(group, placed, question, candidates, m);
            if (Result<void> done = walk.run(pool_, memory, g, outputs.counts.host_calls); !done) {
                outputs.errors[m] = std::move(done).error();
                continue;
            }
            for (std::uint32_t e = 0; e < group.count(); ++e)
                outputs.values[std::size_t{group.indices[e]} * outputs.candidates + m] = walk.output(e);
        }
    }
    if (mean_outputs_) YOLK_TRY_VOID(average_values(outputs));
    return outputs;
}

}  // namespace yolk::hyper::population
