// SPDX-License-Identifier: Apache-2.0
#include "logged_run.hpp"

#include <fmt/format.h>

#include <charconv>

#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/evolve/parameter_setup.hpp"
#include "yolk/internal/evolve/setting_reader.hpp"
#include "yolk/internal/train/policy_file.hpp"

#include "checkpoint.hpp"

namespace yolk::train {
namespace {

Result<PolicyNetwork> read_network(const evolve::SettingReader& settings, std::uint32_t max_width) {
    YOLK_TRY(const std::string given, settings.text("network"));
    PolicyNetwork network{.widths = {}};
    for (const std::string& part : evolve::listed(given)) {
        std::uint32_t width = 0;
        const auto [end, code] = std::from_chars(part.data(), part.data() + part.size(), width);
        if (code != std::errc() || end != part.data() + part.size() || width < 1 || width > max_width)
            return settings.wrong("network", given);
        network.widths.push_back(width);
    }
    if (network.widths.size() < kMinWidths || network.widths.size() > kMaxWidths)
        return settings.wrong("network", given);
    return network;
}

}  // namespace

const std::string* system_of(const evolve::RunLogHeader& header) {
    return evolve::SettingReader(header.settings, "the log").find("system");
}

Result<LoggedRun> logged_run(const evolve::RunLogHeader& header, std::string_view what) {
    const evolve::SettingReader settings(header.settings, what);
    if (const std::string* const system = system_of(header)) {
        return bad_input(
            "{} is the log of a search over the system '{}', not of a policy's training: replay it over that system.",
            what, shown(*system));
    }
    LoggedRun run;
    YOLK_TRY(run.task, settings.text("task"));
    YOLK_TRY(run.environment_source, settings.text("environment_source"));
    if (run.environment_source == "built-in") run.environment_source.clear();
    YOLK_TRY(run.network, read_network(settings, max_width_of(run.environment_source)));
    YOLK_TRY(run.evolution, evolve::options_of(settings));
    YOLK_TRY(const ParameterTable all, ParameterTable::create(run.network.parameters()));
    run.initial = evolve::initial_parameters(all, run.evolution.seed);
    YOLK_TRY(run.parameters, evolve::trained_parameters(all, run.evolution));
    if (run.parameters.element_count() != header.element_count) {
        return bad_input(
            "{} is of a network with {} parameters, but its settings make one with {}. Another version of Yolk wrote "
            "it.",
            what, header.element_count, run.parameters.element_count());
    }
    YOLK_TRY(const evolve::RunLogHeader wanted, evolve::run_log_header({}, run.evolution, run.initial, {}, 0));
    if (wanted.weights != header.weights || wanted.weight_count != header.weight_count) {
        return bad_input("{} has {} weights per generation, but its settings make {} of {}. It is damaged.", what,
                         header.weight_count, wanted.weight_count,
                         wanted.weights == FitnessWeights::I8 ? "int8" : "fp32");
    }
    return run;
}

}  // namespace yolk::train
