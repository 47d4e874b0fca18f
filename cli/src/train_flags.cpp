// SPDX-License-Identifier: Apache-2.0
#include "train_flags.hpp"

#include <fmt/format.h>

#include "environment_flag.hpp"
#include "options.hpp"

namespace yolk::cli {
namespace {

Result<evolve::Determinism> parse_determinism(std::string_view text) {
    if (text == "exact") return evolve::Determinism::Exact;
    if (text == "fast") return evolve::Determinism::Fast;
    return bad_input(fmt::format("'{}' is not a determinism; there are exact and fast.", text));
}

void add_search_flags(App& app, evolve::EvolutionOptions& evolution) {
    add_number(app, "--population", evolution.population, "Members per generation, even unless --no-antithetic")
        ->default_str("4096");
    app.add_flag("--antithetic,!--no-antithetic", evolution.antithetic,
                 "Members in pairs of opposite noise (the default), or each with noise of its own");
    add_number(app, "--rank", evolution.rank, "Rank of the perturbations, 1 to 32")->default_str("1");
    add_number(app, "--sigma", evolution.sigma, "Size of the perturbations")->default_str("0.2");
    add_number(app, "--sigma-decay", evolution.sigma_decay, "Factor of sigma per generation, above 0, at most 1")
        ->default_str("1");
    add_number(app, "--lr", evolution.learning_rate, "Learning rate")->default_str("0.2");
    add_number(app, "--lr-decay", evolution.learning_rate_decay,
               "Factor of the learning rate per generation, above 0, at most 1")
        ->default_str("1");
    add_number(app, "--noise-reuse", evolution.noise_reuse, "Generations that share their noise")->default_str("1");
    add_number(app, "--episodes", evolution.episodes, "Episodes per member and generation")->default_str("1");
    add_number(app, "--seed", evolution.seed, "Seed of everything random")->default_str("1");
}

void add_rule_flags(App& app, evolve::EvolutionOptions& evolution) {
    add_parsed(app, "--fitness", evolution.fitness,
               "Fitness rule: pair-difference, pair-sign, centred-rank, z-score, group-z-score", &parse_fitness_rule)
        ->type_name("RULE")
        ->default_str("pair-difference");
    app.add_flag("--robust", evolution.robust, "Pair difference: scale by the smaller of the maximum and six medians");
    add_number(app, "--group-size", evolution.group_size, "Members per group of group-z-score");
    add_parsed(app, "--optimizer", evolution.optimizer, "Optimizer: sgd, momentum, adam", &parse_optimizer_rule)
        ->type_name("RULE")
        ->default_str("sgd");
    add_parsed(app, "--determinism", evolution.determinism,
               "exact: the same bits on every device; fast: admits operations that are only within a tolerance",
               &parse_determinism)
        ->type_name("MODE")
        ->default_str("exact");
    app.add_flag("--freeze-vectors", evolution.freeze_vectors, "Train matrices only, no biases");
    app.add_repeatable("--exclude", evolution.exclude,
                       "Parameter to leave as it began (layer0.weight); may be given more than once")
        ->type_name("NAME");
}

}  // namespace

void add_train_flags(App& app, TrainFlags& flags) {
    add_search_flags(app, flags.options.evolution);
    add_rule_flags(app, flags.options.evolution);
    add_number(app, "--generations", flags.options.generations, "Generations at most")->default_str("100");
    add_number(app, "--max-steps", flags.options.max_steps, "Steps of an episode at most (default: the task's own)");
    add_parsed(app, "--hidden", flags.hidden, "Widths of the network's hidden layers, such as 64 or 64,32",
               &parse_numbers)
        ->type_name("WIDTHS")
        ->default_str("64");
}

Result<train::TrainOptions> resolve(const TrainFlags& flags) {
    train::TrainOptions options = flags.options;
    YOLK_TRY(ChosenEnvironment chosen, choose_environment(options.task));
    const EnvironmentInfo environment = chosen.info;
    options.task = std::string(environment.name);
    options.own_environment = std::move(chosen.own);
    if (options.generations == 0) return bad_input("--generations is 0; at least 1 is needed.");
    options.network.widths = {environment.observation_count};
    options.network.widths.insert(options.network.widths.end(), flags.hidden.begin(), flags.hidden.end());
    options.network.widths.push_back(environment.action_count);
    YOLK_TRY_VOID(evolve::validate(options.evolution));
    return options;
}

}  // namespace yolk::cli
