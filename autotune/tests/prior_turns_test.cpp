// SPDX-License-Identifier: Apache-2.0
#include "prior_turns.hpp"

#include <gtest/gtest.h>

namespace yolk::autotune {
namespace {

int turns_of(PriorTurns& turns, int count) {
    int mine = 0;
    for (int i = 0; i < count; ++i) mine += turns.next() ? 1 : 0;
    return mine;
}

TEST(prior_turns, come_as_often_as_the_share_says) {
    for (const double share : {0.05, 0.33, 0.5, 0.95}) {
        PriorTurns turns(share);
        EXPECT_NEAR(turns.share(), share, 1e-12);
        EXPECT_NEAR(turns_of(turns, 1000), 1000 * share, 1.0) << share;
    }
}

TEST(prior_turns, follow_who_predicts_better) {
    PriorTurns turns(0.5);
    turns.measured(-1.0, -1.0);
    EXPECT_DOUBLE_EQ(turns.share(), 0.5);
    turns.measured(0.0, -2.0);  // a probability of e to 1, by half of the two nats
    EXPECT_NEAR(turns.share(), 0.7310585786300049, 1e-12);
    turns.measured(-4.0, 0.0);  // counts as -3
    EXPECT_NEAR(turns.share(), 0.3775406687981454, 1e-12);
}

TEST(prior_turns, forget_what_is_eight_measurements_old) {
    PriorTurns turns(0.95);
    for (int i = 0; i < 8; ++i) turns.measured(-9.0, 0.0);
    EXPECT_LT(turns.share(), 0.001);
    EXPECT_EQ(turns_of(turns, 100), 0);
    for (int i = 0; i < 8; ++i) turns.measured(0.0, 0.0);
    EXPECT_NEAR(turns.share(), 0.95, 1e-12);
}

}  // namespace
}  // namespace yolk::autotune
