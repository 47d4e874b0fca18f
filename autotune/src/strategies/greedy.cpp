// SPDX-License-Identifier: Apache-2.0
// Iterated local search: climb to where no neighbour is better (first improvement, neighbours in random order), change
// three parameters, climb again; start anew after eight climbs without gain.
#include <limits>

#include "strategies.hpp"
#include "walk.hpp"

namespace yolk::autotune {
namespace {

constexpr std::size_t kChanges = 3;
constexpr int kPatience = 8;

class Greedy final : public WalkStrategy {
   public:
    using WalkStrategy::WalkStrategy;

   private:
    Walk run() override {
        std::optional<std::size_t> base;
        double base_cost = std::numeric_limits<double>::infinity();
        int vain = 0;
        for (;;) {
            std::size_t here = base ? perturbed(candidates(), random(), *base, kChanges) : any();
            double cost = co_await measure(here);
            for (bool climbing = true; climbing;) {
                climbing = false;
                std::vector<std::size_t> neighbours = candidates().neighbours(here);
                random().shuffle(std::span(neighbours));
                for (const std::size_t next : neighbours) {
                    const double next_cost = co_await measure(next);
                    if (next_cost >= cost) continue;
                    here = next;
                    cost = next_cost;
                    climbing = true;
                    break;
                }
            }
            if (!base || cost < base_cost) {
                base = here;
                base_cost = cost;
                vain = 0;
            } else if (++vain >= kPatience) {
                base.reset();
            }
        }
    }
};

}  // namespace

std::unique_ptr<Strategy> make_greedy(StrategyContext context) { return std::make_unique<Greedy>(std::move(context)); }

}  // namespace yolk::autotune
