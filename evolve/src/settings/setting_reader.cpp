// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/setting_reader.hpp"
#include "yolk/internal/core/printable.hpp"

#include <algorithm>

namespace yolk::evolve {

const std::string* SettingReader::find(std::string_view name) const {
    const auto at = std::ranges::find(settings_, name, &NamedValues::value_type::first);
    return at == settings_.end() ? nullptr : &at->second;
}

Result<std::string> SettingReader::text(std::string_view name) const {
    const std::string* const found = find(name);
    if (found == nullptr) return bad_input("{} does not say its '{}'; it cannot be replayed.", what_, shown(name));
    return *found;
}

Result<void> SettingReader::flag(std::string_view name, bool& to) const {
    YOLK_TRY(const std::string given, text(name));
    if (given != "true" && given != "false") return wrong(name, given);
    to = given == "true";
    return {};
}

Error SettingReader::wrong(std::string_view name, std::string_view given) const {
    return bad_input("{} has the {} '{}', which this version of Yolk does not know; it cannot be replayed.", what_,
                     name, shown(given));
}

std::vector<std::string> listed(std::string_view text) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        parts.emplace_back(text.substr(0, comma));
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return parts;
}

namespace {

Result<void> read_rules(const SettingReader& settings, EvolutionOptions& o) {
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

}  // namespace

Result<EvolutionOptions> options_of(const SettingReader& settings) {
    EvolutionOptions o;
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
    o.freeze = listed(freeze);
    if (settings.find("antithetic") != nullptr) YOLK_TRY_VOID(settings.flag("antithetic", o.antithetic));
    YOLK_TRY_VOID(validate(o));
    return o;
}

}  // namespace yolk::evolve
