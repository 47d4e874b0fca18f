// SPDX-License-Identifier: Apache-2.0
// Simulated annealing over neighbours: a worse one is accepted with probability exp(-log ratio of costs / T), T falling
// geometrically from 0.5 to 0.01 over the budget.
#include <cmath>

#include "strategies.hpp"
#include "walk.hpp"

namespace yolk::autotune {
namespace {

constexpr double kHot = 0.5;
constexpr double kCold = 0.01;

class Anneal final : public WalkStrategy {
   public:
    using WalkStrategy::WalkStrategy;

   private:
    Walk run() override {
        std::size_t here = any();
        double cost = co_await measure(here);
        for (;;) {
            const double spent = static_cast<double>(history().size()) / static_cast<double>(context().budget);
            const double temperature = kHot * std::pow(kCold / kHot, std::min(1.0, spent));
            const std::vector<std::size_t> neighbours = candidates().neighbours(here);
            const std::size_t next = neighbours.empty() ? any() : neighbours[random().below(neighbours.size())];
            const double next_cost = co_await measure(next);
            double worse = 1.0;
            if (std::isfinite(next_cost)) worse = std::isfinite(cost) ? std::log(next_cost / cost) : -1.0;
            if (worse <= 0.0 || random().uniform() < std::exp(-worse / temperature)) {
                here = next;
                cost = next_cost;
            }
        }
    }
};

}  // namespace

std::unique_ptr<Strategy> make_anneal(StrategyContext context) { return std::make_unique<Anneal>(std::move(context)); }

}  // namespace yolk::autotune
