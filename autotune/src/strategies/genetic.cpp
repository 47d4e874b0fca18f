// SPDX-License-Identifier: Apache-2.0
// A genetic algorithm: 20 members, the best one survives, parents drawn by rank with linear weights, uniform crossover,
// each parameter drawn anew with probability 0.1.
#include <algorithm>
#include <array>
#include <numeric>

#include "strategies.hpp"
#include "walk.hpp"

namespace yolk::autotune {
namespace {

constexpr std::size_t kMembers = 20;
constexpr double kMutation = 0.1;
constexpr int kDraws = 30;

class Genetic final : public WalkStrategy {
   public:
    using WalkStrategy::WalkStrategy;

   private:
    Walk run() override {
        std::vector<std::size_t> members;
        for (std::size_t m = 0; m < kMembers; ++m) members.push_back(any());
        std::vector<double> costs(kMembers);
        for (;;) {
            for (std::size_t m = 0; m < kMembers; ++m) costs[m] = co_await measure(members[m]);
            members = offspring(members, costs);
        }
    }

    std::vector<std::size_t> offspring(const std::vector<std::size_t>& members, const std::vector<double>& costs) {
        std::vector<std::size_t> ranked(kMembers);
        std::iota(ranked.begin(), ranked.end(), std::size_t{0});
        std::ranges::stable_sort(ranked, {}, [&](std::size_t m) { return costs[m]; });
        std::vector<std::size_t> next{members[ranked.front()]};
        while (next.size() < kMembers) {
            const std::size_t first = parent();
            std::size_t second = parent();
            while (second == first) second = parent();
            const std::size_t a = members[ranked[first]];
            next.push_back(child(a, members[ranked[second]], next));
        }
        return next;
    }

    /// Of two parents, not yet among `next`; a perturbed first parent where 30 draws give none.
    std::size_t child(std::size_t a, std::size_t b, const std::vector<std::size_t>& next) {
        for (int draw = 0; draw < kDraws; ++draw) {
            const std::optional<std::size_t> found = candidates().find(crossed(a, b));
            if (found && std::ranges::find(next, *found) == next.end()) return *found;
        }
        return perturbed(candidates(), random(), a, 2);
    }

    /// A rank, with weight falling linearly from the best to 0 for the worst.
    std::size_t parent() {
        const double weights = 0.5 * kMembers * (kMembers - 1);
        double at = random().uniform() * weights;
        for (std::size_t rank = 0; rank + 1 < kMembers; ++rank) {
            at -= static_cast<double>(kMembers - 1 - rank);
            if (at < 0.0) return rank;
        }
        return kMembers - 2;
    }

    Choice crossed(std::size_t a, std::size_t b) {
        Choice child;
        for (std::size_t p = 0; p < candidates().dimensions(); ++p) {
            const std::size_t values = candidates().space().parameters()[p].values.size();
            std::size_t value = candidates()[random().below(2) == 0 ? a : b][p];
            if (random().uniform() < kMutation) value = random().below(values);
            child.push_back(static_cast<std::uint16_t>(value));
        }
        return child;
    }
};

}  // namespace

std::unique_ptr<Strategy> make_genetic(StrategyContext context) {
    return std::make_unique<Genetic>(std::move(context));
}

}  // namespace yolk::autotune
