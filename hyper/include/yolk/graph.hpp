// SPDX-License-Identifier: Apache-2.0
// Transforms: each takes a graph and returns a graph, so they compose. What one does with an operation is a rule in its
// own table, keyed by the operation; equations with bodies (call, switch, loops) are transformed by transforming the
// bodies.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yolk/internal/hyper/executor.hpp"
#include "yolk/internal/hyper/graph.hpp"
#include "yolk/internal/hyper/population.hpp"
#include "yolk/result.hpp"

namespace yolk::hyper {

/// Writes a graph equation by equation; what it hands out is valid.
class GraphBuilder {
   public:
    explicit GraphBuilder(std::string name) { graph_.name = std::move(name); }
    VariableId input(std::string name, ValueType type);
    VariableId parameter(std::string group, ValueType type);
    /// Appends `equation` (its results are made here) and returns them. Host functions' results are of `host_types`.
    /// The field of a record that this graph packs is what went in: no equation. Errors: operands that do not fit.
    [[nodiscard]] Result<std::vector<Atom>> add(Equation equation, std::span<const ValueType> host_types = {});
    /// An operation of one result.
    [[nodiscard]] Result<Atom> apply(std::string_view operation, std::vector<Atom> operands,
                                     Attributes attributes = {});
    /// Equations that are added from now on, and are of no hyperfunction themselves, belong where `origin` does: its
    /// hyperfunction, call, tags and line, for messages.
    void stand_for(const Equation& origin);
    [[nodiscard]] ValueType type(const Atom& atom) const;
    /// `names`: of the outputs, all or none.
    [[nodiscard]] Graph finish(std::vector<Atom> outputs, std::vector<std::string> names = {}) &&;

   private:
    VariableId variable(ValueType type, std::string name);
    [[nodiscard]] std::optional<Atom> unpacked(const Equation& equation) const;
    Graph graph_;
    std::map<std::uint32_t, std::size_t> packs_{};  ///< equations, by their results
    Equation origin_{};                             ///< no more than whose place others take
};

/// Rules of one transform.
template <class Rule>
using RuleTable = std::map<const Operation*, Rule>;

/// The graph of those outputs alone: equations that none of them needs are gone, in bodies too; those with effects
/// (host functions, but not model calls) stay. Inputs stay, parameters that nothing reads go. Error: another number of
/// outputs.
[[nodiscard]] Result<Graph> dce(const Graph& graph, const std::vector<bool>& outputs_used);

/// Calls replaced by their bodies' equations, all the way down, in other bodies as well.
[[nodiscard]] Result<Graph> inline_calls(const Graph& graph);

/// The graph as one call of itself: inputs and parameters as before, the body takes the parameters as inputs.
[[nodiscard]] Result<Graph> as_call(const Graph& graph);

/// How an output moves with the inputs, or what an output asks of it; none: not at all.
using Tangent = std::optional<Atom>;
/// Rules for whole hyperfunctions, by name: of host functions, and of what `custom_call` recorded as one equation.
template <class Rule>
using HyperfunctionRules = std::map<std::string, Rule>;

/// Tangents of an equation's results, out of those of its operands, of which at least one moves. `results` are what the
/// equation, already in the builder, came to.
using PushRule = std::function<Result<std::vector<Tangent>>(
    GraphBuilder& builder, const Equation& equation, std::span<const Atom> operands, std::span<const Tangent> tangents,
    std::span<const Atom> results)>;
/// Of operations without bodies; those with bodies (call, switch, scan) push their bodies, unless there is a rule here.
[[nodiscard]] const RuleTable<PushRule>& pushforward_rules();

/// Directional derivatives: after the graph's inputs comes "d NAME" for each tensor, number or text among them; after
/// its outputs come theirs (zeros of their type where they do not move; nothing for booleans). Texts move by texts:
/// format and concat by what they do to texts, model calls by asking the model about the movements; the empty text is
/// zero. Parameters do not move. Errors: an operation that moves and has no rule (host functions, the pullback of a
/// while_loop), a while_loop that carries a text while one moves into it, named.
[[nodiscard]] Result<Graph> pushforward(const Graph& graph, const RuleTable<PushRule>& rules = pushforward_rules(),
                                        const HyperfunctionRules<PushRule>& hyperfunctions = {});

/// Cotangents of an equation's operands, out of those of its results, of which at least one is there. Only operands
/// that are `wanted` need one.
using PullRule = std::function<Result<std::vector<Tangent>>(
    GraphBuilder& builder, const Equation& equation, std::span<const Atom> operands, std::span<const Atom> results,
    std::span<const Tangent> cotangents, const std::vector<bool>& wanted)>;
[[nodiscard]] const RuleTable<PullRule>& pullback_rules();

/// Whose cotangents a pullback gives, by name; all tensors, numbers and texts where not said.
struct PullbackOptions {
    std::optional<std::vector<std::string>> inputs{};
    std::optional<std::vector<std::string>> parameters{};
    const RuleTable<PullRule>* rules = nullptr;  ///< nullptr: pullback_rules()
    HyperfunctionRules<PullRule> hyperfunctions{};
};

/// Vector-Jacobian products: after the graph's inputs comes "d output I" for each tensor, number or text among its
/// outputs; after its outputs come the cotangents of the chosen inputs, then of the chosen parameters, each of its own
/// type, in the graph's order (zeros where nothing comes back). What is read several times adds up; the cotangents of
/// texts, feedback, are put one behind the other in the order of the program. Through a model call goes what the model
/// makes of the feedback (kCritiqueInstruction). Errors: a name that the graph does not have or that is boolean; an
/// operation on the way that has no rule, named.
[[nodiscard]] Result<Graph> pullback(const Graph& graph, const PullbackOptions& options = {});

// One graph for many values of its inputs: tensors get a leading dimension, and each equation still runs once.

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

// Transforms that change how a graph runs, not what it computes: overlap, weights of paths, named values, memos.

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

// A graph for people: lines of text, Graphviz, or a picture.

// `placed` is what place() says of the equations, and is shown with them; empty: not shown. Names and values may hold
// anything: they are escaped, long ones are cut. Error: a graph that is not valid.

/// One line per equation: results with their types, operation, operands, attributes, stage, where it runs and why.
/// Bodies of higher-order equations follow, indented.
[[nodiscard]] Result<std::string> to_text(const Graph& graph, std::span<const PlacedEquation> placed = {});
/// For `dot -Tsvg`: equations of one stage on one rank.
[[nodiscard]] Result<std::string> to_dot(const Graph& graph, std::span<const PlacedEquation> placed = {});
/// An SVG file that stands alone: a column per stage, inputs and parameters on the left, outputs on the right.
[[nodiscard]] Result<std::string> to_svg(const Graph& graph, std::span<const PlacedEquation> placed = {});

}  // namespace yolk::hyper
