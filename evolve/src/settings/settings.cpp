// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace yolk::evolve {

std::vector<std::pair<std::string, std::string>> settings_of(const EvolutionOptions& options) {
    std::vector<std::string> freeze = options.freeze;  // a set: neither order nor repetition matters
    std::sort(freeze.begin(), freeze.end());
    freeze.erase(std::unique(freeze.begin(), freeze.end()), freeze.end());
    // fmt writes the shortest decimal that reads back as the same float.
    std::vector<std::pair<std::string, std::string>> settings{
        {"population", fmt::format("{}", options.population)},
        {"rank", fmt::format("{}", options.rank)},
        {"sigma", fmt::format("{}", options.sigma)},
        {"learning_rate", fmt::format("{}", options.learning_rate)},
        {"sigma_decay", fmt::format("{}", options.sigma_decay)},
        {"learning_rate_decay", fmt::format("{}", options.learning_rate_decay)},
        {"noise_reuse", fmt::format("{}", options.noise_reuse)},
        {"fitness", std::string(to_string(options.fitness))},
        {"robust", fmt::format("{}", options.robust)},
        {"group_size", fmt::format("{}", options.group_size)},
        {"optimizer", std::string(to_string(options.optimizer))},
        {"beta1", fmt::format("{}", options.beta1)},
        {"beta2", fmt::format("{}", options.beta2)},
        {"seed", fmt::format("{}", options.seed)},
        {"freeze_vectors", fmt::format("{}", options.freeze_vectors)},
        {"freeze", fmt::format("{}", fmt::join(freeze, ","))},
        {"episodes", fmt::format("{}", options.episodes)},
        {"determinism", std::string(to_string(options.determinism))}};
    // Only where it is off, so that checkpoints from before there was the choice still resume.
    if (!options.antithetic) settings.emplace_back("antithetic", "false");
    return settings;
}

std::string matrix_ranks(const ParameterTable& table, std::uint32_t run_rank) {
    std::vector<std::string> named;
    std::set<std::uint32_t> ranks;
    for (const ParameterDesc& parameter : table.parameters()) {
        if (parameter.perturbation != Perturbation::LowRank) continue;
        const std::uint32_t rank = rank_of(parameter, run_rank);
        named.push_back(fmt::format("{} {}", parameter.name, rank));
        ranks.insert(rank);
    }
    if (ranks.size() > 1) return fmt::format("{}", fmt::join(named, ", "));
    return fmt::format("{}", ranks.empty() ? run_rank : *ranks.begin());
}

}  // namespace yolk::evolve
