// SPDX-License-Identifier: Apache-2.0
#include "training/bytes.hpp"

#include <nanobind/stl/string.h>

#include <optional>
#include <vector>

#include "base/devices.hpp"
#include "base/errors.hpp"
#include "base/interrupt.hpp"
#include "base/options.hpp"
#include "yolk/bytes.hpp"

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

nb::dict to_dict(const train::ByteReport& report) {
    nb::dict all;
    all["generation"] = report.generation;
    all["bits_per_byte"] = report.bits;
    all["held_out"] = report.held_out ? nb::object(nb::float_(*report.held_out)) : nb::none();
    all["seconds"] = report.seconds;
    all["members_per_second"] = report.members_per_second;
    all["state_hash"] = report.state_hash;
    all["state_digest"] = report.state_digest;
    return all;
}

nb::dict to_dict(const train::ByteOutcome& outcome) {
    nb::dict all;
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
    std::optional<nb::python_error> thrown;
    std::optional<Result<train::ByteOutcome>> outcome;
    {
        const Interruptible interruptible;
        const nb::gil_scoped_release released;
        outcome = train::train_bytes(devices, options, [&](const train::ByteReport& report) {
            const nb::gil_scoped_acquire acquired;
            try {
                Interruptible::raise_if_requested();
                const nb::object answer = tell(to_dict(report));
                return answer.is_none() || nb::cast<bool>(answer);
            } catch (nb::python_error& error) {
                thrown.emplace(std::move(error));
            }
            return false;
        });
    }
    if (thrown) throw nb::python_error(std::move(*thrown));
    Interruptible::raise_if_requested();
    return to_dict(unwrap(std::move(*outcome)));
}

nb::bytes sample(const std::string& model, std::uint32_t length, std::uint32_t temperature, std::uint64_t seed,
                 const nb::bytes& prompt) {
    const std::string made = unwrap(train::sample_bytes(model, {.length = length,
                                                                .temperature = temperature,
                                                                .seed = seed,
                                                                .prompt = std::string(prompt.c_str(), prompt.size())}));
    return nb::bytes(made.data(), made.size());
}

}  // namespace

void bind_bytes(nb::module_& module) {
    module.def("train_bytes", &run_bytes, nb::arg("settings"), nb::arg("device").none(), nb::arg("tuning"),
               nb::arg("on_generation"));
    module.def("sample_bytes", &sample, nb::arg("model"), nb::arg("length"), nb::arg("temperature"), nb::arg("seed"),
               nb::arg("prompt"));
}

}  // namespace yolk::python
