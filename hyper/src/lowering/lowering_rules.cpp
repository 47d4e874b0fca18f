// SPDX-License-Identifier: Apache-2.0
// The table of rules.
#include "lowering_rules.hpp"

#include <fmt/format.h>

#include <string_view>
#include <unordered_map>
#include <utility>

namespace yolk::hyper::population {
namespace {

constexpr std::pair<std::string_view, const Rule*> kRules[] = {
    {"add", &kElementwise},
    {"subtract", &kElementwise},
    {"multiply", &kElementwise},
    {"divide", &kElementwise},
    {"power", &kElementwise},
    {"maximum", &kElementwise},
    {"minimum", &kElementwise},
    {"less_than", &kElementwise},
    {"less_or_equal", &kElementwise},
    {"greater_than", &kElementwise},
    {"greater_or_equal", &kElementwise},
    {"equal_to", &kElementwise},
    {"not_equal_to", &kElementwise},
    {"where", &kElementwise},
    {"negate", &kElementwise},
    {"absolute", &kElementwise},
    {"sqrt", &kElementwise},
    {"rsqrt", &kElementwise},
    {"sin", &kElementwise},
    {"cos", &kElementwise},
    {"exp", &kElementwise},
    {"log", &kElementwise},
    {"floor", &kElementwise},
    {"round", &kElementwise},
    {"relu", &kElementwise},
    {"gelu", &kElementwise},
    {"silu", &kElementwise},
    {"tanh", &kElementwise},
    {"sigmoid", &kElementwise},
    {"linear", &kLinear},
    {"linear_transposed", &kLinearTransposed},
    {"embedding", &kEmbedding},
    {"matmul", &kMatmul},
    {"softmax", &kSoftmax},
    {"log_softmax", &kSoftmax},
    {"layer_norm", &kNormalize},
    {"rms_norm", &kNormalize},
    {"sum", &kReduce},
    {"mean", &kReduce},
    {"max", &kReduce},
    {"min", &kReduce},
    {"argmax", &kArgmax},
    {"cumulative_sum", &kCumulativeSum},
    {"concat", &kConcat},
    {"split", &kSplit},
    {"reshape", &kReshape},
    {"stop_gradient", &kReshape},
    {"checkpoint", &kReshape},
    {"permute", &kRearrange},
    {"slice", &kRearrange},
    {"broadcast_to", &kRearrange},
    {"pad", &kPad},
    {"gather", &kGather},
    {"scatter", &kScatter},
    {"scatter_add", &kScatter},
};

}  // namespace

const Rule* rule_of(const Operation* operation) {
    static const std::unordered_map<const Operation*, const Rule*> table = [] {
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

std::string refuses_matrices(const Equation&, std::span<const Operand> operands, std::span<const Source> sources) {
    for (const Operand& operand : operands) {
        if (is_drawn_matrix(operand, sources) && operand.type.shape[0] > kMostFormedRows) {
            return fmt::format("it takes the whole of matrix '{}', and candidates' matrices are formed up to {} rows",
                               sources[static_cast<std::size_t>(operand.traits.source)].spec.name, kMostFormedRows);
        }
    }
    return {};
}

bool draws_noise_of(const Equation& equation, std::size_t operand) {
    const std::string_view name = equation.operation->name;
    if (name == "matmul") return operand == 1;
    return operand == 0 && (name == "linear" || name == "linear_transposed" || name == "embedding");
}

std::string refuses_ids(const Operand& ids, std::uint64_t extent) {
    if (!ids.traits.varies) return {};
    if (!ids.traits.words) return "the ids are computed as fp32";
    if (ids.traits.below > extent) {
        return fmt::format("ids below {} are found where {} are allowed, and only the host refuses one",
                           ids.traits.below, extent);
    }
    return {};
}

}  // namespace yolk::hyper::population
