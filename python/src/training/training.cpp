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
    const nb::gil_scoped_release released;
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

Fields training_fields(train::TrainOptions& o, std::vector<std::uint32_t>& hidden, train::HostProgram& program) {
    Fields fields = evolution_fields(o.evolution);
    const auto count = [&fields](const char* name, std::uint32_t& to) {
        fields[name] = [&to](std::string_view given, nb::handle value) {
            to = static_cast<std::uint32_t>(whole_number(given, value, UINT32_MAX));
        };
    };
    const auto flag = [&fields](const char* name, bool& to) {
        fields[name] = [&to](std::string_view given, nb::handle value) { to = yes_or_no(given, value); };
    };
    count("generations", o.generations);
    count("max_steps", o.max_steps);
    count("checkpoint_every", o.checkpoint_every);
    count("hash_every", o.hash_every);
    count("evaluation_episodes", o.evaluation_episodes);
    flag("stop_when_solved", o.stop_when_solved);
    flag("log", o.log);
    flag("resume", o.resume);
    fields["task"] = [&o](std::string_view name, nb::handle value) { o.task = text(name, value); };
    fields["out"] = [&o](std::string_view name, nb::handle value) { o.out = text(name, value); };
    fields["hang_seconds"] = [&o](std::string_view name, nb::handle value) {
        const double seconds = real_number(name, value);
        if (!(seconds > 0.0 && seconds <= 1e6))
            throw Raised(bad_input("{} is {}; above 0, at most 1e6.", name, seconds));
        o.hang_limit = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
    };
    fields["audit"] = [&o](std::string_view name, nb::handle value) { o.audit = real_number(name, value); };
    fields["program"] = [&program](std::string_view name, nb::handle value) { program.command = text(name, value); };
    count("processes", program.processes);
    count("lanes", program.lanes);
    fields["program_seconds"] = [&program](std::string_view name, nb::handle value) {
        const double seconds = real_number(name, value);
        if (!(seconds > 0.0 && seconds <= 1e6))
            throw Raised(bad_input("{} is {}; above 0, at most 1e6.", name, seconds));
        program.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
    };
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
        if (program.lanes == 0) program.lanes = train::host_lanes(options.evolution.population, program.processes);
        const nb::gil_scoped_release released;
        on_host = unwrap(train::start_host_program(program));
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

nb::dict to_dict(const train::GenerationReport& report) {
    nb::dict all;
    all["generation"] = report.generation;
    all["mean_return"] = report.mean_return;
    all["best_return"] = report.best_return;
    all["policy_return"] = report.policy_return;
    all["evaluations"] = report.evaluations;
    all["evaluations_per_second"] = report.evaluations_per_second;
    all["seconds"] = report.seconds;
    all["not_finite"] = report.not_finite;
    all["skipped_elements"] = report.skipped_elements;
    all["sigma"] = report.sigma;
    all["learning_rate"] = report.learning_rate;
    all["state_hash"] = report.state_hash;
    all["state_digest"] = report.state_digest;
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
    nb::list names;
    for (const Device& device : devices) names.append(device.info().name);
    all["devices"] = names;
    return all;
}

/// Calls `tell` after each generation; an exception in it ends training, and is thrown afterwards.
class Listener {
   public:
    explicit Listener(nb::object tell) : tell_(std::move(tell)) {}
    bool operator()(const train::GenerationReport& report) {
        const nb::gil_scoped_acquire acquired;
        try {
            Interruptible::raise_if_requested();
            if (tell_.is_none()) return true;
            const nb::object answer = tell_(to_dict(report));
            return answer.is_none() || nb::cast<bool>(answer);
        } catch (nb::python_error& error) {
            thrown_.emplace(std::move(error));
        } catch (const nb::cast_error&) {
            failure_ = "on_generation returned something that is neither None, True nor False.";
        }
        return false;
    }
    void raise_if_any() {
        if (thrown_) throw nb::python_error(std::move(*thrown_));
        if (!failure_.empty()) throw Raised(bad_input(failure_));
    }

   private:
    nb::object tell_;
    std::optional<nb::python_error> thrown_;
    std::string failure_;
};

nb::dict run_training(const nb::dict& settings, const Environment* environment, const nb::list& on_host,
                      nb::handle device, bool tuning, nb::object tell) {
    RaisedInside raised;
    const std::vector<Device> devices = open_devices(device, tuning);
    train::TrainOptions options =
        training_options(settings, environment, environments_of(on_host, raised), devices.size());
    Listener listener(std::move(tell));
    std::optional<Result<train::TrainOutcome>> outcome;
    {
        const Interruptible interruptible;
        const nb::gil_scoped_release released;
        outcome = train::train(devices, options, [&](const train::GenerationReport& report) {
            return listener(report) && !Interruptible::requested();
        });
    }
    listener.raise_if_any();
    Interruptible::raise_if_requested();
    raised.raise_if_any();
    return to_dict(unwrap(std::move(*outcome)), devices);
}

nb::dict evaluate_file(const std::string& file, const Environment* environment, const nb::list& on_host,
                       std::uint32_t episodes, std::uint64_t seed, std::uint32_t max_steps, nb::handle device,
                       const std::string& program) {
    RaisedInside raised;
    train::EvalOptions options{.episodes = episodes,
                               .seed = seed,
                               .host_environments = environments_of(on_host, raised),
                               .max_steps = max_steps};
    const std::vector<Device> devices = open_devices(device, true);
    if (environment != nullptr) options.own_environment = environment->loaded;
    std::optional<Result<train::EvalOutcome>> outcome;
    {
        const Interruptible interruptible;
        const nb::gil_scoped_release released;
        if (!program.empty()) {
            const std::uint32_t processes = train::HostProgram{}.processes;
            options.host_environments = unwrap(train::start_host_program(
                {.command = program, .processes = processes, .lanes = train::host_lanes(episodes, processes)}));
        }
        outcome = train::evaluate_policy(devices, file, options);
    }
    Interruptible::raise_if_requested();
    raised.raise_if_any();
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
        const nb::gil_scoped_release released;
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
        const nb::gil_scoped_release released;
        read = train::load_policy(file, environment != nullptr ? environment->loaded.get() : nullptr);
    }
    const train::Policy policy = unwrap(std::move(*read));
    const ParameterTable table = unwrap(ParameterTable::create(policy.network.parameters()));
    nb::dict parameters;
    std::size_t first = 0;
    for (const ParameterDesc& one : table.parameters()) {
        const std::size_t count = std::size_t{one.rows} * one.columns;
        std::vector<std::size_t> shape{one.rows};
        if (one.perturbation != Perturbation::Vector) shape.push_back(one.columns);
        parameters[one.name.c_str()] = numpy_copy(std::span(policy.parameters).subspan(first, count), shape);
        first += count;
    }
    nb::dict all;
    all["task"] = policy.task;
    all["widths"] = nb::cast(policy.network.widths);
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
        all["checkpoint_every"] = options.checkpoint_every;
        all["hash_every"] = options.hash_every;
        all["evaluation_episodes"] = options.evaluation_episodes;
        all["stop_when_solved"] = options.stop_when_solved;
        all["log"] = options.log;
        all["audit"] = options.audit;
        all["hidden"] =
            nb::cast(std::vector<std::uint32_t>(options.network.widths.begin() + 1, options.network.widths.end() - 1));
        return all;
    });
    module.def("train", &run_training, nb::arg("settings"), nb::arg("environment").none(), nb::arg("on_host"),
               nb::arg("device").none(), nb::arg("tuning"), nb::arg("on_generation").none());
    module.def("evaluate", &evaluate_file, nb::arg("policy"), nb::arg("environment").none(), nb::arg("on_host"),
               nb::arg("episodes"), nb::arg("seed"), nb::arg("max_steps"), nb::arg("device").none(),
               nb::arg("program"));
    module.def("replay", &replay_file, nb::arg("log"), nb::arg("generation").none(), nb::arg("out"), nb::arg("on_host"),
               nb::arg("device").none());
    module.def("load_policy", &policy_of, nb::arg("file"), nb::arg("environment").none());
}

}  // namespace yolk::python
