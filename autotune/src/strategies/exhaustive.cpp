// SPDX-License-Identifier: Apache-2.0
// Candidates in the order of the space: for small spaces, and to record a surface.
#include "strategies.hpp"

namespace yolk::autotune {
namespace {

class Exhaustive final : public Strategy {
   public:
    explicit Exhaustive(StrategyContext context) : context_(std::move(context)) {}
    std::optional<std::size_t> propose() override {
        while (next_ < context_.candidates->size() && context_.history->known(next_)) ++next_;
        return next_ < context_.candidates->size() ? std::optional(next_) : std::nullopt;
    }

   private:
    StrategyContext context_;
    std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(StrategyContext context) {
    return std::make_unique<Exhaustive>(std::move(context));
}

}  // namespace yolk::autotune
