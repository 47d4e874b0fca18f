// SPDX-License-Identifier: Apache-2.0
// One graph for many values of its inputs: tensors get a leading dimension, and each equation still runs once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "yolk/core/result.hpp"
#include "yolk/hyper/graph.hpp"
#include "yolk/hyper/transforms.hpp"

namespace yolk::hyper {

/// A value in a batched graph.
struct Batched {
    enum class Form {
        Shared,   ///< one atom for all elements
        Stacked,  ///< one tensor [size, ...]; of numbers [size], in fp32; of booleans [size], 1 or 0
        Listed,   ///< an atom for each element: integers, text, lists, records
    };
    Form form = Form::Shared;
    std::vector<Atom> atoms{};
    ValueType type{};  ///< of one element
};

/// An equation for a batch of `size`: its results, of the types `results` for one element. At least one operand is not
/// shared.
using BatchRule =
    std::function<Result<std::vector<Batched>>(GraphBuilder& builder, std::uint64_t size, const Equation& equation,
                                               std::span<const Batched> operands, std::span<const ValueType> results)>;
/// Operations without a rule, and host functions, are repeated for each element. Those with bodies batch their bodies.
[[nodiscard]] const RuleTable<BatchRule>& batch_rules();

struct BatchOptions {
    std::uint64_t size = 0;
    /// By input: the dimension that counts the elements, or nothing where all elements share the input. Empty: all are
    /// batched along dimension 0. Numbers and booleans come as tensors [size], integers, text, lists and
    /// records as `size` inputs "NAME 0", ...
    std::vector<std::optional<std::size_t>> axes{};
    const RuleTable<BatchRule>* rules = nullptr;  ///< nullptr: batch_rules()
};
/// Outputs are stacked along a leading dimension, those that do not depend on a batched input repeated; integers, text,
/// lists and records come as `size` outputs. Parameters are shared. Loops run until the last element is done, and those
/// that are done keep their values; bodies with effects are repeated for each element. Errors: an empty batch, axes
/// that do not fit.
[[nodiscard]] Result<Graph> batch(const Graph& graph, const BatchOptions& options);

}  // namespace yolk::hyper
