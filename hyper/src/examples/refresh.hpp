// SPDX-License-Identifier: Apache-2.0
// New data in a graph that is there already: what the trace would have refused is refused.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "example_view.hpp"
#include "yolk/internal/hyper/population.hpp"

namespace yolk::hyper::population {

/// Its second operand is ids, which must be whole numbers below the extent that they index.
[[nodiscard]] bool takes_ids(const Equation& equation);
/// Whether an operand is one of the variables.
[[nodiscard]] bool reads_any(const Equation& equation, const std::vector<bool>& variables);
/// Errors: an id that depends on no parameter and is no whole number below its table's extent. Of ids that a candidate
/// steers, kernels and host see to it themselves.
[[nodiscard]] Result<void> check_ids(const ExampleView& example);

/// refresh() of a trace that is known to be valid.
[[nodiscard]] Result<void> refresh_valid(TracedExample& example, const std::map<std::string, Value>& inputs,
                                         std::optional<std::span<const std::string>> varying = std::nullopt);

/// refresh_valid() of a trace that it has filled before: equations whose operands are as they were keep their results,
/// host functions excepted.
[[nodiscard]] Result<void> refresh_changed(TracedExample& example, const std::map<std::string, Value>& inputs);

/// Whether the user's function would make the same equations of other inputs of these types: the trace read nothing
/// past the tracer and called no host function, which may have effects.
[[nodiscard]] bool is_refreshable(const TracedExample& example);
/// The same for inputs of the same names and types.
[[nodiscard]] std::string types_of(const std::map<std::string, Value>& inputs);

}  // namespace yolk::hyper::population
