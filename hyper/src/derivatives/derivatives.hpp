// SPDX-License-Identifier: Apache-2.0
// Derivatives of operations, in both directions: what the tables of pushforward and pullback are made of.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "equation_writer.hpp"

namespace yolk::hyper {

/// One equation whose derivative is being written.
struct Site {
    EquationWriter& emit;
    const Equation& equation;
    std::span<const Atom> operands;
    std::span<const Atom> results;

    [[nodiscard]] ValueType type(std::size_t operand) const { return emit.type(operands[operand]); }
    [[nodiscard]] Shape shape(std::size_t operand) const { return emit.type(operands[operand]).shape; }
    [[nodiscard]] ValueType result_type() const { return emit.type(results[0]); }
    /// An attribute that may be missing.
    [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
    [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name) const;
    /// "dimension" of the first operand; the last one where it is not given.
    [[nodiscard]] std::size_t dimension() const;
};

using Tangents = std::span<const Tangent>;
/// Tangents of the results out of those of the operands, of which at least one moves.
using PushFunction = std::vector<Tangent> (*)(Site& site, Tangents operands);
/// Cotangents of the operands (only wanted ones need be given) out of those of the results, of which one is there.
using PullFunction = std::vector<Tangent> (*)(Site& site, Tangents results, const std::vector<bool>& wanted);

struct Derivative {
    std::string_view operation;
    PushFunction push = nullptr;
    PullFunction pull = nullptr;
};

/// By topic; names that are no operations of this build are left out of the tables.
[[nodiscard]] std::span<const Derivative> elementwise_derivatives() noexcept;
[[nodiscard]] std::span<const Derivative> reduction_derivatives() noexcept;
[[nodiscard]] std::span<const Derivative> rearranging_derivatives() noexcept;
[[nodiscard]] std::span<const Derivative> matrix_derivatives() noexcept;
[[nodiscard]] std::span<const Derivative> choice_derivatives() noexcept;
[[nodiscard]] std::span<const Derivative> text_derivatives() noexcept;

/// The same operation on tangents: of operations that are linear in all moving operands together.
[[nodiscard]] std::vector<Tangent> push_same(Site& site, Tangents operands);
/// Nothing moves behind it.
[[nodiscard]] std::vector<Tangent> push_nothing(Site& site, Tangents operands);
/// Nothing comes back through it (PullNothing).
inline constexpr PullFunction pull_nothing = nullptr;

}  // namespace yolk::hyper
