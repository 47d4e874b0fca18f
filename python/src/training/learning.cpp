// SPDX-License-Identifier: Apache-2.0
#include "training/learning.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/arrays.hpp"
#include "base/devices.hpp"
#include "base/errors.hpp"
#include "base/interrupt.hpp"
#include "tracing/callables.hpp"
#include "tracing/values.hpp"
#include "yolk/configuration.hpp"
#include "yolk/json.hpp"

namespace yolk::python {
namespace {

namespace nb = nanobind;
using Inputs = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;
using Texts = std::vector<std::string>;

tasks::DataSet rows_of(const Inputs& inputs, const Texts& labels) {
    if (inputs.ndim() < 2)
        throw Raised(bad_input("The inputs have {} dimension(s); [rows, ...] is needed.", inputs.ndim()));
    tasks::DataSet data{.name = "data"};
    for (std::size_t d = 1; d < inputs.ndim(); ++d) data.shape.push_back(static_cast<std::uint32_t>(inputs.shape(d)));
    data.inputs.assign(inputs.data(), inputs.data() + inputs.size());
    data.labels = labels;
    for (std::size_t i = 0; i < data.inputs.size(); ++i) {
        if (std::isfinite(data.inputs[i])) continue;
        throw Raised(bad_input("The inputs have {} in row {}; they must be finite.", data.inputs[i], i / data.width()));
    }
    if (!labels.empty() && labels.size() != inputs.shape(0))
        throw Raised(bad_input("There are {} rows and {} labels; each row needs one.", inputs.shape(0), labels.size()));
    return data;
}

using Settings = std::vector<std::pair<std::string, std::string>>;

tasks::Configuration configuration_of(const std::string& file, const std::string& source, const Settings& settings) {
    std::vector<tasks::Override> overrides;
    for (const auto& [key, value] : settings) overrides.push_back({.key = key, .value = value, .from = key});
    if (!file.empty()) return unwrap(tasks::read_configuration(file, overrides));
    tasks::Configuration configuration;
    configuration.learn.source = source;
    unwrap(tasks::apply(configuration, overrides));
    unwrap(tasks::validate(configuration.learn));
    return configuration;
}

evolve::Devices devices_of(const std::vector<Device>& devices, const tasks::LearnOptions& options, double audit) {
    if (devices.size() == 1 && audit == 0.0) return devices;
    return unwrap(evolve::DevicePool::create(
        devices, {.determinism = options.evolution.determinism, .audit = audit, .seed = options.evolution.seed}));
}

nb::dict outcome_dict(const tasks::LearnOutcome& outcome, const std::vector<Device>& devices) {
    nb::dict all;
    all["generations"] = outcome.search.generations;
    all["resumed_from"] = outcome.search.resumed_from;
    all["state_hash"] = outcome.search.state_hash;
    all["loss"] = -outcome.search.best_reward;
    all["seconds"] = outcome.seconds;
    all["training_rows"] = outcome.training_rows;
    all["model"] = outcome.file.string();
    all["previous"] = outcome.previous.string();
    if (outcome.judged.held_out) all["held_out"] = from_json(to_json(*outcome.judged.held_out));
    if (outcome.judged.test) all["test"] = from_json(to_json(*outcome.judged.test));
    all["devices"] = names_of(devices);
    return all;
}

nb::dict run_learning(const std::string& file, const std::string& source, const std::optional<Inputs>& inputs,
                      const Texts& labels, const Settings& settings, bool resume, double audit, nb::handle device,
                      bool tuning, const nb::object& tell) {
    tasks::Configuration configuration = configuration_of(file, source, settings);
    if (configuration.kind != tasks::RunKind::Data)
        throw Raised(bad_input(
            "'{}' describes a run over an environment; yolk.train takes files over data sets, and the command both.",
            file));
    tasks::LearnOptions& options = configuration.learn;
    if (inputs) options.given = std::make_shared<const tasks::DataSet>(rows_of(*inputs, labels));
    options.resume = resume;
    if (!inputs) options.configuration = to_toml(configuration);
    const std::vector<Device> devices = open_devices(device, tuning);
    const evolve::Devices on = devices_of(devices, options, audit);
    Callback told;
    const auto on_generation = [&](const hyper::GenerationReport& report) {
        return told.goes_on([&] { return call_python(tell, from_json(to_json(report))); });
    };
    std::optional<Result<tasks::LearnOutcome>> outcome;
    {
        const Interruptible interruptible;
        const WithoutLock released;
        outcome = tasks::learn(on, options, on_generation);
    }
    told.raise();
    Interruptible::raise_if_requested();
    return outcome_dict(unwrap(std::move(*outcome)), devices);
}

/// On the host; other threads go on, and Ctrl-C is raised afterwards.
template <class Work>
auto without_lock(Work work) {
    std::optional<decltype(work())> result;
    {
        const Interruptible interruptible;
        const WithoutLock released;
        result = work();
    }
    Interruptible::raise_if_requested();
    return unwrap(std::move(*result));
}

nb::tuple read_rows(const std::string& source, const std::string& label, const std::string& labels,
                    std::optional<bool> header, bool has_labels) {
    const tasks::DataSet data = without_lock([&] {
        return tasks::read_data(source, {.label = label, .labels = labels, .header = header, .has_labels = has_labels});
    });
    std::vector<std::size_t> shape{data.rows()};
    shape.insert(shape.end(), data.shape.begin(), data.shape.end());
    return nb::make_tuple(numpy_copy(data.inputs, shape), nb::cast(data.labels));
}

nb::dict model_of(const std::string& file) {
    const tasks::Model model = unwrap(tasks::load_model(file));
    nb::dict parameters;
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
        const std::size_t out = model.parameters[i | 1U].size();
        const bool is_bias = (i & 1U) != 0;
        const std::string name = "layer" + std::to_string(i / 2) + (is_bias ? ".bias" : ".weight");
        const std::size_t in = model.parameters[i].size() / out;
        parameters[name.c_str()] =
            numpy_copy(model.parameters[i], is_bias ? std::vector<std::size_t>{out} : std::vector{out, in});
    }
    std::vector<std::string> conv;
    for (const tasks::ImageLayer& layer : model.network.image_layers) conv.push_back(to_string(layer));
    nb::dict all;
    all["data"] = model.data;
    all["shape"] = nb::cast(model.shape);
    all["columns"] = nb::cast(model.columns);
    all["classes"] = nb::cast(model.classes);
    all["conv"] = nb::cast(conv);
    all["hidden"] = nb::cast(model.network.hidden);
    all["activation"] = std::string(to_string(model.network.activation));
    all["generations"] = model.generations;
    all["seed"] = model.seed;
    all["parameters"] = parameters;
    return all;
}

FloatArray probabilities_of(const std::string& file, const Inputs& inputs) {
    const tasks::Model model = unwrap(tasks::load_model(file));
    const tasks::DataSet data = rows_of(inputs, {});
    const std::vector<float> made = without_lock([&] { return tasks::predict(model, data); });
    return numpy_copy(made, {data.rows(), model.classes.size()});
}

}  // namespace

void bind_learning(nb::module_& module) {
    module.def("learn", &run_learning, nb::arg("file"), nb::arg("source"), nb::arg("inputs").none(), nb::arg("labels"),
               nb::arg("settings"), nb::arg("resume"), nb::arg("audit"), nb::arg("device").none(), nb::arg("tuning"),
               nb::arg("on_generation"));
    module.def("is_data_source", &tasks::is_data_source, nb::arg("source"));
    module.def("read_data", &read_rows, nb::arg("source"), nb::arg("label"), nb::arg("labels"),
               nb::arg("header").none(), nb::arg("has_labels"));
    module.def("load_model", &model_of, nb::arg("file"));
    module.def("predict", &probabilities_of, nb::arg("file"), nb::arg("inputs"));
}

}  // namespace yolk::python
