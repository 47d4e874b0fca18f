// SPDX-License-Identifier: Apache-2.0
#include "training/bytes.hpp"

#include <nanobind/stl/string.h>

#include <optional>
#include <vector>

#include "base/devices.hpp"
#include "base/errors.hpp"
#include "base/interrupt.hpp"
#include "base/options.hpp"
#include "tracing/callables.hpp"
#include "tracing/values.hpp"
#include "yolk/bytes.hpp"
#include "yolk/json.hpp"

namespace nb = nanobind;

namespace yolk::python {
namespace {

Fields byte_fields(train::ByteOptions& o) {
    train::ByteSettings& s = o.settings;
    const auto count = [](std::uint32_t& to) {
        return [&to](std::string_view name, nb::handle value) {
            to = static_cast<std::uint32_t>(whole_number(name, value, UINT32_MAX));
        };
    };
    return {{"data", [&o](std::string_view name, nb::handle value) { o.data = text(name, value); }},
            {"out", [&o](std::string_view name, nb::handle value) { o.out = text(name, value); }},
            {"resume", [&o](std::string_view name, nb::handle value) { o.resume = yes_or_no(name, value); }},
            {"minutes", [&o](std::string_view name, nb::handle value) { o.minutes = real_number(name, value); }},
            {"symmetric", [&s](std::string_view name, nb::handle value) { s.symmetric = yes_or_no(name, value); }},
            {"seed", [&s](std::string_view name, nb::handle value) { s.seed = whole_number(name, value, UINT64_MAX); }},
            {"generations", count(o.generations)},
            {"evaluate_every", count(o.evaluate_every)},
            {"checkpoint_every", count(o.checkpoint_every)},
            {"width", count(s.width)},
            {"layers", count(s.layers)},
            {"population", count(s.population)},
            {"group_size", count(s.group)},
            {"steps", count(s.steps)},
            {"context", count(s.context)},
            {"perturbation_rank", count(s.rank)},
            {"sigma_shift", count(s.sigma_shift)},
            {"alpha_rate", count(s.alpha_rate)},
            {"feedback", count(s.feedback)},
            {"held_out", count(s.held_out)}};
}

/// What metrics.jsonl says of it, every generation the same fields.
nb::dict to_dict(const train::ByteReport& report) {
    Json json = to_json(report);
    json.erase("held_out_bits_per_byte");
    auto all = nb::cast<nb::dict>(from_json(json));
    all["held_out"] = report.held_out ? nb::object(nb::float_(*report.held_out)) : nb::none();
    return all;
}

nb::dict to_dict(const train::ByteOutcome& outcome, const std::vector<Device>& devices) {
    nb::dict all;
    all["devices"] = names_of(devices);
    all["generations"] = outcome.generations;
    all["resumed_from"] = outcome.resumed_from;
    all["held_out"] = outcome.held_out;
    all["unigram"] = outcome.baselines.unigram;
    all["bigram"] = outcome.baselines.bigram;
    const auto bits_or_none = [](const std::optional<double>& bits) {
        return bits ? nb::object(nb::float_(*bits)) : nb::object(nb::none());
    };
    all["gzip"] = bits_or_none(outcome.baselines.gzip);
    all["xz"] = bits_or_none(outcome.baselines.xz);
    all["seconds"] = outcome.seconds;
    all["members_per_second"] = outcome.members_per_second;
    all["state_hash"] = outcome.state_hash;
    all["model"] = outcome.model.string();
    return all;
}

nb::dict run_bytes(const nb::dict& settings, nb::handle device, bool tuning, const nb::object& tell) {
    train::ByteOptions options;
    set_fields(byte_fields(options), settings);
    const std::vector<Device> devices = open_devices(device, tuning);
    Callback told;
    std::optional<Result<train::ByteOutcome>> outcome;
    {
        const Interruptible interruptible;
        const WithoutLock released;
        outcome = train::train_bytes(devices, options, [&](const train::ByteReport& report) {
            return told.goes_on([&] { return call_python(tell, to_dict(report)); });
        });
    }
    told.raise();
    Interruptible::raise_if_requested();
    return to_dict(unwrap(std::move(*outcome)), devices);
}

nb::bytes sample(const std::string& model, nb::handle length, nb::handle temperature, nb::handle seed,
                 const nb::bytes& prompt) {
    const train::SampleOptions options{
        .length = static_cast<std::uint32_t>(whole_number("length", length, UINT32_MAX)),
        .temperature = static_cast<std::uint32_t>(whole_number("temperature", temperature, UINT32_MAX)),
        .seed = whole_number("seed", seed, UINT64_MAX),
        .prompt = std::string(prompt.c_str(), prompt.size())};
    std::optional<Result<std::string>> made;
    {
        const Interruptible interruptible;
        const WithoutLock released;
        made = train::sample_bytes(model, options);
    }
    Interruptible::raise_if_requested();
    const std::string text = unwrap(std::move(*made));
    return nb::bytes(text.data(), text.size());
}

}  // namespace

void bind_bytes(nb::module_& module) {
    module.def("train_bytes", &run_bytes, nb::arg("settings"), nb::arg("device").none(), nb::arg("tuning"),
               nb::arg("on_generation"));
    module.def("sample_bytes", &sample, nb::arg("model"), nb::arg("length").none(), nb::arg("temperature"),
               nb::arg("seed").none(), nb::arg("prompt"));
}

}  // namespace yolk::python
