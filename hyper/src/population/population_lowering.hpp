// SPDX-License-Identifier: Apache-2.0
// One rule per tensor operation: whether it has kernels for these operands, and which.
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "population_emitter.hpp"
#include "population_place.hpp"

namespace yolk::hyper::population {

struct Rule {
    /// Why it must run on the host; empty where it lowers. Kinds and empty tensors are checked before.
    std::string (*refuses)(std::span<const Operand> operands, std::span<const Source> sources);
    /// Steps whose results are the equation's, each [members, examples or 1, elements].
    void (*emit)(Emitter& emitter, const Equation& equation, std::span<const Operand> operands);
    bool takes_words = false;  ///< operands may be uint32
    bool gives_words = false;
};

/// nullptr: the host only.
[[nodiscard]] const Rule* rule_of(const Operation* operation);

/// Of a tensor: the product of all extents but the last, and the last; 1 and 1 of a scalar.
struct RowsColumns {
    std::uint32_t rows = 1;
    std::uint32_t columns = 1;
};
[[nodiscard]] RowsColumns rows_columns(const Shape& shape);
/// Refuses operands that are the whole of a matrix which is never formed.
[[nodiscard]] std::string refuses_matrices(std::span<const Operand> operands, std::span<const Source> sources);
[[nodiscard]] bool is_drawn_matrix(const Operand& operand, std::span<const Source> sources);
/// A kernel's operations have the words of the graph's.
template <Worded E>
[[nodiscard]] E named_like(const Operation& operation) {
    constexpr auto kWords = enum_words(E{});
    return static_cast<E>(std::ranges::find(kWords, operation.name) - kWords.begin());
}

// The rules' files.
extern const Rule kUnary, kBinary, kLinear, kLinearTransposed, kEmbedding, kSoftmax, kReduce, kArgmax, kConcat, kSplit,
    kReshape;

}  // namespace yolk::hyper::population
