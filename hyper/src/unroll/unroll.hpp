// SPDX-License-Identifier: Apache-2.0
// Branches and loops without bodies: their equations, step by step, so that each has its kernel and a population axis.
// All branches are computed, and the key chooses; a while_loop's steps are computed up to its limit, and its carries
// are those of the last step whose condition held. Values, errors of candidates and bits are the bodies' own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "yolk/internal/hyper/graph.hpp"
#include "yolk/internal/hyper/population.hpp"

namespace yolk::hyper::population {

/// Why equations stay as they are, by their place in the graph.
using Rolled = std::map<std::size_t, std::string>;

struct UnrollOptions {
    std::size_t most = kMostUnrolled;  ///< PopulationOptions::most_unrolled
    std::uint32_t block = kLoopBlock;  ///< PopulationOptions::loop_block
    /// By equation of the graph: the branch of a `switch` that all examples take, whatever the candidate. The others
    /// are left out.
    std::map<std::size_t, std::size_t> taken{};
};

/// Steps of a loop that change nothing once no candidate takes them: equations that may then be left out. Two of a
/// graph are apart, or one is within the other.
struct Skip {
    std::size_t first = 0, end = 0;  ///< equations of the unrolled graph; `end` is the first one behind them
    VariableId goes_on{};            ///< of one element: not 0 where a candidate takes them
    /// What is read behind them, each with the variable before them that it equals when they are left out.
    std::vector<std::pair<VariableId, VariableId>> results{};  // (before, behind)
};

struct Unrolled {
    Graph graph;
    bool changed = false;  ///< otherwise it is the original, and the rest is empty
    /// By variable of the original: the one with its value, where that was copied.
    std::vector<std::optional<VariableId>> copies{};
    std::vector<std::size_t> made{};    ///< equations that the original has not, in order
    std::vector<std::size_t> makers{};  ///< by equation: the original's that it stands for, or is
    std::vector<Skip> skips{};          ///< by their beginning, one before those within it
};

/// Whether there is an equation that unrolling is about: with bodies, or a choice between values, and something that
/// depends on a parameter in it.
[[nodiscard]] bool may_unroll(const Graph& graph);
/// All but those of `rolled`, to which those are added that cannot be: host functions, effects or too many equations in
/// the bodies, values that no kernel knows. Graphs of one signature give graphs of one structure.
[[nodiscard]] Unrolled unroll(const Graph& graph, Rolled& rolled, const UnrollOptions& options);

/// By equation of the unrolled graph.
[[nodiscard]] Rolled rolled_in(const Unrolled& unrolled, const Rolled& rolled);

}  // namespace yolk::hyper::population
