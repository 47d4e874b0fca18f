// SPDX-License-Identifier: Apache-2.0
#include "logged_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "yolk/evolve/parameter_setup.hpp"
#include "yolk/hyper/rollout_lowering.hpp"
#include "yolk/train/policy_file.hpp"

#include "checkpoint.hpp"

namespace yolk::train {
namespace {

/// Reads settings by name. The first that is missing or no value of its kind is the error.
class SettingReader {
   public:
    SettingReader(const Settings& settings, std::string_view what) : settings_(settings), what_(what) {}

    [[nodiscard]] const std::string* find(std::string_view name) const {
        const auto at = std::ranges::find(settings_, name, &Settings::value_type::first);
        return at == settings_.end() ? nullptr : &at->second;
    }
    [[nodiscard]] Result<std::string> text(std::string_view name) const {
        const std::string* const found = find(name);
        if (found == nullptr) return bad_input("{} does not say its '{}'; it cannot be replayed.", what_, name);
        return *found;
    }
    template <class Number>
    Result<void> number(std::string_view name, Number& to) const {
        YOLK_TRY(const std::string given, text(name));
        const auto [end, code] = std::from_chars(given.data(), given.data() + given.size(), to);
        if (code != std::errc() || end != given.data() + given.size()) return wrong(name, given);
        return {};
    }
    Result<void> flag(std::string_view name, bool& to) const {
        YOLK_TRY(const std::string given, text(name));
        if (given != "true" && given != "false") return wrong(name, given);
        to = given == "true";
        return {};
    }
    [[nodiscard]] Error wrong(std::string_view name, std::string_view given) const {
        return bad_input("{} has the {} '{}', which this version of Yolk does not know; it cannot be replayed.", what_,
                         name, given);
    }

   private:
    const Settings& settings_;
    std::string_view what_;
};

std::vector<std::string> parts_of(std::string_view text) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        parts.emplace_back(text.substr(0, comma));
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return parts;
}

Result<PolicyNetwork> read_network(const SettingReader& settings) {
    YOLK_TRY(const std::string given, settings.text("network"));
    PolicyNetwork network{.widths = {}};
    for (const std::string& part : parts_of(given)) {
        std::uint32_t width = 0;
        const auto [end, code] = std::from_chars(part.data(), part.data() + part.size(), width);
        if (code != std::errc() || end != part.data() + part.size() || width < 1 || width > kMaxWidth)
            return settings.wrong("network", given);
        network.widths.push_back(width);
    }
    if (network.widths.size() < kMinWidths || network.widths.size() > kMaxWidths)
        return settings.wrong("network", given);
    return network;
}

Result<void> read_rules(const SettingReader& settings, evolve::EvolutionOptions& o) {
    YOLK_TRY(const std::string fitness, settings.text("fitness"));
    YOLK_TRY(const std::string optimizer, settings.text("optimizer"));
    YOLK_TRY(const std::string determinism, settings.text("determinism"));
    const auto rule = parse_fitness_rule(fitness);
    if (!rule) return settings.wrong("fitness", fitness);
    const auto step = parse_optimizer_rule(optimizer);
    if (!step) return settings.wrong("optimizer", optimizer);
    const auto mode = parse_determinism(determinism);
    if (!mode) return settings.wrong("determinism", determinism);
    o.fitness = *rule;
    o.optimizer = *step;
    o.determinism = *mode;
    return {};
}

Result<evolve::EvolutionOptions> read_options(const SettingReader& settings) {
    evolve::EvolutionOptions o;
    YOLK_TRY_VOID(settings.number("population", o.population));
    YOLK_TRY_VOID(settings.number("rank", o.rank));
    YOLK_TRY_VOID(settings.number("sigma", o.sigma));
    YOLK_TRY_VOID(settings.number("learning_rate", o.learning_rate));
    YOLK_TRY_VOID(settings.number("sigma_decay", o.sigma_decay));
    YOLK_TRY_VOID(settings.number("learning_rate_decay", o.learning_rate_decay));
    YOLK_TRY_VOID(settings.number("noise_reuse", o.noise_reuse));
    YOLK_TRY_VOID(read_rules(settings, o));
    YOLK_TRY_VOID(settings.flag("robust", o.robust));
    YOLK_TRY_VOID(settings.number("group_size", o.group_size));
    YOLK_TRY_VOID(settings.number("beta1", o.beta1));
    YOLK_TRY_VOID(settings.number("beta2", o.beta2));
    YOLK_TRY_VOID(settings.number("seed", o.seed));
    YOLK_TRY_VOID(settings.flag("freeze_vectors", o.freeze_vectors));
    YOLK_TRY_VOID(settings.number("episodes", o.episodes));
    YOLK_TRY(const std::string freeze, settings.text("freeze"));
    o.freeze = parts_of(freeze);
    if (settings.find("antithetic") != nullptr) YOLK_TRY_VOID(settings.flag("antithetic", o.antithetic));
    YOLK_TRY_VOID(evolve::validate(o));
    return o;
}

}  // namespace

Result<LoggedRun> logged_run(const evolve::RunLogHeader& header, std::string_view what) {
    const SettingReader settings(header.settings, what);
    LoggedRun run;
    YOLK_TRY(run.task, settings.text("task"));
    YOLK_TRY(run.environment_source, settings.text("environment_source"));
    if (run.environment_source == "built-in") run.environment_source.clear();
    YOLK_TRY(run.network, read_network(settings));
    YOLK_TRY(run.evolution, read_options(settings));
    YOLK_TRY(const hyper::RolloutNetwork policy, hyper::lower_to_rollout(hyper::policy_graph(run.network)));
    YOLK_TRY(const ParameterTable all, ParameterTable::create(policy.network.parameters()));
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
