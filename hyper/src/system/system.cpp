// SPDX-License-Identifier: Apache-2.0
#include "yolk/system.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ranges>
#include <vector>

#include "body_calls.hpp"
#include "caught.hpp"
#include "equations.hpp"
#include "example_view.hpp"
#include "models_in_force.hpp"
#include "outputs.hpp"
#include "pending_calls.hpp"
#include "refresh.hpp"
#include "system_impl.hpp"
#include "tracer.hpp"
#include "yolk/internal/hyper/operations.hpp"
#include "yolk/log.hpp"

namespace yolk::hyper {
namespace {

template <class V>
std::string keys_of(const std::map<std::string, V>& inputs) {
    std::string keys;
    for (const auto& [key, value] : inputs) keys += fmt::format("{}'{}'", keys.empty() ? "" : ", ", key);
    return keys.empty() ? "none" : keys;
}

}  // namespace

Result<void> check_keys(std::span<const Example> examples) {
    for (std::size_t i = 1; i < examples.size(); ++i) {
        const auto& first = examples[0].inputs;
        const auto& other = examples[i].inputs;
        if (!std::ranges::equal(first | std::views::keys, other | std::views::keys)) {
            return bad_input("Example {} has the inputs {}; example 0 has {}. All examples have the same.", i,
                             keys_of(other), keys_of(first));
        }
    }
    return {};
}

namespace {

/// What is an integer in some examples and a number in others.
struct MixedKinds {
    std::map<std::string, std::pair<bool, bool>> inputs{};  ///< whether it is an integer, and a number, anywhere
    std::pair<bool, bool> expected{false, false};

