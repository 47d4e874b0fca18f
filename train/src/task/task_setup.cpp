// SPDX-License-Identifier: Apache-2.0
#include "task_setup.hpp"

#include <cmath>

#include "yolk/internal/context/run_place.hpp"
#include "yolk/internal/evolve/parameter_setup.hpp"
#include "yolk/internal/train/policy_file.hpp"
#include "yolk/json.hpp"

namespace yolk::train {
namespace {

Result<EnvironmentInfo> trained_environment(const TrainOptions& options) {
    const LoadedEnvironment* const own = options.host_environments.empty() ? options.own_environment.get() : nullptr;
    if (own != nullptr && options.evolution.determinism == Determinism::Exact && !own->inexact_reason().empty()) {
        return unsupported(
            "The environment '{}' cannot be trained on in exact mode, which promises the "
            "same bits on every device. {}. Change that, or use fast determinism.",
            own->info().name, own->inexact_reason());
    }
    return environment_of(options);
}

Result<void> check_limits(const TrainOptions& options, const EnvironmentInfo& environment) {
    YOLK_TRY_VOID(evolve::validate(options.evolution));
    if (options.generations < 1) return bad_input("The number of generations is 0; it must be at least 1.");
    if (options.max_steps > environment.max_steps && environment.max_steps > 0) {
        return bad_input("The steps of an episode are {}; {} has at most {} (0 means that).", options.max_steps,
                         environment.name, environment.max_steps);
    }
    YOLK_TRY_VOID(check_evaluation_episodes(options.evaluation_episodes));
    return check_network(options.network, environment, max_width_of(environment_source(options)));
}

}  // namespace

std::vector<float> first_parameters(const PolicyNetwork& network, const ParameterTable& table, std::uint64_t seed) {
    std::vector<float> values = evolve::initial_parameters(table, seed);
    if (!network.normalized) return values;
    const std::vector<float> normalizer = normalizer_of(std::vector<ObservationSums>(network.widths.front()));
    std::ranges::copy(normalizer, values.end() - static_cast<std::ptrdiff_t>(normalizer.size()));
    return values;
}

Result<EnvironmentInfo> environment_of(const TrainOptions& options) {
    if (!options.host_environments.empty()) return common_info(options.host_environments);
    if (options.own_environment) return options.own_environment->info();
    return find_environment(options.task);
}

Result<void> check_evaluation_episodes(std::uint32_t episodes) {
    if (episodes < 1 || episodes > kMaxEvaluationEpisodes) {
        return bad_input("The evaluation episodes are {}; they must be from 1 to {}.", episodes,
                         kMaxEvaluationEpisodes);
    }
    return {};
}

RolloutDesc policy_rollout(const PolicyNetwork& network, const ParameterTable& parameters, std::uint32_t episodes,
                           std::uint32_t max_steps) {
    return {.network = network,
            .parameters = parameters,
            .members = 1,
            .episodes = episodes,
            .max_steps = max_steps,
            .rank = 1,
            .mean_only = true,
            .never_stop = false,
            .config = {}};
}

Result<TaskSetup> set_up_task(const TrainOptions& options) {
    TaskSetup setup;
    YOLK_TRY(setup.environment, trained_environment(options));
    YOLK_TRY_VOID(check_limits(options, setup.environment));
    YOLK_TRY(const ParameterTable all, ParameterTable::create(options.network.parameters()));
    setup.initial = first_parameters(options.network, all, options.evolution.seed);
    YOLK_TRY(setup.parameters, evolve::trained_parameters(all, options.evolution));
    setup.checks = policy_rollout(options.network, setup.parameters, kCheckEpisodeCount, options.max_steps);
    setup.checks.environment = std::string(setup.environment.name);
    setup.checks.own_environment = options.own_environment;
    setup.final = setup.checks;
    setup.final.episodes = options.evaluation_episodes;
    setup.population = setup.checks;
    setup.population.members = options.evolution.population;
    setup.population.episodes = options.evolution.episodes;
    setup.population.rank = options.evolution.rank;
    setup.population.mean_only = false;
    setup.population.antithetic = options.evolution.antithetic;
    // The unperturbed policy is scored in the arithmetic that it will be used with.
    setup.population.determinism = options.evolution.determinism;
    setup.population.config = options.rollout_config;
    const EnvironmentInfo& environment = setup.environment;
    if (!options.host_environments.empty()) {
        setup.solved_at = environment.solved_return;
        YOLK_TRY(setup.host, host_task(options.network, setup.parameters, environment, options.max_steps));
        setup.host->episodes = options.evolution.episodes;
        setup.host->policies.rank = options.evolution.rank;
        setup.host->policies.antithetic = options.evolution.antithetic;
        setup.host->policies.determinism = options.evolution.determinism;
        return setup;
    }
    setup.solved_at = environment.solved_return + 0.5F * (environment.best_return - environment.solved_return);
    return setup;
}

GenerationReport report_of(const evolve::GenerationSummary& summary, std::string state_hash, std::string state_digest) {
    return {.generation = summary.generation,
            .mean_return = summary.mean,
            .best_return = summary.best,
            .policy_return = summary.policy_mean.value_or(0.0F),
            .evaluations = summary.evaluations,
            .evaluations_per_second = 0.0,
            .seconds = 0.0,
            .not_finite = summary.not_finite,
            .skipped_elements = summary.skipped_elements,
            .sigma = summary.sigma,
            .learning_rate = summary.learning_rate,
            .state_hash = std::move(state_hash),
            .state_digest = std::move(state_digest)};
}

bool is_solved(const TaskSetup& setup, float policy_return) {
    return std::isfinite(policy_return) && policy_return >= setup.solved_at;
}

Json to_json(const evolve::WorkerShare& share) {
    return {{"device", share.name},
            {"dropped", share.dropped},
            {"members", share.members},
            {"audited", share.audited},
            {"chunks", share.chunks},
            {"busy_seconds", share.busy_seconds},
            {"members_per_second", share.rate}};
}

Json to_json(const GenerationReport& report) {
    Json json{{"generation", report.generation},
              {"mean_return", shortest(report.mean_return)},
              {"best_return", shortest(report.best_return)},
              {"policy_return", shortest(report.policy_return)},
              {"evaluations", report.evaluations},
              {"evaluations_per_second", report.evaluations_per_second},
              {"seconds", report.seconds},
              {"not_finite", report.not_finite},
              {"sigma", shortest(report.sigma)},
              {"learning_rate", shortest(report.learning_rate)},
              {"state_digest", report.state_digest}};
    if (report.skipped_elements > 0) json["skipped_elements"] = report.skipped_elements;
    if (!report.state_hash.empty()) json["state_hash"] = report.state_hash;
    for (const evolve::WorkerShare& share : report.devices) json["devices"].push_back(to_json(share));
    if (report.ranks.empty()) return json;
    for (const evolve::RankShare& share : report.ranks)
        json["ranks"].push_back({{"members", share.members}, {"seconds", share.seconds}});
    json["sent_bytes"] = report.traffic.sent_bytes;
    json["received_bytes"] = report.traffic.received_bytes;
    return json;
}

std::string environment_source(const TrainOptions& options) {
    if (!options.host_environments.empty()) return host_source(options.host_environments.front()->info());
    return options.own_environment ? options.own_environment->source_hash() : "built-in";
}

Json settings_json(const TrainOptions& options, const TaskSetup& setup, std::span<const Device> devices) {
    const evolve::EvolutionOptions& e = options.evolution;
    Json settings{{"yolk_version", YOLK_VERSION},
                  {"task", setup.environment.name},
                  {"environment_source", environment_source(options)},
                  {"network", options.network.widths},
                  {"recurrent", options.network.recurrent},
                  {"generations", options.generations},
                  {"stop_when_solved", options.stop_when_solved},
                  {"max_steps", options.max_steps},
                  {"evaluation_episodes", options.evaluation_episodes},
                  {"population", e.population},
                  {"antithetic", e.antithetic},
                  {"rank", e.rank},
                  {"sigma", shortest(e.sigma)},
                  {"learning_rate", shortest(e.learning_rate)},
                  {"sigma_decay", shortest(e.sigma_decay)},
                  {"learning_rate_decay", shortest(e.learning_rate_decay)},
                  {"noise_reuse", e.noise_reuse},
                  {"fitness", to_string(e.fitness)},
                  {"robust", e.robust},
                  {"group_size", e.group_size},
                  {"optimizer", to_string(e.optimizer)},
                  {"beta1", shortest(e.beta1)},
                  {"beta2", shortest(e.beta2)},
                  {"seed", e.seed},
                  {"freeze_vectors", e.freeze_vectors},
                  {"freeze", e.freeze},
                  {"episodes", e.episodes},
                  {"determinism", to_string(e.determinism)}};
    if (options.network.normalized) settings["normalize"] = true;
    add_run_place(settings, devices);
    if (devices.size() > 1) settings["audit"] = options.audit;
    return {{"settings", settings}};
}

}  // namespace yolk::train
