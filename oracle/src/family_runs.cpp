// SPDX-License-Identifier: Apache-2.0
#include "family_runs.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace yolk::oracle {
namespace {

/// Neighbours that one case takes. Larger: fewer pipelines are made twice (of perturbed_linear about six neighbours
/// have one output kernel, and all of a case few projections); smaller: more cases meet each tile.
constexpr std::size_t kBatch = 96;

void add_in_batches(std::vector<Batch>& batches, std::size_t problem, std::span<const Configuration> configurations) {
    for (std::size_t i = 0; i < configurations.size(); i += kBatch) {
        const auto some = configurations.subspan(i, std::min(kBatch, configurations.size() - i));
        batches.push_back({.problem = problem, .configurations = {some.begin(), some.end()}});
    }
}

/// The drawn ones, or the whole space, that are not the default. `turn` counts over all cases.
std::vector<Configuration> configurations_of(const CheckContext& context, const Family& family,
                                             const TuningSpace& space, const Configuration& default_one,
                                             std::size_t& turn) {
    std::vector<Configuration> drawn =
        context.all_configurations ? space.all() : space.draw(context.configurations, context.seed);
    std::erase(drawn, default_one);
    if (family.configurations_per_case == 0 || context.all_configurations) return drawn;
    std::vector<Configuration> taken;
    const std::size_t count = std::min<std::size_t>(family.configurations_per_case, drawn.size());
    for (std::size_t i = 0; i < count; ++i) taken.push_back(drawn[turn++ % drawn.size()]);
    return taken;
}

/// Of as many drawn ones as there are, case `index` of `count` takes its share.
std::vector<Configuration> share_of(const CheckContext& context, const TuningSpace& space, std::size_t index,
                                    std::size_t count) {
    const std::vector<Configuration> drawn = space.draw(context.configurations, context.seed);
    const std::size_t begin = index * drawn.size() / count;
    const std::size_t end = (index + 1) * drawn.size() / count;
    return {drawn.begin() + static_cast<std::ptrdiff_t>(begin), drawn.begin() + static_cast<std::ptrdiff_t>(end)};
}

using CasesOf = std::map<Configuration, std::vector<std::size_t>>;

/// Cases that compute something, or where none does, that move something. What does neither proves nothing.
std::vector<bool> cases_with_work(const Problems& problems) {
    const bool computes = std::ranges::any_of(problems, [](const auto& p) { return p->work().operations > 0.0; });
    std::vector<bool> with_work;
    for (const auto& problem : problems) {
        const Work work = problem->work();
        with_work.push_back((computes ? work.operations : work.bytes) > 0.0);
    }
    return with_work;
}

/// Every configuration of every case's space, with the cases that may take it, ascending: those with work, where there
/// are any.
CasesOf cases_of_each(const DeviceInfo& info, const Problems& problems) {
    const std::vector<bool> with_work = cases_with_work(problems);
    CasesOf all;
    for (std::size_t p = 0; p < problems.size(); ++p) {
        for (Configuration& configuration : problems[p]->space(info).all()) all[std::move(configuration)].push_back(p);
    }
    for (auto& [configuration, cases] : all) {
        const auto idle = [&](std::size_t p) { return !with_work[p]; };
        if (!std::ranges::all_of(cases, idle)) std::erase_if(cases, idle);
    }
    return all;
}

/// Each configuration of the cases' spaces once. A batch ends where its case cannot take the next one or has enough;
/// then the case with the fewest runs so far goes on, counted from one that `seed` names.
std::vector<Batch> each_once(const DeviceInfo& info, const Problems& problems, std::uint64_t seed) {
    std::vector<Batch> batches;
    std::vector<std::uint64_t> runs(problems.size(), 0);
    const auto less_busy = [&](std::size_t a, std::size_t b) {
        const auto turn = [&](std::size_t p) { return (p + seed) % problems.size(); };
        return std::pair(runs[a], turn(a)) < std::pair(runs[b], turn(b));
    };
    for (const auto& [configuration, cases] : cases_of_each(info, problems)) {
        const bool goes_on = !batches.empty() && batches.back().configurations.size() < kBatch &&
                             std::ranges::binary_search(cases, batches.back().problem);
        if (!goes_on) batches.push_back({.problem = *std::ranges::min_element(cases, less_busy), .configurations = {}});
        batches.back().configurations.push_back(configuration);
        ++runs[batches.back().problem];
    }
    return batches;
}

}  // namespace

std::vector<Batch> choose_batches(const DeviceInfo& info, const CheckContext& context, const Family& family,
                                  const Problems& problems) {
    const bool by_turns = family.each_configuration_once || family.configurations_per_case != 0;
    const bool once = by_turns && context.all_configurations;
    std::vector<Batch> batches;
    if (once) batches = each_once(info, problems, context.seed);
    std::size_t turn = 0;
    for (std::size_t p = 0; p < problems.size(); ++p) {
        const Configuration default_one = problems[p]->default_configuration(info);
        batches.push_back({.problem = p, .is_default = true, .configurations = {default_one}});
        if (once) continue;
        const TuningSpace space = problems[p]->space(info);
        add_in_batches(batches, p,
                       family.each_configuration_once && !context.all_configurations
                           ? share_of(context, space, p, problems.size())
                           : configurations_of(context, family, space, default_one, turn));
    }
    std::ranges::stable_sort(batches, {},
                             [](const Batch& batch) { return std::pair(batch.problem, !batch.is_default); });
    return batches;
}

std::vector<Batch> part_of(std::span<const Batch> batches, std::uint32_t part, std::uint32_t parts) {
    std::vector<Batch> ours;
    for (std::size_t i = part - 1; i < batches.size(); i += parts) ours.push_back(batches[i]);
    return ours;
}

std::uint64_t runs_of(std::span<const Batch> batches) noexcept {
    std::uint64_t runs = 0;
    for (const Batch& batch : batches) runs += batch.configurations.size();
    return runs;
}

std::uint64_t different_configurations(std::span<const Batch> batches) {
    std::set<Configuration> different;
    for (const Batch& batch : batches) different.insert(batch.configurations.begin(), batch.configurations.end());
    return different.size();
}

}  // namespace yolk::oracle
