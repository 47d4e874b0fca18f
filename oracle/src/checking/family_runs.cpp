// SPDX-License-Identifier: Apache-2.0
#include "family_runs.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "gpu_defaults.hpp"

namespace yolk::oracle {
namespace {

/// Neighbours that one case takes. Larger: fewer pipelines are made twice (of perturbed_linear about four neighbours
/// have one output kernel, and all of a case few projections); smaller: more cases meet each tile.
constexpr std::size_t kBatch = 96;

void add_in_batches(std::vector<Batch>& batches, std::size_t problem, std::span<const Configuration> configurations) {
    for (std::size_t i = 0; i < configurations.size(); i += kBatch) {
        const auto some = configurations.subspan(i, std::min(kBatch, configurations.size() - i));
        batches.push_back({.problem = problem, .configurations = {some.begin(), some.end()}});
    }
}

/// Which of the drawn configurations is whose, where cases take them by turns.
class Turns {
   public:
    /// The next of `drawn`. One that takes long to compile for this problem waits for a case for which it does not.
    [[nodiscard]] const Configuration& take(const Problem& problem, const std::vector<Configuration>& drawn) {
        const auto is_quick = [&](std::size_t turn) { return problem.is_quick_to_make(drawn[turn % drawn.size()]); };
        for (auto waiting = waiting_.begin(); waiting != waiting_.end(); ++waiting) {
            if (!is_quick(*waiting)) continue;
            const std::size_t turn = *waiting;
            waiting_.erase(waiting);
            return drawn[turn % drawn.size()];
        }
        for (std::size_t tried = 1; tried < drawn.size() && !is_quick(next_); ++tried) waiting_.push_back(next_++);
        return drawn[next_++ % drawn.size()];
    }