    static void note(std::pair<bool, bool>& seen, const Value& value) {
        seen.first = seen.first || value.integer() != nullptr;
        seen.second = seen.second || value.number() != nullptr;
    }
    explicit MixedKinds(std::span<const Example> examples) {
        for (const Example& example : examples) {
            for (const auto& [key, value] : example.inputs) {
                if (value.integer() != nullptr || value.number() != nullptr) note(inputs[key], value);
            }
            note(expected, example.expected);
        }
    }
    [[nodiscard]] bool any() const {
        return (expected.first && expected.second) ||
               std::ranges::any_of(inputs, [](const auto& seen) { return seen.second.first && seen.second.second; });
    }
};

}  // namespace

Result<std::span<const Example>> of_one_kind(std::span<const Example> examples, std::vector<Example>& room) {
    const MixedKinds kinds(examples);
    if (!kinds.any()) return examples;
    const ValueType number{ValueKind::Number, {}};
    room.assign(examples.begin(), examples.end());
    for (Example& example : room) {
        for (auto& [key, value] : example.inputs) {
            const auto seen = kinds.inputs.find(key);
            if (seen == kinds.inputs.end() || !seen->second.first || !seen->second.second) continue;
            auto as_number = conformed(std::move(value), number);
            if (!as_number) return std::move(as_number).error().while_doing(fmt::format("reading input '{}'", key));
            value = *std::move(as_number);
        }
        if (kinds.expected.first && kinds.expected.second) {
            YOLK_TRY(example.expected, conformed(std::move(example.expected), number));
        }
    }
    return std::span<const Example>(room);
}

Traced Inputs::operator[](const std::string& key) const {
    const auto found = values_.find(key);
    if (found != values_.end()) return found->second;
    if (tracer_ != nullptr)
        tracer_->stick(bad_input("There is no input '{}'; the inputs are {}.", key, keys_of(values_)));
    return Traced(0.0);
}

Result<void> System::Impl::add(const AnyHyperfunction& function, Value first) {
    const auto known = functions.find(function.name());
    if (known != functions.end() && known->second.get() == &function.parts())
        return bad_input("Hyperfunction '{}' is registered already; set its values through parameters().",
                         function.name());
    if (known != functions.end()) return two_of_one_name(*known->second, function.parts());
    YOLK_TRY_VOID(parameters.add(function.parts().spec, std::move(first)));
    functions.emplace(function.name(), function.shared_parts());
    return {};
}

Result<Value> System::Impl::value_for(const AnyHyperfunction& function) {
    const AnyHyperfunction::Parts& parts = function.parts();
    const std::lock_guard lock(mutex);
    const auto known = functions.find(function.name());
    const bool is_this = known != functions.end() && known->second.get() == &parts;
    const ParameterGroup* group = parameters.find(function.name());
    if (is_this && group != nullptr) return group->value();
    if (parts.spec.is_text) {
        YOLK_TRY_VOID(add(function, parts.text));
        return Value(parts.text);
    }
    // Rank 1 without elements: no first values were given.
    const bool is_weight = parts.spec.fields.empty() && parts.spec.has_numbers();
    const bool is_unset = parts.values.shape() == Shape{0};
    YOLK_TRY_VOID(add(function, is_weight && is_unset ? initial_weights(parts.spec, seed) : parts.values));
    return parameters.find(function.name())->value();
}

System::System(std::string name, Function function, std::uint64_t seed) : impl_(std::make_unique<Impl>()) {
    impl_->name = std::move(name);
    impl_->body = std::move(function);
    impl_->seed = seed;
}

const std::string& System::name() const noexcept { return impl_->name; }
const ParameterSet& System::parameters() const noexcept { return impl_->parameters; }
ParameterSet& System::parameters() noexcept { return impl_->parameters; }
std::uint64_t System::function_runs() const noexcept { return impl_->function_runs; }

Result<void> System::add(const AnyHyperfunction& function) {
    const auto known = impl_->functions.find(function.name());
    if (known != impl_->functions.end()) return impl_->add(function, function.parts().values);
    YOLK_TRY([[maybe_unused]] const Value first, impl_->value_for(function));
    return {};
}
Result<void> System::add(const AnyHyperfunction& function, Value first) {
    return impl_->add(function, std::move(first));
}

Result<Value> System::value_of(const std::string& name) const {
    if (const ParameterGroup* group = impl_->parameters.find(name)) return group->value();
    return bad_input(
        "Hyperfunction '{}' is not registered in system '{}': it registers at its first call, or by add().", name,
        impl_->name);
}

void System::use(const evolve::Devices& devices) {
    impl_->populations.clear();
    impl_->devices = devices;
}

void System::use(Models models) { impl_->models = std::make_shared<const Models>(std::move(models)); }
std::shared_ptr<const Models> System::models() const noexcept { return impl_->models; }

const evolve::Devices& System::devices() const noexcept { return impl_->devices; }

Result<Dispatcher*> System::dispatcher() {
    Result<Dispatcher*> dispatcher = impl_->devices.dispatcher();
    if (!dispatcher && impl_->devices.pool() == nullptr)
        return std::move(dispatcher).error().while_doing("opening a device for system '" + impl_->name + "'");
    return dispatcher;
}

Result<MaybeDevice> device_of(System& system) {
    const evolve::Devices& devices = system.devices();
    if (devices.is_none()) return MaybeDevice{.why = devices.dispatcher().error()};
    Result<Dispatcher*> dispatcher = system.dispatcher();
    if (dispatcher) return MaybeDevice{.devices = devices, .dispatcher = *dispatcher};
    const char* const named = std::getenv("YOLK_DEVICE");
    const bool is_named = named != nullptr && *named != '\0';
    if (is_named || devices.pool() != nullptr) return std::move(dispatcher).error();
    return MaybeDevice{.why = std::move(dispatcher).error()};
}

HostPool& System::Impl::host_pool() {
    const std::lock_guard lock(mutex);
    if (pool == nullptr) pool = std::make_shared<HostPool>(HostPool::create({.seed = seed}).value());
    return *pool;
}
HostPool& System::pool() { return impl_->host_pool(); }
void System::overlap_host_calls(bool overlaps) noexcept { impl_->overlaps = overlaps; }
void System::leave_values_out(bool leaves) noexcept { impl_->leaves_values_out = leaves; }

std::shared_ptr<PendingCalls> System::Impl::pending_calls() {
    if (is_dry || !overlaps) return nullptr;
    return std::make_shared<PendingCalls>(host_pool());
}

Result<System::Impl::Begun> System::Impl::begin(const Example& example, std::optional<std::size_t> index,
                                                const std::shared_ptr<PendingCalls>& calls, bool keeps_calls) {
    const auto tracer = Tracer::create(
        name, [this](const AnyHyperfunction& function) { return value_for(function); },
        [this](const HostFunctionPtr& function, const HostCall& call) -> Result<Value> {
            if (is_dry) return function->stand_in;
            if (function->options.timeout.count() == 0 && function->options.retries == 0)
                return run_caught(*function, call);
            return host_pool()
                .run({.function = function,
                      .parameters = call.parameters,
                      .operands = {call.operands.begin(), call.operands.end()},
                      .label = {},
                      .text = call.text,
                      .numbers = call.numbers})
                .get();
        },
        calls);
    if (keeps_calls) tracer->keep_calls();
    std::string doing =
        fmt::format("running system '{}' on {}", name, index ? fmt::format("example {}", *index) : "the example");
    if (!body) return bad_input("System '{}' has no function.", name);
    Inputs inputs;
    inputs.tracer_ = tracer;
    for (const auto& [key, value] : example.inputs) inputs.values_.emplace(key, tracer->input(key, value));
    ++function_runs;
    const DryRun dry(is_dry);
    auto output = caught([] { return "Its function"; },
                         [&]() -> Result<Traced> {
                             const Tracer::Scope scope(tracer);
                             return body(inputs);
                         });
    if (!output) tracer->stick(output.error());
    const std::lock_guard lock(mutex);
    for (const std::string& warning : tracer->warnings()) {
        if (warned.insert(warning).second) log_warning(warning);
    }
    return Begun{tracer, output ? *output : Traced(0.0), std::move(doing)};
}

Result<TracedExample> System::Impl::finish(const Begun& begun) {
    auto traced = begun.tracer->finish(begun.output);
    if (!traced) return std::move(traced).error().while_doing(begun.doing);
    return traced;
}

Result<TracedExample> System::Impl::trace_types(const Example& example, std::optional<std::size_t> index,
                                                std::span<const std::string> varying) {
    const std::string doing =
        fmt::format("running system '{}' on {}", name, index ? fmt::format("example {}", *index) : "the example");
    if (!body) return bad_input("System '{}' has no function.", name);
    const auto tracer =
        Tracer::create_body(name, nullptr, [this](const AnyHyperfunction& function) { return value_for(function); });
    Inputs inputs;
    inputs.tracer_ = tracer;
    for (const auto& [key, value] : example.inputs) inputs.values_.emplace(key, tracer->input(key, value));
    ++function_runs;
    const auto output = caught([] { return "Its function"; },
                               [&]() -> Result<Traced> {
                                   const Tracer::Scope scope(tracer);
                                   return body(inputs);
                               });
    if (!output) tracer->stick(output.error());
    const Traced made = output ? *output : Traced(0.0);
    auto traced = tracer->finish_body(std::span(&made, 1));
    if (!traced) return std::move(traced).error().while_doing(doing);
    TracedExample result{.graph = std::move(traced->graph), .values = {}};
    result.values.resize(result.graph.variables.size());
    dissolve_pack(result);
    for (const GraphParameter& used : result.graph.parameters)
        result.values[used.variable.value] = parameters.find(used.group)->value();
    if (Result<void> fresh = population::refresh_valid(result, example.inputs, varying); !fresh)
        return std::move(fresh).error().while_doing(doing);
    return result;
}

Result<TracedExample> System::trace(const Example& example, std::optional<std::size_t> index) {
    const ModelScope models(in_force_with(impl_->models));
    YOLK_TRY(const Impl::Begun begun, impl_->begin(example, index, impl_->pending_calls()));
    return Impl::finish(begun);
}

Result<TracedExample> System::trace(const Example& example, std::optional<std::size_t> index,
                                    std::span<const std::string> varying) {
    return impl_->leaves_values_out ? impl_->trace_types(example, index, varying) : trace(example, index);
}

Result<std::vector<TracedExample>> System::trace_all(std::span<const Example> given, const LeftOut& left_out) {
    std::vector<Example> room;
    YOLK_TRY(const std::span<const Example> examples, of_one_kind(given, room));
    if (examples.empty()) return bad_input("System '{}' was given no examples; give it at least one.", impl_->name);
    YOLK_TRY_VOID(check_keys(examples));
    const ModelScope models(in_force_with(impl_->models));
    // The function runs for one example after another; host calls that nothing has asked for yet go on meanwhile.
    const auto calls = impl_->pending_calls();
    std::vector<Impl::Run> runs;
    std::map<std::string, std::size_t> known;  // which run has inputs of these types
    std::optional<std::vector<std::string>> groups;
    for (std::size_t i = 0; i < examples.size(); ++i) {
        const std::string types = population::types_of(examples[i].inputs);
        if (const auto found = known.find(types); found != known.end()) {
            if (left_out && !groups) {
                YOLK_TRY(groups, left_out());
            }
            TracedExample again = *runs[found->second].done;
            const std::span<const std::string> missing =
                groups ? std::span<const std::string>(*groups) : std::span<const std::string>();
            if (population::refresh_valid(again, examples[i].inputs, missing)) {
                runs.push_back({.begun = {}, .done = std::move(again)});
                continue;
            }  // otherwise the run says what is wrong, and where
        }
        if (impl_->leaves_values_out && left_out) {
            if (!groups) {
                YOLK_TRY(groups, left_out());
            }
            YOLK_TRY(TracedExample traced, impl_->trace_types(examples[i], i, *groups));
            runs.push_back({.begun = {}, .done = std::move(traced)});
            known.emplace(types, i);
            continue;
        }
        YOLK_TRY(Impl::Begun run, impl_->begin(examples[i], i, calls));
        const bool failed = run.tracer->error().has_value();
        runs.push_back({.begun = std::move(run), .done = {}});
        if (failed) break;
        if (!runs.back().begun->tracer->is_plain()) continue;
        if (auto traced = Impl::finish(*runs.back().begun)) {
            runs.back() = {.begun = {}, .done = *std::move(traced)};
            known.emplace(types, i);
        }
    }
    std::vector<Result<TracedExample>> finished;
    for (Impl::Run& run : runs)  // all: none is left under way
        finished.push_back(run.begun ? Impl::finish(*run.begun) : Result(*std::move(run.done)));
    std::vector<TracedExample> traces;
    for (Result<TracedExample>& result : finished) {
        YOLK_TRY(TracedExample traced, std::move(result));
        traces.push_back(std::move(traced));
    }
    return traces;
}

Result<Value> System::call(const std::map<std::string, Value>& inputs) {
    YOLK_TRY(const TracedExample traced, trace({inputs, {}}));
    return population::output_of(traced);
}

Result<Evaluation> System::evaluate(std::span<const Example> examples, const Metric& metric) {
    const ModelScope models(in_force_with(impl_->models));  // for the metric as well
    YOLK_TRY(const std::vector<TracedExample> traces, trace_all(examples));
    Evaluation evaluation;
    std::vector<Value> expected;
    for (std::size_t i = 0; i < examples.size(); ++i) {
        evaluation.predictions.push_back(population::output_of(traces[i]));
        expected.push_back(examples[i].expected);
    }
    auto scores = score(metric, evaluation.predictions, expected);
    if (!scores) return std::move(scores).error().while_doing(fmt::format("evaluating system '{}'", impl_->name));
    evaluation.reward = scores->reward;
    evaluation.per_example = std::move(scores->per_example);
    return evaluation;
}

}  // namespace yolk::hyper
