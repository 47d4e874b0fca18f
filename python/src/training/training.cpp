// SPDX-License-Identifier: Apache-2.0
#include "training/training.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/arrays.hpp"
#include "base/devices.hpp"
#include "base/errors.hpp"
#include "base/interrupt.hpp"
#include "base/options.hpp"
#include "tracing/callables.hpp"
#include "tracing/values.hpp"
#include "training/environment_steps.hpp"
#include "training/host_environment.hpp"
#include "yolk/environment.hpp"
#include "yolk/internal/train/policy_file.hpp"
#include "yolk/internal/train/replay.hpp"
#include "yolk/json.hpp"
#include "yolk/train.hpp"

namespace yolk::python {
namespace {

using OwnEnvironment = std::shared_ptr<const LoadedEnvironment>;

/// An environment's file, compiled. Python holds one of these.
struct Environment {
    OwnEnvironment loaded;
};

Environment load(const std::string& file) {
    const WithoutLock released;
    return {unwrap(load_environment(file))};
}

/// How outputs become actions: continuous; for continuous ones squashed, action_low and action_high as well.
void tell_actions(nb::dict& all, const EnvironmentInfo& info) {
    all["continuous"] = info.actions.continuous;
    if (!info.actions.continuous) return;
    all["squashed"] = info.actions.squashed;
    const auto first = [&info](const auto& bounds) {
        return nb::cast(std::vector<float>(bounds.begin(), bounds.begin() + info.action_count));
    };
    all["action_low"] = first(info.actions.low);
    all["action_high"] = first(info.actions.high);
}

void tell_actions(nb::dict& all, const train::HostActions& actions) {
    all["continuous"] = actions.count == 0;
    if (actions.count != 0) return;
    all["squashed"] = false;
    all["action_low"] = nb::cast(actions.low);
    all["action_high"] = nb::cast(actions.high);
}

nb::dict info_of(const EnvironmentInfo& info) {
    nb::dict all;
    all["name"] = std::string(info.name);
    all["observations"] = info.observation_count;
    all["actions"] = info.action_count;
    all["max_steps"] = info.max_steps;
    all["solved_return"] = info.solved_return;
    all["best_return"] = info.best_return;
    tell_actions(all, info);
    return all;
}

template <class Duration>
Setter seconds_field(Duration& to) {
    return [&to](std::string_view name, nb::handle value) {
        const double seconds = real_number(name, value);
        if (!(seconds > 0.0 && seconds <= 1e6))
            throw Raised(bad_input("{} is {}; above 0, at most 1e6.", name, seconds));
        to = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
    };
}

Setter count_field(std::uint32_t& to) {
    return [&to](std::string_view name, nb::handle value) {
        to = static_cast<std::uint32_t>(whole_number(name, value, UINT32_MAX));
    };
}

Fields program_fields(train::HostProgram& program) {
    return {{"program", [&program](std::string_view name, nb::handle value) { program.command = text(name, value); }},
            {"processes", count_field(program.processes)},
            {"lanes", count_field(program.lanes)},
            {"program_seconds", seconds_field(program.timeout)}};
}

/// Starts its processes; `lanes` of each suffice for `wanted` in all where none are named.
train::HostEnvironments started(train::HostProgram program, std::uint32_t wanted) {
    if (program.lanes == 0) program.lanes = train::host_lanes(wanted, program.processes);
    const WithoutLock released;
    return unwrap(train::start_host_program(program));
}

Fields training_fields(train::TrainOptions& o, std::vector<std::uint32_t>& hidden, train::HostProgram& program) {
    Fields fields = evolution_fields(o.evolution);
    const auto count = [&fields](const char* name, std::uint32_t& to) { fields[name] = count_field(to); };
    const auto flag = [&fields](const char* name, bool& to) {
        fields[name] = [&to](std::string_view given, nb::handle value) { to = yes_or_no(given, value); };
    };
    count("generations", o.generations);
    count("max_steps", o.max_steps);
    count("recurrent", o.network.recurrent);
    count("checkpoint_every", o.checkpoint_every);
    count("hash_every", o.hash_every);
    count("evaluation_episodes", o.evaluation_episodes);
    flag("stop_when_solved", o.stop_when_solved);
    flag("log", o.log);
    flag("resume", o.resume);
    flag("normalize", o.network.normalized);
    fields["task"] = [&o](std::string_view name, nb::handle value) { o.task = text(name, value); };
    fields["out"] = [&o](std::string_view name, nb::handle value) { o.out = text(name, value); };
    fields["hang_seconds"] = seconds_field(o.hang_limit);
    fields["audit"] = [&o](std::string_view name, nb::handle value) { o.audit = real_number(name, value); };
    fields.merge(program_fields(program));
    fields["hidden"] = [&hidden](std::string_view name, nb::handle value) { hidden = whole_numbers(name, value); };
    return fields;
}

train::TrainOptions training_options(const nb::dict& given, const Environment* environment,
                                     train::HostEnvironments on_host, std::size_t devices) {
    train::TrainOptions options;
    train::HostProgram program{.lanes = 0};
    const std::vector<std::uint32_t>& usual = options.network.widths;
    std::vector<std::uint32_t> hidden(usual.begin() + 1, usual.end() - 1);
    set_fields(training_fields(options, hidden, program), given);
    if (!program.command.empty()) {
        program.processes *= static_cast<std::uint32_t>(devices);
        on_host = started(program, options.evolution.population);
    }
    if (environment != nullptr) options.own_environment = environment->loaded;
    options.host_environments = std::move(on_host);
    const EnvironmentInfo info = unwrap(train::environment_of(options));
    options.task = std::string(info.name);
    if (options.generations == 0) throw Raised(bad_input("generations is 0; at least 1 is needed."));
    options.network.widths = {info.observation_count};
    options.network.widths.insert(options.network.widths.end(), hidden.begin(), hidden.end());
    options.network.widths.push_back(info.action_count);
    unwrap(evolve::validate(options.evolution));
    return options;
}

/// What metrics.jsonl says of it, every generation the same fields.
nb::dict to_dict(const train::GenerationReport& report) {
    auto all = nb::cast<nb::dict>(from_json(to_json(report)));
    all["skipped_elements"] = report.skipped_elements;
    all["state_hash"] = report.state_hash;
    return all;
}

nb::dict to_dict(const train::TrainOutcome& outcome, const std::vector<Device>& devices) {
    nb::dict all;
    all["generations"] = outcome.generations;
    all["resumed_from"] = outcome.resumed_from;
    all["solved"] = outcome.solved;
    all["interrupted"] = outcome.interrupted;
    all["evaluations_per_second"] = outcome.evaluations_per_second;
    all["mean_return"] = outcome.eval_mean_return;
    all["state_hash"] = outcome.state_hash;
    all["seconds"] = outcome.seconds;
    all["not_finite"] = outcome.not_finite;
    all["skipped_elements"] = outcome.skipped_elements;
    all["policy"] = outcome.policy.string();
    all["previous"] = outcome.previous.string();
    all["dropped"] = outcome.losses;
    if (!outcome.losses.empty()) forget_devices();
    all["devices"] = names_of(devices);
    return all;
}

nb::dict run_training(const nb::dict& settings, const Environment* environment, const nb::list& on_host,
                      nb::handle device, bool tuning, const nb::object& tell) {
    Callback stepped, told;
    const std::vector<Device> devices = open_devices(device, tuning);
    train::TrainOptions options =
        training_options(settings, environment, environments_of(on_host, stepped), devices.size());
    std::optional<Result<train::TrainOutcome>> outcome;
    {
        const Interruptible interruptible;
        const WithoutLock released;
        outcome = train::train(devices, options, [&](const train::GenerationReport& report) {
            return told.goes_on([&] { return call_python(tell, to_dict(report)); });
        });
    }
    told.raise();
    Interruptible::raise_if_requested();
    stepped.raise();
    return to_dict(unwrap(std::move(*outcome)), devices);
}

nb::dict evaluate_file(const std::string& file, const Environment* environment, const nb::list& on_host,
                       const nb::dict& settings, nb::handle device, bool tuning) {
    train::HostProgram program{.lanes = 0};
    train::EvalOptions options;
    Fields fields = program_fields(program);
    fields["episodes"] = count_field(options.episodes);
    fields["max_steps"] = count_field(options.max_steps);
    fields["seed"] = [&options](std::string_view name, nb::handle value) {
        options.seed = whole_number(name, value, UINT64_MAX);
    };
    set_fields(fields, settings);
    Callback stepped;
    options.host_environments = environments_of(on_host, stepped);
    const std::vector<Device> devices = open_devices(device, tuning);
    if (environment != nullptr) options.own_environment = environment->loaded;
    if (!program.command.empty()) options.host_environments = started(program, options.episodes);
    std::optional<Result<train::EvalOutcome>> outcome;
    {
        const Interruptible interruptible;
        const WithoutLock released;
        outcome = train::evaluate_policy(devices, file, options);
    }
    Interruptible::raise_if_requested();
    stepped.raise();
    const train::EvalOutcome found = unwrap(std::move(*outcome));
    nb::dict all;
    all["task"] = found.task;
    all["episodes"] = found.episodes;
    all["mean_return"] = found.mean_return;
    all["deviation"] = found.deviation;
    all["worst_return"] = found.worst_return;
    all["best_return"] = found.best_return;
    all["not_finite"] = found.not_finite;
    return all;
}

nb::dict replay_file(const std::string& log, std::optional<std::uint32_t> generation, const std::string& out,
                     bool on_host, nb::handle device) {
    std::vector<Device> devices;
    if (!on_host) devices = open_devices(device, true);
    const train::ReplayOptions options{.generation = generation, .out = out};
    std::optional<Result<train::ReplayOutcome>> outcome;
    {
        const Interruptible interruptible;
        const WithoutLock released;
        const auto go_on = [](std::uint32_t, std::uint32_t) { return !Interruptible::requested(); };
        const evolve::Devices on = on_host ? evolve::Devices::none() : evolve::Devices(devices);
        outcome = train::replay(on, log, options, go_on);
    }
    Interruptible::raise_if_requested();
    const train::ReplayOutcome found = unwrap(std::move(*outcome));
    nb::dict all;
    all["task"] = found.task;
    all["seed"] = found.seed;
    all["population"] = found.population;
    all["generations_in_log"] = found.generations_in_log;
    all["generation"] = found.generation;
    all["state_hash"] = found.state_hash;
    all["state_digest"] = found.state_digest;
    all["policy"] = found.policy.string();
    return all;
}

nb::dict policy_of(const std::string& file, const Environment* environment) {
    std::optional<Result<train::Policy>> read;
    {
        const WithoutLock released;
        read = train::load_policy(file, environment != nullptr ? environment->loaded.get() : nullptr);
    }
    const train::Policy policy = unwrap(std::move(*read));
    const ParameterTable table = unwrap(ParameterTable::create(policy.network.parameters()));
    nb::dict parameters;
    std::size_t first = 0;
    for (const ParameterDesc& one : table.parameters()) {
        const std::size_t count = std::size_t{one.rows} * one.columns;
        std::vector<std::size_t> shape{one.rows};
        if (one.perturbation == Perturbation::LowRank || one.columns > 1) shape.push_back(one.columns);
        parameters[one.name.c_str()] = numpy_copy(std::span(policy.parameters).subspan(first, count), shape);
        first += count;
    }
    nb::dict all;
    all["task"] = policy.task;
    all["widths"] = nb::cast(policy.network.widths);
    all["recurrent"] = policy.network.recurrent;
    all["generations"] = policy.generations;
    all["seed"] = policy.seed;
    all["parameters"] = parameters;
    const bool on_host = train::is_host_source(policy.environment_source);
    all["on_host"] = on_host;
    if (on_host) {
        tell_actions(all, unwrap(train::host_info_of_source(policy.environment_source)).actions);
    } else {
        tell_actions(all, environment != nullptr ? environment->loaded->info() : unwrap(find_environment(policy.task)));
    }
    return all;
}

}  // namespace

void bind_training(nb::module_& module) {
    nb::class_<Environment>(module, "Environment", "An environment of one's own, compiled from its GLSL file.")
        .def_prop_ro("info", [](const Environment& e) { return info_of(e.loaded->info()); });
    module.def("load_environment", &load, nb::arg("file"));
    module.def("environments", [] {
        nb::list all;
        for (const EnvironmentInfo& info : environments()) all.append(info_of(info));
        return all;
    });
    module.def("environment_start", &environment_start, nb::arg("name"), nb::arg("words"));
    module.def("environment_step", &environment_step, nb::arg("name"), nb::arg("state"), nb::arg("action"));
    module.def("train_defaults", [] {
        const train::TrainOptions options;
        nb::dict all = to_dict(options.evolution);
        all["generations"] = options.generations;
        all["max_steps"] = options.max_steps;
        all["recurrent"] = options.network.recurrent;
        all["checkpoint_every"] = options.checkpoint_every;
        all["hash_every"] = options.hash_every;
        all["evaluation_episodes"] = options.evaluation_episodes;
        all["stop_when_solved"] = options.stop_when_solved;
        all["log"] = options.log;
        all["normalize"] = options.network.normalized;
        all["audit"] = options.audit;
        all["hidden"] =
            nb::cast(std::vector<std::uint32_t>(options.network.widths.begin() + 1, options.network.widths.end() - 1));
        return all;
    });
    module.def("train", &run_training, nb::arg("settings"), nb::arg("environment").none(), nb::arg("on_host"),
               nb::arg("device").none(), nb::arg("tuning"), nb::arg("on_generation"));
    module.def("evaluate", &evaluate_file, nb::arg("policy"), nb::arg("environment").none(), nb::arg("on_host"),
               nb::arg("settings"), nb::arg("device").none(), nb::arg("tuning"));
    module.def("replay", &replay_file, nb::arg("log"), nb::arg("generation").none(), nb::arg("out"), nb::arg("on_host"),
               nb::arg("device").none());
    module.def("load_policy", &policy_of, nb::arg("file"), nb::arg("environment").none());
}

}  // namespace yolk::python
