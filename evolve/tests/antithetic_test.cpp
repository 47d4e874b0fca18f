// SPDX-License-Identifier: Apache-2.0
// What pairs of opposite noise are for: the part of the scores that is the same on both sides drops out.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "yolk/evolution.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::evolve {
namespace {

constexpr std::uint32_t kMembers = 32;
constexpr int kSeeds = 30;

class antithetic : public ::yolk::testing::DeviceTest {
   protected:
    /// The estimate for x - 10 x^2 at 0, one number: where the first step goes.
    [[nodiscard]] Result<double> estimate(bool in_pairs, std::uint64_t seed) const {
        const EvolutionOptions options{.population = kMembers,
                                       .antithetic = in_pairs,
                                       .sigma = 0.3F,
                                       .learning_rate = 1.0F,
                                       .fitness = FitnessRule::ZScore,
                                       .seed = seed,
                                       .determinism = Determinism::Fast};
        EvolutionParts parts;
        YOLK_TRY(parts.parameters, ParameterTable::create({{"x", 1, 1, Perturbation::Vector}}));
        parts.initial = {0.0F};
        YOLK_TRY(auto evaluator, host_scores_evaluator(device(), kMembers));
        for (std::uint32_t member = 0; member < kMembers; ++member) {
            const NoiseStream stream{.seed = seed,
                                     .parameter = 0,
                                     .domain = Domain::Vector,
                                     .pair = in_pairs ? member / 2 : member,
                                     .time = 0};
            const double side = in_pairs && member % 2 == 1 ? -1.0 : 1.0;
            const double x = side * 0.3 * noise_block(stream, 0)[0] / std::sqrt(85.0);
            evaluator->returns()[member] = static_cast<float>(x - 10.0 * x * x);
        }
        parts.evaluator = std::move(evaluator);
        YOLK_TRY(Evolution run, Evolution::create(device(), dispatcher(), std::move(parts), options));
        YOLK_TRY_VOID(run.step());
        return double{run.parameters()[0]};
    }
    struct Moments {
        double mean = 0.0;
        double deviation = 0.0;
    };
    [[nodiscard]] Moments over_seeds(bool in_pairs) const {
        std::vector<double> all;
        Moments moments;
        for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
            const Result<double> one = estimate(in_pairs, seed);
            EXPECT_OK(one);
            all.push_back(one.value_or(NAN));
            moments.mean += all.back() / kSeeds;
        }
        for (const double one : all) moments.deviation += (one - moments.mean) * (one - moments.mean) / (kSeeds - 1);
        moments.deviation = std::sqrt(moments.deviation);
        return moments;
    }
};
YOLK_FOR_EACH_DEVICE(antithetic);

// The even part's share of the scores' deviation is 10 sqrt(2) .3^2 = 1.27 beside .3 of the odd one. In pairs it only
// scales; alone it adds noise of 4.2 times the signal's own. Half is asked for.
TEST_P(antithetic, pairs_lower_the_deviation_of_an_estimate) {
    const Moments pairs = over_seeds(true);
    const Moments alone = over_seeds(false);
    EXPECT_GT(pairs.mean, 0.0);
    EXPECT_LT(pairs.deviation / pairs.mean, 0.5 * alone.deviation / std::abs(alone.mean));
    EXPECT_LT(pairs.deviation, alone.deviation);
}

}  // namespace
}  // namespace yolk::evolve
