// SPDX-License-Identifier: Apache-2.0
#include "training/finetuning.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/devices.hpp"
#include "base/errors.hpp"
#include "base/interrupt.hpp"
#include "base/lock.hpp"
#include "base/options.hpp"
#include "yolk/finetune.hpp"
#include "yolk/json.hpp"

namespace nb = nanobind;

namespace yolk::python {
namespace {

using GivenPairs = std::vector<std::tuple<std::string, std::string, double>>;

nb::object json_of(const Json& json) { return call_python("json", "loads", json.dump()); }

/// All that is not EGGROLL's.
Fields finetune_fields(transformer::FinetuneOptions& o) {
    const auto count = [](std::uint32_t& to) {
        return [&to](std::string_view name, nb::handle value) {
            to = static_cast<std::uint32_t>(whole_number(name, value, UINT32_MAX));
        };
    };
    const auto number = [](double& to) {
        return [&to](std::string_view name, nb::handle value) { to = real_number(name, value); };
    };
    const auto flag = [](bool& to) {
        return [&to](std::string_view name, nb::handle value) { to = yes_or_no(name, value); };
    };
    const auto path = [](std::filesystem::path& to) {
        return [&to](std::string_view name, nb::handle value) { to = text(name, value); };
    };
    return {{"pairs", path(o.pairs)},
            {"out", path(o.out)},
            {"merged", path(o.merged)},
            {"held_out", number(o.held_out)},
            {"test", number(o.test)},
            {"batch", count(o.batch)},
            {"query_tokens", count(o.query_tokens)},
            {"document_tokens", count(o.document_tokens)},
            {"generations", count(o.generations)},
            {"held_out_every", count(o.held_out_every)},
            {"adapter_rank", count(o.adapter_rank)},
            {"checkpoint_every", count(o.checkpoint_every)},
            {"log", flag(o.log)},
            {"resume", flag(o.resume)},
            {"unrelated", [&o](std::string_view name, nb::handle value) { o.unrelated = texts(name, value); }}};
}

nb::dict outcome_of(const transformer::FinetuneOutcome& outcome, const std::vector<Device>& devices) {
    const auto figures = [](const transformer::FinetuneFigures& of, const std::optional<double>& held_out) {
        Json json = to_json(of);
        if (held_out) json["held_out"] = *held_out;
        return json_of(json);
    };
    nb::dict all;
    all["before"] = figures(outcome.before, outcome.search.held_out_start);
    all["after"] = figures(outcome.after, outcome.search.held_out_best);
    all["adapted"] = figures(outcome.adapted, {});
    all["residual"] = outcome.residual;
    all["generations"] = outcome.search.generations;
    all["resumed_from"] = outcome.search.resumed_from;
    all["state_hash"] = outcome.search.state_hash;
    all["training_pairs"] = outcome.training_pairs;
    all["held_out_pairs"] = outcome.held_out_pairs;
    all["test_pairs"] = outcome.test_pairs;
    all["seconds"] = outcome.seconds;
    nb::list names;
    for (const Device& device : devices) names.append(device.info().name);
    all["devices"] = names;
    return all;
}

evolve::Devices devices_of(const std::vector<Device>& devices, const transformer::FinetuneOptions& options,
                           double audit) {
    if (devices.size() == 1 && audit == 0.0) return devices;
    return unwrap(evolve::DevicePool::create(
        devices, {.determinism = options.evolution.determinism, .audit = audit, .seed = options.evolution.seed}));
}

nb::dict run_finetuning(const std::string& model, const GivenPairs& given, const nb::dict& settings, double audit,
                        nb::handle device, bool tuning, const nb::object& tell) {
    transformer::FinetuneOptions options;
    for (const auto& [query, document, grade] : given)
        options.given.push_back({.query = query, .document = document, .grade = grade});
    evolve::EvolutionOptions evolution = options.evolution;
    Fields fields = evolution_fields(evolution);
    fields.erase("episodes");
    fields.merge(finetune_fields(options));
    set_fields(fields, settings);
    options.evolution = evolution;
    unwrap(validate(options));
    const std::vector<Device> devices = open_devices(device, tuning);
    const evolve::Devices on = devices_of(devices, options, audit);
    std::optional<nb::python_error> thrown;
    const auto on_generation = [&](const hyper::GenerationReport& report) {
        const nb::gil_scoped_acquire acquired;
        try {
            Interruptible::raise_if_requested();
            const nb::object answer = tell(json_of(to_json(report)));
            return (answer.is_none() || nb::cast<bool>(answer)) && !Interruptible::requested();
        } catch (nb::python_error& error) {
            thrown.emplace(std::move(error));
        }
        return false;
    };
    std::optional<Result<transformer::FinetuneOutcome>> outcome;
    {
        const Interruptible interruptible;
        const nb::gil_scoped_release released;
        outcome = transformer::finetune(model, on, options, on_generation);
    }
    if (thrown) throw nb::python_error(std::move(*thrown));
    Interruptible::raise_if_requested();
    return outcome_of(unwrap(std::move(*outcome)), devices);
}

}  // namespace

void bind_finetuning(nb::module_& module) {
    module.def("finetune", &run_finetuning, nb::arg("model"), nb::arg("given"), nb::arg("settings"), nb::arg("audit"),
               nb::arg("device").none(), nb::arg("tuning"), nb::arg("on_generation"));
}

}  // namespace yolk::python
