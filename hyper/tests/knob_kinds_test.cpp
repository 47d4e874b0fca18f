// SPDX-License-Identifier: Apache-2.0
// The search moves every kind of knob with its default settings, whatever the seed, from one end of a range to the
// other and back.
#include <gtest/gtest.h>

#include <cmath>

#include "learning_systems.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper::knob_kinds {
namespace {

enum class Style { Short, Long, Rhyme, Prose };

struct Knobs {
    double real = 0.0;
    int few = 0, some = 0, many = 0, powers = 1;
    bool truth = false;
    Style style = Style::Short;
    static FieldsOf<Knobs> fields() {
        return {field_of("real", &Knobs::real).between(-1.0, 1.0),
                field_of("few", &Knobs::few).between(0, 2),
                field_of("some", &Knobs::some).between(0, 9),
                field_of("many", &Knobs::many).between(0, 100),
                field_of("powers", &Knobs::powers).between(1, 4).log(),
                field_of("truth", &Knobs::truth),
                choice_of("style", &Knobs::style, {"short", "long", "rhyme", "prose"})};
    }
};

/// Minus the distance from what is wanted, in parts of each range; a wrong choice is 1 away.
double reward_of(const Knobs& knobs, const Knobs& wanted) {
    return -(std::abs(knobs.real - wanted.real) / 2.0 + std::abs(knobs.few - wanted.few) / 2.0 +
             std::abs(knobs.some - wanted.some) / 9.0 + std::abs(knobs.many - wanted.many) / 100.0 +
             std::abs(knobs.powers - wanted.powers) / 3.0 + (knobs.truth == wanted.truth ? 0.0 : 1.0) +
             (knobs.style == wanted.style ? 0.0 : 1.0));
}

class knob_kinds : public ::yolk::testing::DeviceTest {
   protected:
    /// What the default search makes of one knob, away from `start`.
    [[nodiscard]] Knobs searched(const Knobs& start, const Knobs& wanted, std::uint64_t seed) const {
        const auto knobs =
            hyperfunction("knobs", start, [wanted](const Knobs& k, double x) { return x + reward_of(k, wanted); },
                          {.optimize = true});
        System system("knobs", [=](const Inputs& in) { return knobs(in["x"]); });
        system.use(dispatcher());
        OptimizeOptions options;
        options.evolution.seed = seed;
        EXPECT_OK(system.optimize(std::vector<Example>{{{{"x", 0.0}}, 0.0}}, absolute_error(), options));
        const auto found = system.parameters(knobs);
        EXPECT_OK(found);
        return found ? *found : start;
    }
};
YOLK_FOR_EACH_DEVICE(knob_kinds);

TEST_P(knob_kinds, all_move_to_the_other_end_and_back) {
    const Knobs low{.real = -1.0};
    const Knobs high{.real = 1.0, .few = 2, .some = 9, .many = 100, .powers = 4, .truth = true, .style = Style::Prose};
    for (const auto& [from, to] : {std::pair(low, high), std::pair(high, low)}) {
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            // One knob at a time: the others are where they are wanted.
            const auto alone = [&](auto member) {
                Knobs start = to;
                start.*member = from.*member;
                return searched(start, to, seed).*member;
            };
            const double real = alone(&Knobs::real);
            EXPECT_LT(std::abs(real - to.real), std::abs(from.real - to.real)) << seed;
            EXPECT_NE(alone(&Knobs::few), from.few) << seed;
            EXPECT_NE(alone(&Knobs::some), from.some) << seed;
            EXPECT_NE(alone(&Knobs::many), from.many) << seed;
            EXPECT_NE(alone(&Knobs::powers), from.powers) << seed;
            EXPECT_EQ(alone(&Knobs::truth), to.truth) << seed;
            EXPECT_EQ(alone(&Knobs::style), to.style) << seed;
        }
    }
}

TEST_P(knob_kinds, of_a_choice_every_option_is_found_from_every_other) {
    for (int from = 0; from < 4; ++from) {
        for (int to = 0; to < 4; ++to) {
            const Knobs start{.style = Style(from)}, wanted{.style = Style(to)};
            EXPECT_EQ(searched(start, wanted, 7).style, wanted.style) << from << " to " << to;
        }
    }
}

TEST_P(knob_kinds, matrices_move_as_well) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const auto layer =
            hyperfunction("layer", MatrixWeight{.out = 1, .in = 2, .values = Tensor::filled({1, 2}, 0.0F)},
                          [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
        System system("matrix", [=](const Inputs& in) { return layer(in["x"]); });
        system.use(dispatcher());
        OptimizeOptions options;
        options.evolution.seed = seed;
        const std::vector<Example> examples{{{{"x", Tensor::vector({1.0F, 0.5F})}}, Tensor::vector({1.0F})}};
        ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, system.optimize(examples, numeric_distance(), options));
        EXPECT_GT(outcome.best_reward, 0.5 * outcome.start_reward) << seed;
    }
}

}  // namespace
}  // namespace yolk::hyper::knob_kinds
