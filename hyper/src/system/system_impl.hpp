// SPDX-License-Identifier: Apache-2.0
// What a System holds. Shared by the files that implement it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "yolk/system.hpp"

namespace yolk::hyper {

/// All examples have the first's keys. Errors name the example.
[[nodiscard]] Result<void> check_keys(std::span<const Example> examples);
/// An input, or the expected value, that is 1 in one example and .5 in another is a number in all of them, so that they
/// have one structure. The examples as they are, or copies in `room`. Errors: an integer that no double holds.
[[nodiscard]] Result<std::span<const Example>> of_one_kind(std::span<const Example> examples,
                                                           std::vector<Example>& room);

/// What evaluate_population has prepared: its plans serve other examples of the same structures.
struct KeptPopulation {
    std::string key;
    std::vector<TracedExample> traced;  // before what refers to it
    std::optional<PopulationEvaluator> evaluator;
};

class PendingCalls;

/// Where tensor equations of a system run: nowhere, as far as no device can be opened and nobody has given one. That
/// is all right for a system without any; `why` is what others come to.
struct MaybeDevice {
    evolve::Devices devices = evolve::Devices::none();
    Dispatcher* dispatcher = nullptr;
    std::optional<Error> why{};
};
/// Errors: those of devices that the caller has given.
[[nodiscard]] Result<MaybeDevice> device_of(System& system);

struct System::Impl {
    std::string name;
    Function body;
    std::uint64_t seed = 1;
    ParameterSet parameters;
    /// Which hyperfunction a name belongs to: two of one name are refused, copies of one are not.
    std::map<std::string, std::shared_ptr<const AnyHyperfunction::Parts>> functions;
    std::atomic<std::uint64_t> function_runs = 0;
    std::mutex mutex{};              ///< of what several calls share: functions, parameters that register, warned, pool
    bool overlaps = true;            ///< host calls of a trace, and of several, run at the same time
    bool leaves_values_out = false;  ///< of traces for populations
    bool is_dry = false;             ///< host functions are not called: their stand-ins are their results
    std::set<std::string> warned{};  ///< each warning is logged once, not for every example
    evolve::Devices devices{};
    std::shared_ptr<HostPool> pool;
    std::shared_ptr<const Models> models{};                      ///< for model calls
    std::vector<std::unique_ptr<KeptPopulation>> populations{};  ///< the latest last; gone before their device

    /// One for these examples; the latest are kept. Errors: PopulationEvaluator::create's.
    [[nodiscard]] Result<KeptPopulation*> population_for(const PopulationEvaluator::Resources& resources,
                                                         std::vector<TracedExample> traced,
                                                         const PopulationOptions& options);
    /// A run of the function whose host calls may still be under way.
    struct Begun {
        std::shared_ptr<Tracer> tracer;
        Traced output;
        std::string doing;
    };
    /// One of several: begun, or done.
    struct Run {
        std::optional<Begun> begun;
        std::optional<TracedExample> done;
    };
    [[nodiscard]] Result<Begun> begin(const Example& example, std::optional<std::size_t> index,
                                      const std::shared_ptr<PendingCalls>& calls, bool keeps_calls = false);
    [[nodiscard]] static Result<TracedExample> finish(const Begun& begun);
    /// A run on types alone; then values of what depends on none of these groups.
    [[nodiscard]] Result<TracedExample> trace_types(const Example& example, std::optional<std::size_t> index,
                                                    std::span<const std::string> varying);
    [[nodiscard]] HostPool& host_pool();
    /// For the host calls of a trace; null where they are made one after another.
    [[nodiscard]] std::shared_ptr<PendingCalls> pending_calls();
    [[nodiscard]] Result<Value> value_for(const AnyHyperfunction& function);
    [[nodiscard]] Result<void> add(const AnyHyperfunction& function, Value first);
};

}  // namespace yolk::hyper
