// SPDX-License-Identifier: Apache-2.0
// The table of rules.
#include "population_lowering.hpp"

#include <fmt/format.h>

#include <string_view>
#include <unordered_map>
#include <utility>

namespace yolk::hyper::population {

const Rule* rule_of(const Operation* operation) {
    static const std::unordered_map<const Operation*, const Rule*> table = [] {
        constexpr std::pair<std::string_view, const Rule*> kRules[] = {
            {"add", &kBinary},          {"subtract", &kBinary},
            {"multiply", &kBinary},     {"maximum", &kBinary},
            {"negate", &kUnary},        {"relu", &kUnary},
            {"gelu", &kUnary},          {"silu", &kUnary},
            {"tanh", &kUnary},          {"sigmoid", &kUnary},
            {"exp", &kUnary},           {"log", &kUnary},
            {"linear", &kLinear},       {"linear_transposed", &kLinearTransposed},
            {"embedding", &kEmbedding}, {"softmax", &kSoftmax},
            {"log_softmax", &kSoftmax}, {"sum", &kReduce},
            {"mean", &kReduce},         {"argmax", &kArgmax},
            {"concat", &kConcat},       {"split", &kSplit},
            {"reshape", &kReshape},
        };
        std::unordered_map<const Operation*, const Rule*> rules;
        for (const auto& [name, rule] : kRules) {
            if (const Operation* found = find_operation(name)) rules.emplace(found, rule);
        }
        return rules;
    }();
    const auto found = table.find(operation);
    return found == table.end() ? nullptr : found->second;
}

RowsColumns rows_columns(const Shape& shape) {
    RowsColumns size;
    for (std::size_t i = 0; i + 1 < shape.rank(); ++i) size.rows *= static_cast<std::uint32_t>(shape[i]);
    if (shape.rank() > 0) size.columns = static_cast<std::uint32_t>(shape[shape.rank() - 1]);
    return size;
}

bool is_drawn_matrix(const Operand& operand, std::span<const Source> sources) {
    if (operand.traits.source < 0) return false;
    return sources[static_cast<std::size_t>(operand.traits.source)].drawn_on_device() && operand.type.shape.rank() == 2;
}

std::string refuses_matrices(std::span<const Operand> operands, std::span<const Source> sources) {
    for (const Operand& operand : operands) {
        if (is_drawn_matrix(operand, sources)) {
            return fmt::format("it takes the whole of matrix '{}', whose perturbations are never formed",
                               sources[static_cast<std::size_t>(operand.traits.source)].spec.name);
        }
    }
    return {};
}

}  // namespace yolk::hyper::population
