// SPDX-License-Identifier: Apache-2.0
// Control that depends on traced values: branches and loops as equations with bodies. A body is traced once, without
// values: it may use values of the run around it, and hyperfunctions, but it cannot read or steer by what it computes.
// Errors stick in the tracer, as those of operations do.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "yolk/internal/hyper/graph.hpp"
#include "yolk/internal/hyper/traced_operations.hpp"
#include "yolk/result.hpp"

namespace yolk::hyper {

using TracedValues = std::vector<Traced>;

/// Steps while the condition (a boolean: less, equal, logic) holds; the carries keep their types. Error when it runs:
/// the condition still holds after `limit` steps.
[[nodiscard]] TracedValues while_loop(std::span<const Traced> init,
                                      const std::function<Traced(std::span<const Traced>)>& condition,
                                      const std::function<TracedValues(std::span<const Traced>)>& step,
                                      std::uint64_t limit, Line line = Line::current());
[[nodiscard]] Traced while_loop(const Traced& init, const std::function<Traced(const Traced&)>& condition,
                                const std::function<Traced(const Traced&)>& step, std::uint64_t limit,
                                Line line = Line::current());

/// The branch of that number; of a boolean key: {if false, if true}. All branches give values of the same types and
/// shapes, and only the one that is taken runs. Error when it runs: a key without a branch.
[[nodiscard]] Traced switch_on(const Traced& key, const std::vector<std::function<Traced()>>& branches,
                               Line line = Line::current());
[[nodiscard]] TracedValues switch_on(const Traced& key, const std::vector<std::function<TracedValues()>>& branches,
                                     Line line = Line::current());

/// The branch that a text names. Error when it runs: a text that is no branch's name.
using NamedBranches = std::vector<std::pair<std::string, std::function<Traced()>>>;
[[nodiscard]] Traced switch_on(const Traced& key, const NamedBranches& branches, Line line = Line::current());

struct ScanOptions {
    /// Number of steps. Unset: the extent of the sequences; without sequences it must be set.
    std::optional<std::uint64_t> length{};
    bool reverse = false;  ///< from the last element to the first
};
/// Carries, and what is stacked: a result [...] of each step to [length, ...], a number to [length].
struct Scanned {
    TracedValues carries{};
    TracedValues results{};
};
/// A step for each element of the sequences [length, ...] (an element of [length] is [1]).
[[nodiscard]] Scanned scan(
    std::span<const Traced> init, std::span<const Traced> sequences,
    const std::function<Scanned(std::span<const Traced> carries, std::span<const Traced> elements)>& step,
    const ScanOptions& options = {}, Line line = Line::current());
/// One carry, one sequence, one result: the last carry and the stack.
[[nodiscard]] std::pair<Traced, Traced> scan(
    const Traced& init, const Traced& sequence,
    const std::function<std::pair<Traced, Traced>(const Traced& carry, const Traced& element)>& step,
    const ScanOptions& options = {}, Line line = Line::current());

/// x, through which no derivative goes.
[[nodiscard]] Traced stop_gradient(const Traced& x, Line line = Line::current());
/// x under a name: `collect` gives it out, `inject` puts another value in its place. Never dropped.
[[nodiscard]] Traced checkpoint(const Traced& x, std::string key, std::string collection = {},
                                Line line = Line::current());
/// value, after the others are there.
[[nodiscard]] Traced depends(const Traced& value, std::initializer_list<Traced> others, Line line = Line::current());
/// A weight of this path, finite and not negative, for `weighted`; the weight itself.
[[nodiscard]] Traced factor(const Traced& weight, Line line = Line::current());
/// A tensor of one element as a number.
[[nodiscard]] Traced to_number(const Traced& x, Line line = Line::current());
/// While it lives, equations that this thread traces have the tag, beside those of tags around it: for predicates
/// (sched), and to be seen in a graph's text.
class Tag {
   public:
    [[nodiscard]] explicit Tag(std::string name);
    ~Tag();
    Tag(const Tag&) = delete;
    Tag& operator=(const Tag&) = delete;
};
/// `function` of the operands as one equation (a call) under a name that rules can be given for.
[[nodiscard]] Traced custom_call(const std::string& name, std::span<const Traced> operands,
                                 const std::function<Traced(std::span<const Traced>)>& function,
                                 Line line = Line::current());

/// The graph of a function, without a system and without values. Hyperfunctions that it calls become parameters.
/// Errors: what stuck.
[[nodiscard]] Result<Graph> trace(const std::string& name, std::span<const std::pair<std::string, ValueType>> inputs,
                                  const std::function<TracedValues(std::span<const Traced>)>& function);

}  // namespace yolk::hyper
