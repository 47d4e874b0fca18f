// SPDX-License-Identifier: Apache-2.0
// EGGROLL by evolve, on the logits of a factorised softmax policy (policy_kernels.hpp). A generation has four pairs of
// members, perturbed by +-sigma A B^T / sqrt(r); each draws one unknown candidate from its policy over the candidate
// set, both of a pair with the same Gumbel noise, and measures it. The score of a member is minus its log cost; evolve
// shapes the scores and estimates the gradient, which is preconditioned parameter by parameter.
#include <array>
#include <cmath>
#include <limits>

#include "policy_run.hpp"
#include "posterior_search.hpp"
#include "strategies.hpp"
#include "walk.hpp"

namespace yolk::autotune {
namespace {

/// evolve's gradient is of scores in units of their deviation: about 2.8 times one of differences scaled by the
/// largest.
double eggroll_learning_rate(Step step) {
    switch (step) {
        case Step::Plain:
        case Step::Identity: return 0.35;
        case Step::InverseSqrt: return 0.5;
        case Step::Natural: return 0.1;
    }
    return 0.35;
}

class Eggroll final : public WalkStrategy {
   public:
    explicit Eggroll(StrategyContext context) : WalkStrategy(std::move(context)) { noise_.resize(candidates().size()); }

   private:
    Walk run() override {
        PolicyRun policy = begun();
        LogCosts costs;
        for (;;) {
            const std::span<const float> scores = policy.scores();
            std::array<float, kPolicyMembers> returns{};
            for (std::size_t member = 0; member < returns.size(); ++member) {
                if (member % 2 == 0) {
                    for (float& g : noise_) g = static_cast<float>(random().gumbel());
                }
                const std::size_t drawn = draw(scores.subspan(member * candidates().size(), candidates().size()));
                returns.at(member) = static_cast<float>(-costs.add(co_await measure(drawn)));
            }
            policy.follow(returns);
        }
    }

    PolicyRun begun() {
        const StrategySettings& settings = context().settings;
        const auto rate = static_cast<float>(settings.learning_rate.value_or(eggroll_learning_rate(settings.step)));
        const std::uint64_t high = random().word();
        PolicyDesc desc = policy_desc(context().candidates,
                                      policy_options(std::max(rate, evolve::kMinScale), high << 32U | random().word()))
                              .value();
        return {std::move(desc), settings.step,
                settings.policy_kernels ? settings.policy_kernels() : policy_kernels_on_host()};
    }

    /// From the policy over unknown candidates, exactly: the largest of log probability plus Gumbel noise, the first of
    /// equal ones. What makes probabilities of the scores is the same for all candidates, so that it is left out.
    std::size_t draw(std::span<const float> scores) {
        std::size_t found = 0;
        float most = -std::numeric_limits<float>::infinity();
        for (std::size_t c = 0; c < candidates().size(); ++c) {
            const float score = scores[c] + noise_[c];
            if (score <= most || history().known(c)) continue;
            most = score;
            found = c;
        }
        return found;
    }

    std::vector<float> noise_;
};

}  // namespace

std::unique_ptr<Strategy> make_eggroll(StrategyContext context) {
    return std::make_unique<Eggroll>(std::move(context));
}

}  // namespace yolk::autotune
