// SPDX-License-Identifier: Apache-2.0
#include "gpu_defaults.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "family_runs.hpp"

namespace yolk::oracle {
namespace {

/// A problem, with what is asked of it for every configuration.
struct Candidate {
    const Problem* problem = nullptr;
    TuningSpace space;
    Configuration default_one;  ///< on the device that checks
    Work work;
    bool has_work = false;  ///< or none has
};

std::vector<Candidate> candidates_of(const DeviceInfo& cpu, const Problems& problems) {
    const std::vector<bool> with_work = cases_with_work(problems);
    const bool none_has = std::ranges::none_of(with_work, std::identity());
    std::vector<Candidate> all;
    for (const auto& problem : problems) {
        all.push_back({.problem = problem.get(),
                       .space = problem->space(cpu),
                       .default_one = problem->default_configuration(cpu),
                       .work = problem->work(),
                       .has_work = none_has || with_work[all.size()]});
    }
    return all;
}

/// Which of two that may take a configuration shall: the larger of these.
auto worth_of(const Candidate& candidate, const std::string& variant, const Configuration& configuration) {
    return std::tuple(candidate.has_work, candidate.space.shape().variant == variant,
                      candidate.problem->is_quick_to_make(configuration), candidate.work.operations,
                      candidate.work.bytes);
}

std::optional<std::size_t> best_for(const std::vector<Candidate>& candidates, const std::string& variant,
                                    const Configuration& configuration) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (!candidates[i].space.check(configuration)) continue;
        const auto worth = [&](std::size_t at) { return worth_of(candidates[at], variant, configuration); };
        if (!best || worth(i) > worth(*best)) best = i;
    }
    return best;
}

}  // namespace

std::vector<DeviceInfo> gpus_like(const DeviceInfo& cpu) {
    struct Model {
        std::uint32_t vendor_id, subgroup_size, min_subgroup_size;
        bool integer_dot_accelerated;
    };
    // NVIDIA; AMD before and from RDNA on; Apple; Qualcomm; Intel; one of which nothing is known.
    constexpr std::array<Model, 7> kModels{{{0x10de, 32, 32, true},
                                            {0x1002, 64, 64, false},
                                            {0x1002, 64, 32, true},
                                            {0x106b, 32, 32, false},
                                            {0x5143, 128, 64, false},
                                            {0x8086, 32, 8, true},
                                            {0, 32, 32, false}}};
    std::vector<DeviceInfo> gpus;
    for (const Model& model : kModels) {
        DeviceInfo& gpu = gpus.emplace_back(cpu);
        gpu.kind = DeviceKind::Discrete;
        gpu.vendor_id = model.vendor_id;
        gpu.limits.subgroup_size = model.subgroup_size;
        gpu.limits.min_subgroup_size = model.min_subgroup_size;
        gpu.features.integer_dot_accelerated = model.integer_dot_accelerated;
    }
    return gpus;
}

Problems shapes_of_gpus(const Family& family) {
    Problems shapes;
    for (Problems (*const more)() : {family.benchmarks, family.large}) {
        if (more == nullptr) continue;
        Problems problems = more();
        std::move(problems.begin(), problems.end(), std::back_inserter(shapes));
    }
    return shapes;
}

std::vector<GpuDefault> defaults_of_gpus(const DeviceInfo& cpu, const Family& family, const Problems& problems,
                                         const Problems& shapes) {
    const std::vector<DeviceInfo> gpus = gpus_like(cpu);
    const std::vector<Candidate> candidates = candidates_of(cpu, problems);
    std::vector<GpuDefault> found;
    std::set<Configuration> taken;
    const auto take = [&](std::size_t problem, Configuration configuration) {
        taken.insert(configuration);
        if (configuration != candidates[problem].default_one) found.push_back({problem, std::move(configuration)});
    };
    std::set<std::pair<std::string, Configuration>> met;
    for (const auto& shape : shapes) {
        const std::string variant = shape->space(cpu).shape().variant;
        for (const DeviceInfo& gpu : gpus) {
            Configuration configuration = shape->default_configuration(gpu);
            if (!met.emplace(family.each_configuration_once ? "" : variant, configuration).second) continue;
            if (const auto best = best_for(candidates, variant, configuration)) take(*best, std::move(configuration));
        }
    }
    for (const Candidate& candidate : candidates) {
        if (candidate.has_work) taken.insert(candidate.default_one);
    }
    for (std::size_t p = 0; p < candidates.size(); ++p) {
        if (!candidates[p].has_work) continue;
        for (const DeviceInfo& gpu : gpus) {
            Configuration configuration = problems[p]->default_configuration(gpu);
            if (!taken.contains(configuration) && candidates[p].space.check(configuration))
                take(p, std::move(configuration));
        }
    }
    return found;
}

}  // namespace yolk::oracle
