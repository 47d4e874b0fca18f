// SPDX-License-Identifier: Apache-2.0
// The one description of a computation: equations in single-assignment form. Plain data; a transform takes a graph and
// returns a graph.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "yolk/internal/core/typed_id.hpp"
#include "yolk/internal/hyper/host_function.hpp"
#include "yolk/internal/hyper/line.hpp"
#include "yolk/result.hpp"
#include "yolk/tensor.hpp"

namespace yolk::hyper {

struct Equation;
struct Graph;

/// Position in Graph::variables.
using VariableId = TypedId<struct VariableIdTag>;

struct Variable {
    ValueType type;
    std::string name;  ///< for people; need not be unique
};

/// What an equation reads: a variable, or a value that was plain data when it was traced.
using Atom = std::variant<VariableId, Value>;

/// "dimension", "sizes", "scale": what an equation knows beside its operands.
using Attribute = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<std::string>>;
using Attributes = std::vector<std::pair<std::string, Attribute>>;

/// One kind of equation. Instances are static and compared by address; docs/hyper.md lists them. What a transform does
/// with it (batch, pushforward, pullback, dce, lowering) is in that transform's own table, keyed by the operation.
struct Operation {
    std::string_view name;
    /// Types of the results. Errors: operands that do not fit, in words.
    Result<std::vector<ValueType>> (*types)(const Equation& equation, std::span<const ValueType> operands);
    /// Results on the host. Tensor operations of class P give the bits of their kernels.
    Result<std::vector<Value>> (*evaluate)(const Equation& equation, std::span<const Value> operands);
    bool has_effects = false;  ///< never dropped, never folded
};

struct Equation {
    const Operation* operation = nullptr;
    std::vector<Atom> operands{};
    std::vector<VariableId> results{};
    Attributes attributes{};
    HostFunctionPtr host{};                              ///< of `host_call`
    std::vector<std::shared_ptr<const Graph>> bodies{};  ///< of higher-order equations (call, switch, loops, batch)
    std::string hyperfunction{};                         ///< whose body it comes from; empty: the system's own
    std::uint32_t call = 0;                              ///< which of that hyperfunction's calls
    /// Of the scopes (Tag) it was traced in, outermost first; not part of the structure.
    std::vector<std::string> tags{};
    /// The line of the user's program that made it, for messages; not part of the structure.
    std::optional<Line> made_at{};
};
[[nodiscard]] const Attribute* find_attribute(const Equation& equation, std::string_view name) noexcept;

/// A variable that holds a hyperfunction's parameters: [out, in] or [n], or a text. A hyperfunction without parameters
/// has none.
struct GraphParameter {
    VariableId variable;
    std::string group;  ///< the name in the system's parameter set
};

struct Graph {
    std::string name{};
    std::vector<Variable> variables{};
    std::vector<std::pair<std::string, VariableId>> inputs{};  ///< by the examples' keys
    std::vector<GraphParameter> parameters{};                  ///< each group once
    std::vector<Equation> equations{};                         ///< operands are defined above
    std::vector<Atom> outputs{};
    std::vector<std::string> output_names{};  ///< empty: the outputs have no names
};

/// Bodies inside bodies, at most: everything that goes through them does so by recursion.
inline constexpr std::size_t kMostNesting = 100;

/// Every variable defined exactly once and before its use, every id in range, names of inputs and of parameter groups
/// unique, types as the operations say, bodies valid and not nested too deep. Every public function that takes a graph
/// begins with this, in one pass over its equations, and gives its error back; the tracer makes valid graphs.
[[nodiscard]] Result<void> validate(const Graph& graph);

/// Stage of each equation: 1 + the largest stage of those it depends on, 0 where it depends on none. Equations of one
/// stage are independent.
[[nodiscard]] Result<std::vector<std::uint32_t>> stages(const Graph& graph);

/// For each variable whether it depends on one of `groups` (all parameters where not given).
[[nodiscard]] Result<std::vector<bool>> depends_on(const Graph& graph,
                                                   std::optional<std::span<const std::string>> groups = std::nullopt);

/// Equal structure: operations, attributes, wiring, types, hyperfunctions, host functions; not the values of literals,
/// only their types; in bodies their values as well. Equal signatures mean that the examples can be evaluated as one
/// batch.
[[nodiscard]] Result<std::string> signature(const Graph& graph);

/// Operations by name; nullptr for none.
[[nodiscard]] const Operation* find_operation(std::string_view name) noexcept;
[[nodiscard]] std::span<const Operation* const> operations() noexcept;

}  // namespace yolk::hyper
