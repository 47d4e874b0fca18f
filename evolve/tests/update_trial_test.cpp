// SPDX-License-Identifier: Apache-2.0
#include "update_trial.hpp"

#include <gtest/gtest.h>

namespace yolk::evolve {
namespace {

/// Makes `updates` updates, which take these times, and returns how many of them were shared.
int shared_of(UpdateTrial& trial, int updates, double on_lead, double shared) {
    int count = 0;
    for (int i = 0; i < updates; ++i) {
        count += trial.shares() ? 1 : 0;
        trial.took(trial.shares() ? shared : on_lead);
    }
    return count;
}

TEST(update_trial, takes_the_faster_way_and_looks_at_the_other_again) {
    UpdateTrial slower(UpdateBy::Measured);
    EXPECT_EQ(shared_of(slower, 6, 0.1, 0.2), 3);
    EXPECT_EQ(shared_of(slower, 200, 0.1, 0.2), 0);
    EXPECT_GE(shared_of(slower, 300, 0.1, 0.2), 1);
    EXPECT_LE(shared_of(slower, 1000, 0.1, 0.2), 10);
    UpdateTrial faster(UpdateBy::Measured);
    EXPECT_EQ(shared_of(faster, 6, 0.2, 0.1), 3);
    EXPECT_EQ(shared_of(faster, 200, 0.2, 0.1), 200);
    EXPECT_GE(shared_of(faster, 1000, 0.2, 0.1), 990);
}

TEST(update_trial, follows_times_that_change) {
    UpdateTrial trial(UpdateBy::Measured);
    shared_of(trial, 50, 0.1, 0.2);
    shared_of(trial, 600, 0.1, 0.05);
    EXPECT_GT(shared_of(trial, 100, 0.1, 0.05), 95);
}

TEST(update_trial, leaves_short_updates_alone) {
    UpdateTrial trial(UpdateBy::Measured);
    EXPECT_EQ(shared_of(trial, 1000, 0.0005, 0.0001), 0);
}

/// Sharing takes plans on all devices, and memory for them. A machine that stands still for a moment is no reason.
TEST(update_trial, does_not_try_because_of_a_few_long_updates) {
    UpdateTrial trial(UpdateBy::Measured);
    shared_of(trial, 10, 0.0005, 0.0001);
    for (int moment = 0; moment < 20; ++moment) {
        EXPECT_EQ(shared_of(trial, 4, 0.05, 0.01), 0);
        EXPECT_EQ(shared_of(trial, 1, 0.0005, 0.0001), 0);
    }
    EXPECT_GT(shared_of(trial, 20, 0.05, 0.01), 0);
}

TEST(update_trial, does_as_it_is_told) {
    UpdateTrial all(UpdateBy::All);
    EXPECT_EQ(shared_of(all, 100, 0.1, 9.0), 100);
    all.give_up();
    EXPECT_EQ(shared_of(all, 100, 0.1, 0.01), 0);
    UpdateTrial lead(UpdateBy::Lead);
    EXPECT_EQ(shared_of(lead, 100, 9.0, 0.1), 0);
}

TEST(update_trial, remembers_who_takes_no_part) {
    UpdateTrial trial(UpdateBy::All);
    EXPECT_TRUE(trial.takes_part(2));
    trial.leave_out(2);
    EXPECT_FALSE(trial.takes_part(2));
    EXPECT_TRUE(trial.takes_part(1));
    EXPECT_TRUE(trial.shares());
}

}  // namespace
}  // namespace yolk::evolve
