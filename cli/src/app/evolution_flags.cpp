// SPDX-License-Identifier: Apache-2.0
#include "evolution_flags.hpp"

#include <fmt/format.h>

#include "options.hpp"

namespace yolk::cli {
namespace {

template <class T>
std::string default_text(T value) {
    return fmt::format("{}", value);
}

template <class Options>
void add_search_flags(App& app, Options& o, const EvolutionWords& words) {
    const auto number = [&app](const char* name, auto& target, const std::string& help) {
        add_number(app, name, target, help)->default_str(default_text(target));
    };
    number("--population", o.population,
           fmt::format("{} per {}, even unless --no-antithetic", words.members, words.generation));
    app.add_flag(
        "--antithetic,!--no-antithetic", o.antithetic,
        fmt::format("{} in pairs of opposite noise (the default), or each with noise of its own", words.members));
    number("--rank", o.rank, "Rank of the perturbations, 1 to 32");
    number("--sigma", o.sigma, "Size of the perturbations");
    number("--sigma-decay", o.sigma_decay, fmt::format("Factor of sigma per {}, above 0, at most 1", words.generation));
    number("--lr", o.learning_rate, "Learning rate");
    number("--lr-decay", o.learning_rate_decay,
           fmt::format("Factor of the learning rate per {}, above 0, at most 1", words.generation));
    number("--noise-reuse", o.noise_reuse, fmt::format("How many {}s share their noise", words.generation));
    number("--seed", o.seed, "Seed of everything random");
}

template <class Options>
void add_rule_flags(App& app, Options& o, const EvolutionWords& words) {
    add_parsed(app, "--fitness", o.fitness,
               "Fitness rule: pair-difference, pair-sign, centred-rank, z-score, group-z-score", &parse_fitness_rule)
        ->type_name("RULE")
        ->default_str(std::string(to_string(o.fitness)));
    app.add_flag("--robust", o.robust, "Pair difference: scale by the smaller of the maximum and six medians");
    add_number(app, "--group-size", o.group_size, fmt::format("{} per group of group-z-score", words.members));
    add_parsed(app, "--optimizer", o.optimizer, "Optimizer: sgd, momentum, adam", &parse_optimizer_rule)
        ->type_name("RULE")
        ->default_str(std::string(to_string(o.optimizer)));
    add_parsed(app, "--determinism", o.determinism,
               "exact: the same bits on every device; fast: admits operations that are only within a tolerance",
               &parse_determinism)
        ->type_name("MODE")
        ->default_str(std::string(to_string(o.determinism)));
    app.add_flag("--freeze-vectors", o.freeze_vectors, "Change matrices only, no biases");
    // --exclude is what `train` called it first.
    app.add_repeatable("--freeze,--exclude", o.freeze,
                       fmt::format("{} to leave as it began; may be given more than once", words.freeze))
        ->type_name("NAME");
}

}  // namespace

template <class Options>
void add_evolution_flags(App& app, Options& evolution, const EvolutionWords& words) {
    add_search_flags(app, evolution, words);
    add_rule_flags(app, evolution, words);
}

template void add_evolution_flags(App&, evolve::EvolutionOptions&, const EvolutionWords&);
template void add_evolution_flags(App&, evolve::SystemEvolutionOptions&, const EvolutionWords&);

}  // namespace yolk::cli
