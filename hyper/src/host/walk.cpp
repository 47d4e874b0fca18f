// SPDX-License-Identifier: Apache-2.0
#include "evaluation.hpp"

namespace yolk::hyper {

Result<Walk> Walk::create(const Graph& graph, const GraphArguments& arguments) {
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
    Result<std::vector<Value>> outputs = read_atoms(graph_->outputs, values_);
    if (!outputs) return std::move(outputs).error().while_doing("reading the outputs of graph '" + graph_->name + "'");
    return outputs;
}

}  // namespace yolk::hyper