   private:
    std::size_t next_ = 0;  ///< counts over all cases
    std::vector<std::size_t> waiting_;
};

/// The drawn ones, or the whole space, that are not the default.
std::vector<Configuration> configurations_of(const CheckContext& context, const Family& family, const Problem& problem,
                                             const TuningSpace& space, const Configuration& default_one, Turns& turns) {
    std::vector<Configuration> drawn =
        context.all_configurations ? space.all() : space.draw(context.configurations, context.seed);
    std::erase(drawn, default_one);
    if (family.configurations_per_case == 0 || context.all_configurations) return drawn;
    std::vector<Configuration> taken;
    const std::size_t count = std::min<std::size_t>(family.configurations_per_case, drawn.size());
    for (std::size_t i = 0; i < count; ++i) taken.push_back(turns.take(problem, drawn));
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

/// Deals configurations, in their order, to cases. A case keeps the neighbours that it may take: they share pipelines,
/// and making those is what takes long. (Cut wherever a case could not take the next one, batches of perturbed_linear
/// were a few configurations long, and made more pipelines than they had runs.)
class Dealer {
   public:
    Dealer(std::span<const std::pair<Configuration, std::vector<std::size_t>>> all, std::size_t problems,
           std::uint64_t seed)
        : all_(all), seed_(seed), takes_(problems, 0), runs_(problems, 0), open_(problems, kNone), last_(problems, 0) {
        for (const auto& [configuration, cases] : all) {
            for (const std::size_t p : cases) ++takes_[p];
        }
    }

    [[nodiscard]] std::vector<Batch> deal() {
        for (std::size_t at = 0; at < all_.size(); ++at) {
            const std::size_t problem = case_of(at);
            if (open_[problem] == kNone || batches_[open_[problem]].configurations.size() == kBatch) {
                open_[problem] = batches_.size();
                batches_.push_back({.problem = problem, .configurations = {}});
            }
            batches_[open_[problem]].configurations.push_back(all_[at].first);
            ++runs_[problem];
            last_[problem] = at + 1;
        }
        return std::move(batches_);
    }

   private:
    static constexpr std::size_t kNone = SIZE_MAX;

    /// Of the cases that took a neighbour and have room the one that may take fewest of all, so that those that may
    /// take everything do not; else a new one.
    [[nodiscard]] std::size_t case_of(std::size_t at) const {
        std::size_t found = kNone;
        for (const std::size_t p : all_[at].second) {
            const bool has_room = open_[p] != kNone && batches_[open_[p]].configurations.size() < kBatch;
            if (has_room && last_[p] + kBatch > at && (found == kNone || takes_[p] < takes_[found])) found = p;
        }
        return found != kNone ? found : new_case(at);
    }
    /// The one with the fewest runs so far, counted from one that the seed names, of those that may take a quarter as
    /// many of the next configurations as any (three quarters left most to two cases, which may take nearly all).
    [[nodiscard]] std::size_t new_case(std::size_t at) const {
        std::vector<std::size_t> takes(runs_.size(), 0);
        for (std::size_t i = at; i < std::min(at + kBatch, all_.size()); ++i) {
            for (const std::size_t p : all_[i].second) ++takes[p];
        }
        const std::vector<std::size_t>& may = all_[at].second;
        const auto fewer = [&](std::size_t a, std::size_t b) { return takes[a] < takes[b]; };
        const std::size_t enough = takes[*std::ranges::max_element(may, fewer)] / 4;
        std::size_t best = kNone;
        const auto busy = [&](std::size_t p) { return std::pair(runs_[p], (p + seed_) % runs_.size()); };
        for (const std::size_t p : may) {
            if (takes[p] >= enough && (best == kNone || busy(p) < busy(best))) best = p;
        }
        return best;
    }

    std::span<const std::pair<Configuration, std::vector<std::size_t>>> all_;
    std::uint64_t seed_;
    std::vector<Batch> batches_;
    std::vector<std::size_t> takes_;   ///< per case, as all that follow: how many it may take
    std::vector<std::uint64_t> runs_;  ///< how many it has
    std::vector<std::size_t> open_;    ///< the batch that it fills
    std::vector<std::size_t> last_;    ///< one behind the configuration that it took last; 0: none
};

/// Each configuration of the cases' spaces once.
std::vector<Batch> each_once(const DeviceInfo& info, const Problems& problems, std::uint64_t seed) {
    const CasesOf cases = cases_of_each(info, problems);
    const std::vector<std::pair<Configuration, std::vector<std::size_t>>> all(cases.begin(), cases.end());
    return Dealer(all, problems.size(), seed).deal();
}

}  // namespace

std::vector<bool> cases_with_work(const Problems& problems) {
    const bool computes = std::ranges::any_of(problems, [](const auto& p) { return p->work().operations > 0.0; });
    std::vector<bool> with_work;
    for (const auto& problem : problems) {
        const Work work = problem->work();
        with_work.push_back((computes ? work.operations : work.bytes) > 0.0);
    }
    return with_work;
}

std::vector<Batch> choose_batches(const DeviceInfo& info, const CheckContext& context, const Family& family,
                                  const Problems& problems, const Problems& shapes) {
    const bool by_turns = family.each_configuration_once || family.configurations_per_case != 0;
    const bool once = by_turns && context.all_configurations;
    std::vector<Batch> batches;
    if (once) batches = each_once(info, problems, context.seed);
    Turns turns;
    if (info.kind == DeviceKind::Cpu && !context.all_configurations && context.defaults_of_gpus) {
        std::vector<GpuDefault> all = defaults_of_gpus(info, family, problems, shapes);
        for (std::size_t i = context.gpus_part - 1; i < all.size(); i += context.gpus_parts)
            batches.push_back({.problem = all[i].problem, .configurations = {std::move(all[i].configuration)}});
    }
    for (std::size_t p = 0; p < problems.size(); ++p) {
        const Configuration default_one = problems[p]->default_configuration(info);
        batches.push_back({.problem = p, .is_default = true, .configurations = {default_one}});
        if (once) continue;
        const TuningSpace space = problems[p]->space(info);
        add_in_batches(batches, p,
                       family.each_configuration_once && !context.all_configurations
                           ? share_of(context, space, p, problems.size())
                           : configurations_of(context, family, *problems[p], space, default_one, turns));
        if (!context.all_configurations) add_in_batches(batches, p, problems[p]->also_checked(info));
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
