// SPDX-License-Identifier: Apache-2.0
// A graph that runs in order, in its caller's thread: at once, or step by step.
#include "evaluation.hpp"
#include "valid_graph.hpp"

namespace yolk::hyper {

Result<Walk> Walk::create(const Graph& graph, const GraphArguments& arguments) {
    YOLK_TRY_VOID(validate(graph));
    Walk walk;
    walk.graph_ = &graph;
    YOLK_TRY(walk.values_, bind_arguments(graph, arguments));
    return walk;
}

const Equation* Walk::next() const noexcept {
    return position_ < graph_->equations.size() ? &graph_->equations[position_] : nullptr;
}

Result<std::vector<Value>> Walk::operands() const {
    if (next() == nullptr) return bad_input("The walk is at its end: there is no equation to look at.");
    return read_operands(*graph_, position_, values_);
}

Result<std::vector<Value>> Walk::step() {
    YOLK_TRY(const std::vector<Value> given, operands());
    YOLK_TRY(std::vector<Value> results, evaluate_at(*graph_, position_, given));
    YOLK_TRY_VOID(skip(results));
    return results;
}

Result<void> Walk::skip(std::vector<Value> results) {
    if (next() == nullptr) return bad_input("The walk is at its end: there is no equation to skip.");
    YOLK_TRY_VOID(store_results(*graph_, position_, std::move(results), values_));
    ++position_;
    return {};
}

Result<std::vector<Value>> Walk::outputs() const {
    if (next() != nullptr) {
        return bad_input("The walk is not at its end yet: step() or skip() until next() is null, then ask again.");
    }
    return read_outputs(*graph_, values_);
}

Result<std::vector<Value>> call(const Graph& graph, const GraphArguments& arguments) {
    YOLK_TRY_VOID(validate(graph));
    return call_valid(graph, arguments);
}

Result<std::vector<Value>> call_valid(const Graph& graph, const GraphArguments& arguments) {
    YOLK_TRY(KnownValues values, bind_arguments(graph, arguments));
    for (std::size_t i = 0; i < graph.equations.size(); ++i) {
        YOLK_TRY(const std::vector<Value> operands, read_operands(graph, i, values));
        YOLK_TRY(std::vector<Value> results, evaluate_at(graph, i, operands));
        YOLK_TRY_VOID(store_results(graph, i, std::move(results), values));
    }
    return read_outputs(graph, values);
}

}  // namespace yolk::hyper
