// SPDX-License-Identifier: Apache-2.0
// A program over hyperfunctions: run it, score it, look at its graph, make it better.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "yolk/internal/core/owned.hpp"
#include "yolk/internal/hyper/control.hpp"
#include "yolk/internal/hyper/hyperfunction.hpp"
#include "yolk/internal/hyper/metric.hpp"
#include "yolk/internal/hyper/population.hpp"
#include "yolk/internal/hyper/text_records.hpp"
#include "yolk/internal/hyper/traced_layers.hpp"
#include "yolk/result.hpp"

namespace yolk::hyper {

struct Example {
    std::map<std::string, Value> inputs;
    Value expected;
};

/// The inputs of one example under the tracer.
class Inputs {
   public:
    /// An unknown key is an error that sticks, naming the keys there are.
    [[nodiscard]] Traced operator[](const std::string& key) const;

   private:
    friend class System;
    std::map<std::string, Traced> values_;
    std::shared_ptr<Tracer> tracer_;
};

struct Evaluation {
    double reward = 0.0;
    std::vector<double> per_example{};
    std::vector<Value> predictions{};
};

/// [candidates] rewards, [examples, candidates] outputs.
struct PopulationEvaluation {
    std::vector<double> rewards{};               ///< NaN where `errors` says why
    PopulationOutputs outputs{};                 ///< without its errors, which are below
    std::vector<std::optional<Error>> errors{};  ///< of host functions or the metric, by candidate
    std::vector<std::string> fallbacks{};        ///< sentences: what ran on the host, and why
};

struct OptimizeOptions;  // optimize.hpp
struct OptimizeOutcome;
class Models;  // models.hpp

/// One thread at a time, except that several may be in call() together. Movable.
class System {
   public:
    using Function = std::function<Traced(const Inputs&)>;
    System(std::string name, Function function, std::uint64_t seed = 1);
    /// Of several outputs: `function` returns a tuple of traced values, or a struct that `outputs_of` names.
    template <class F>
    requires(Outputs<std::invoke_result_t<F&, const Inputs&>> &&
             !std::is_convertible_v<std::invoke_result_t<F&, const Inputs&>, Traced>)
        System(std::string name, F function, std::uint64_t seed = 1)
        : System(std::move(name),
                 Function([function = std::move(function)](const Inputs& inputs) { return packed(function(inputs)); }),
                 seed) {}

    [[nodiscard]] const std::string& name() const noexcept;
    /// Explicit registration, with the hyperfunction's own first values or given ones. Without it a hyperfunction is
    /// registered at its first call. Errors: ParameterSet::add's.
    [[nodiscard]] Result<void> add(const AnyHyperfunction& function);
    [[nodiscard]] Result<void> add(const AnyHyperfunction& function, Value first);
    [[nodiscard]] const ParameterSet& parameters() const noexcept;
    [[nodiscard]] ParameterSet& parameters() noexcept;
    /// The tuned values, or the text, of one hyperfunction. Error: it is not registered.
    template <class P>
    [[nodiscard]] Result<P> parameters(const Hyperfunction<P>& function) const {
        YOLK_TRY(const Value value, value_of(function.name()));
        return function.from_values(value);
    }
    /// Where tensor equations of populations run, and with which other ranks a search is made; without it on the device
    /// that evolve::Devices chooses. A context, a pool of devices or an engine's dispatcher will do.
    void use(const evolve::Devices& devices);
    /// Who answers the model calls of what the system runs, unless a UseModels of the caller's has a model for them.
    void use(Models models);
    [[nodiscard]] std::shared_ptr<const Models> models() const noexcept;  ///< nullptr: none
    /// evolve::Devices::dispatcher().
    [[nodiscard]] Result<Dispatcher*> dispatcher();
    [[nodiscard]] const evolve::Devices& devices() const noexcept;
    [[nodiscard]] HostPool& pool();
    /// Whether host calls that do not wait for each other run at the same time, within one example and across examples,
    /// where the function is run (call, evaluate, trace). On by default; results and errors do not depend on it. Off
    /// for host functions whose effects must come in the order of the program (depends() orders two of them).
    void overlap_host_calls(bool overlaps) noexcept;
    /// Traces for populations (evaluate_population, optimize) run the function on types alone, and compute only what
    /// depends on no group that candidates change. For large networks, which the host would evaluate in seconds.
    /// Reading a value, or steering by one, is an error then. call(), evaluate() and trace() compute all values as
    /// ever.
    void leave_values_out(bool leaves) noexcept;

