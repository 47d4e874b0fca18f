// SPDX-License-Identifier: Apache-2.0
// Candidates in random order, none twice: the baseline of baselines.
#include <numeric>

#include "strategies.hpp"

namespace yolk::autotune {
namespace {

class RandomOrder final : public Strategy {
   public:
    explicit RandomOrder(StrategyContext context) : context_(std::move(context)), order_(context_.candidates->size()) {
        std::iota(order_.begin(), order_.end(), std::size_t{0});
    }
    std::optional<std::size_t> propose() override {
        while (!order_.empty()) {
            std::swap(order_[context_.random.below(order_.size())], order_.back());
            const std::size_t candidate = order_.back();
            if (!context_.history->known(candidate)) return candidate;
            order_.pop_back();
        }
        return std::nullopt;
    }

   private:
    StrategyContext context_;
    std::vector<std::size_t> order_;
};

}  // namespace

std::unique_ptr<Strategy> make_random(StrategyContext context) {
    return std::make_unique<RandomOrder>(std::move(context));
}

}  // namespace yolk::autotune
