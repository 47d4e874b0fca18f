// SPDX-License-Identifier: Apache-2.0
// Transforms that change how a graph runs, not what it computes: overlap, weights of paths, named values, memos.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "yolk/core/result.hpp"
#include "yolk/hyper/executor.hpp"
#include "yolk/hyper/graph.hpp"

namespace yolk::hyper {

/// Which equations may overlap. Where not given: host functions.
using Eligible = std::function<bool(const Equation& equation)>;
/// The graph in stages: of each stage (stages()) the eligible equations, if they are several, become one equation
/// `parallel`, whose body call_async overlaps. In bodies, too. call() gives the same results.
[[nodiscard]] Result<Graph> sched(const Graph& graph, const Eligible& eligible = {});

/// The graph as one equation `weighted` whose last output, a number, is the product of all factors on the path that was
/// run: 1 without any. An inner `weighted` keeps its factors to itself. No derivative goes through it.
[[nodiscard]] Result<Graph> weighted(const Graph& graph);

/// The graph with checkpoints' values behind its outputs.
struct Collected {
    Graph graph{};
    std::vector<std::string> keys{};  ///< of the further outputs
};
/// Of one collection, in the order of the equations; calls are unfolded. Errors: a checkpoint of it inside a loop or a
/// branch.
[[nodiscard]] Result<Collected> collect(const Graph& graph, const std::string& collection = {});
/// The graph with these values in place of checkpoints: those of one key go to its checkpoints in order. Errors: a key
/// without a checkpoint left, a value of another type, a checkpoint inside a loop or a branch.
[[nodiscard]] Result<Graph> inject(const Graph& graph, const std::string& collection,
                                   std::span<const std::pair<std::string, Value>> values);

/// The graph with these values for inputs, which are inputs no more. Errors: no such input, a value of another type.
[[nodiscard]] Result<Graph> with_static_inputs(const Graph& graph,
                                               std::span<const std::pair<std::string, Value>> values);
/// Equations that read literals only are computed here and now; those with effects stay.
[[nodiscard]] Result<Graph> fold(const Graph& graph);
/// The outputs of a graph that folds to them. Error: one that depends on an input, a parameter, or an effect, with the
/// equation on the way and its line.
[[nodiscard]] Result<std::vector<Value>> folded_outputs(const Graph& graph);

/// Results of equations by what went in, to the bit. Threads may share it.
class Memo {
   public:
    Memo();
    [[nodiscard]] std::uint64_t hits() const;
    [[nodiscard]] std::uint64_t misses() const;
    ~Memo();

   private:
    friend Result<std::vector<Value>> call(const Graph& graph, const GraphArguments& arguments, Memo& memo);
    struct Impl;
    std::unique_ptr<Impl> impl_;
};
/// call() that takes known results: of host functions, too, which are then not called. Checkpoints and factors, and
/// bodies with them, always run. `memo` keeps what it knows between calls. Of model calls it knows the answers,
/// whichever models are in force.
[[nodiscard]] Result<std::vector<Value>> call(const Graph& graph, const GraphArguments& arguments, Memo& memo);

}  // namespace yolk::hyper