    /// Runs the function once under the tracer. Errors: what stuck in it; they name the example by `index` where given.
    [[nodiscard]] Result<TracedExample> trace(const Example& example, std::optional<std::size_t> index = {});
    /// The same for populations that change these groups: after leave_values_out() without what depends on them.
    [[nodiscard]] Result<TracedExample> trace(const Example& example, std::optional<std::size_t> index,
                                              std::span<const std::string> varying);
    /// Of each example. The function runs once for all examples whose inputs have the same types, where it reads no
    /// value past the tracer and calls no host function: its equations are the same then.
    /// `left_out` is asked once functions have registered, and names groups; values of what depends on them may be
    /// missing in examples whose graph another one had: for populations, which make them anew.
    using LeftOut = std::function<Result<std::vector<std::string>>()>;
    [[nodiscard]] Result<std::vector<TracedExample>> trace_all(std::span<const Example> examples,
                                                               const LeftOut& left_out = {});
    [[nodiscard]] std::uint64_t function_runs() const noexcept;  ///< of the user's function, so far

    /// The system's answer.
    [[nodiscard]] Result<Value> call(const std::map<std::string, Value>& inputs);
    /// Errors: no examples, differing keys, the function's, the metric's (exception, not finite); they name the
    /// example.
    [[nodiscard]] Result<Evaluation> evaluate(std::span<const Example> examples, const Metric& metric);
    /// Each example with these texts in place of the system's own, which stay as they are; other groups keep theirs. An
    /// example that fails has an error and does not stop the others. With `capture` there is a record for each call of
    /// a hyperfunction (inside loops and branches, of those that call the host there), also where the example failed
    /// after it. Host functions of different examples run at the same time. Errors: no examples, differing keys, a text
    /// that its group refuses, a group that is not registered yet, a metric that sees all predictions at once.
    [[nodiscard]] Result<std::vector<TextScore>> evaluate_with(const Texts& texts, std::span<const Example> examples,
                                                               const Metric& metric,
                                                               const TextEvaluationOptions& options = {});
    /// No candidates: empty. Plans are kept for later calls with examples of the same structures, until another device
    /// is used. The system's own parameters stay as they are, whatever happens. Over several devices an audit may find
    /// one that computed wrongly: these rewards are right, but a warning says where earlier ones may not be
    /// (PooledEvaluation::suspect_since).
    [[nodiscard]] Result<PopulationEvaluation> evaluate_population(std::span<const Candidate> candidates,
                                                                   std::span<const Example> examples,
                                                                   const Metric& metric,
                                                                   const PopulationOptions& options = {});
    /// optimize.hpp. The parameters become the best found; after an error they are what they were.
    [[nodiscard]] Result<OptimizeOutcome> optimize(std::span<const Example> examples, const Metric& metric,
                                                   const OptimizeOptions& options);
    [[nodiscard]] Result<OptimizeOutcome> optimize(std::span<const Example> examples, const Metric& metric);

   private:
    [[nodiscard]] Result<OptimizeOutcome> optimize_numbers(std::span<const Example> examples, const Metric& metric,
                                                           const OptimizeOptions& options);
    [[nodiscard]] Result<OptimizeOutcome> optimize_with_texts(std::span<const Example> examples, const Metric& metric,
                                                              const OptimizeOptions& options);
    /// Registers all hyperfunctions. Model calls of one example, at most; none is made where stand-ins will do.
    [[nodiscard]] Result<std::uint64_t> registered_model_calls(std::span<const Example> examples, bool is_dry);
    [[nodiscard]] Result<Value> value_of(const std::string& name) const;
    struct Impl;
    Owned<Impl> impl_;
};

/// Rewards of evaluated outputs: the metric over each candidate, on the pool's threads where it may be; or the means
/// that they are already.
[[nodiscard]] Result<PopulationEvaluation> score_population(PopulationOutputs outputs, std::span<const Value> expected,
                                                            const Metric& metric);

}  // namespace yolk::hyper
