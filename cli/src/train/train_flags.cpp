// SPDX-License-Identifier: Apache-2.0
#include "train_flags.hpp"

#include "environment_flag.hpp"
#include "evolution_flags.hpp"
#include "options.hpp"

namespace yolk::cli {

namespace {

/// Widths, or "none": a linear policy.
Result<std::vector<std::uint32_t>> parse_hidden(std::string_view text) {
    if (text == "none") return std::vector<std::uint32_t>();
    return parse_numbers(text);
}

/// With a network of these hidden layers.
Result<train::TrainOptions> fitted(train::TrainOptions options, const std::vector<std::uint32_t>& hidden,
                                   const EnvironmentInfo& environment) {
    if (options.generations == 0) return bad_input("--generations is 0; at least 1 is needed.");
    options.network.widths = {environment.observation_count};
    options.network.widths.insert(options.network.widths.end(), hidden.begin(), hidden.end());
    options.network.widths.push_back(environment.action_count);
    YOLK_TRY_VOID(evolve::validate(options.evolution));
    return options;
}

}  // namespace

void add_train_flags(App& app, TrainFlags& flags) {
    add_evolution_flags(
        app, flags.options.evolution,
        {.members = "Members", .generation = "generation", .freeze = "Parameter (such as layer0.weight)"});
    add_number(app, "--episodes", flags.options.evolution.episodes, "Episodes per member and generation")
        ->default_str("1");
    add_number(app, "--generations", flags.options.generations, "Generations at most")->default_str("100");
    add_number(app, "--max-steps", flags.options.max_steps, "Steps of an episode at most (default: the task's own)");
    add_parsed(app, "--hidden", flags.hidden,
               "Widths of the network's hidden layers, such as 64 or 64,32; none: a linear policy", &parse_hidden)
        ->type_name("WIDTHS")
        ->default_str("64");
}

Result<train::TrainOptions> resolve(const TrainFlags& flags) {
    train::TrainOptions options = flags.options;
    YOLK_TRY(ChosenEnvironment chosen, choose_environment(options.task));
    const EnvironmentInfo environment = chosen.info;
    options.task = std::string(environment.name);
    options.own_environment = std::move(chosen.own);
    return fitted(std::move(options), flags.hidden, environment);
}

Result<train::TrainOptions> resolve(const TrainFlags& flags, train::HostEnvironments on_host) {
    train::TrainOptions options = flags.options;
    options.host_environments = std::move(on_host);
    YOLK_TRY(const EnvironmentInfo environment, train::environment_of(options));
    options.task = std::string(environment.name);
    return fitted(std::move(options), flags.hidden, environment);
}

}  // namespace yolk::cli
