// SPDX-License-Identifier: Apache-2.0
// What the rules of batch are written with.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "equation_writer.hpp"
#include "yolk/graph.hpp"

namespace yolk::hyper {

using Form = Batched::Form;

/// One equation that is being written for a batch.
struct BatchSite {
    EquationWriter& emit;
    std::uint64_t size;
    const Equation& equation;
    std::span<const Batched> operands;
    std::span<const ValueType> results;

    [[nodiscard]] bool is_shared(std::size_t operand) const { return operands[operand].form == Form::Shared; }
    [[nodiscard]] const Shape& shape(std::size_t operand) const { return operands[operand].type.shape; }
    [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
    [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name) const;
    /// "dimension" of the first operand, the last one where it is not given.
    [[nodiscard]] std::size_t dimension() const;
};
using BatchFunction = std::vector<Batched> (*)(BatchSite& site);

struct Batching {
    std::string_view operation;
    BatchFunction batch;
};
[[nodiscard]] std::span<const Batching> elementwise_batching() noexcept;
[[nodiscard]] std::span<const Batching> tensor_batching() noexcept;
[[nodiscard]] std::span<const Batching> indexed_batching() noexcept;

[[nodiscard]] Batched shared_value(Atom atom, ValueType type);
[[nodiscard]] Batched stacked_value(Atom atom, ValueType type);
/// The type of a stack: [size, ...].
[[nodiscard]] ValueType stacked_type(std::uint64_t size, const ValueType& type);
/// The value as one stack, integers in fp32: a shared one repeated. Not of texts, lists and records.
[[nodiscard]] Atom stacked(EquationWriter& emit, std::uint64_t size, const Batched& value);
/// The stack with `rank` dimensions behind the first, the new ones in front of the others; a shared atom as it is.
[[nodiscard]] Atom aligned(EquationWriter& emit, std::uint64_t size, const Batched& value, std::size_t rank);
/// The values of all elements, each of its own type; and the way back.
[[nodiscard]] std::vector<Atom> elements(EquationWriter& emit, std::uint64_t size, const Batched& value);
[[nodiscard]] Batched from_elements(EquationWriter& emit, std::span<const Atom> elements, const ValueType& type);
/// The value in another form: shared to stacked or listed, for what a tensor cannot hold always listed.
[[nodiscard]] Batched in_form(EquationWriter& emit, std::uint64_t size, const Batched& value, Form form);
/// How a value of this type is batched.
[[nodiscard]] inline Form batched_form(const ValueType& type) {
    const bool is_held =
        type.kind == ValueKind::Tensor || type.kind == ValueKind::Number || type.kind == ValueKind::Boolean;
    return is_held ? Form::Stacked : Form::Listed;
}

/// a where the mask ([size], 1 or 0) is not 0, otherwise b; of one type, batched.
[[nodiscard]] Batched masked(EquationWriter& emit, std::uint64_t size, const Atom& mask, const Batched& a,
                             const Batched& b);

/// The equation once for each element.
[[nodiscard]] std::vector<Batched> repeated(BatchSite& site);

/// A body whose inputs have these forms. Its outputs have at least the forms `outputs` (empty: their natural ones).
struct BatchedBody {
    Graph graph{};
    std::vector<Form> forms{};  ///< of the outputs
};
[[nodiscard]] Result<BatchedBody> batch_body(const Graph& body, std::uint64_t size, std::span<const Form> inputs,
                                             std::span<const Form> outputs, const RuleTable<BatchRule>& rules);
/// call, switch, scan, while_loop. Errors: those of the bodies.
[[nodiscard]] Result<std::vector<Batched>> batch_bodies(BatchSite& site, const RuleTable<BatchRule>& rules);

}  // namespace yolk::hyper
