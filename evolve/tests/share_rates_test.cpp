// SPDX-License-Identifier: Apache-2.0
// Shares of updates on devices whose time is simulated.
#include "share_rates.hpp"

#include <gmock/gmock.h>

#include "yolk/internal/evolve/update_shares.hpp"

namespace yolk::evolve {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

/// Updates of `items` equal parts, dealt out by the rates so far.
struct SimulatedUpdates {
    std::uint32_t items = 128;
    std::vector<double> rates{};    // by which they are shared
    std::vector<double> speeds{};   // items per second
    std::vector<double> seconds{};  // of the last one, by device
    double total = 0.0;
    ShareRates follow{};

    double update() {
        const std::vector<std::uint32_t> bounds = deal(items, rates);
        seconds.clear();
        double longest = 0.0;
        for (std::size_t d = 0; d < speeds.size(); ++d) {
            seconds.push_back((bounds[d + 1] - bounds[d]) / speeds[d]);
            longest = std::max(longest, seconds.back());
        }
        follow.took(rates, seconds);
        rates.assign(follow.next().begin(), follow.next().end());
        total += longest;
        return longest;
    }
};

TEST(share_rates, follow_what_shares_take) {
    SimulatedUpdates updates{.rates = {1.0, 1.0, 1.0}, .speeds = {1000.0, 500.0, 250.0}};
    double last = 0.0;
    for (int i = 0; i < 20; ++i) last = updates.update();
    // Each share is rounded to whole items: half an item too many on the slowest device.
    EXPECT_LE(last, 128 / 1750.0 + 0.5 / 250.0);
}

TEST(share_rates, of_a_device_that_is_left_out_stay_0) {
    ShareRates rates;
    rates.took(std::vector{4.0, 2.0, 0.0}, std::vector{1.0, 1.0, 0.0});
    EXPECT_THAT(rates.next(), ElementsAre(DoubleEq(1.0), DoubleEq(0.5), 0.0));
}

/// The smallest share takes it as long as 100 shares of the other: it has one in at most a hundredth of the time.
TEST(share_rates, a_device_too_slow_for_a_share_costs_a_hundredth) {
    SimulatedUpdates updates{.items = 2, .rates = {1.0, 0.51}, .speeds = {1000.0, 10.0}};
    EXPECT_DOUBLE_EQ(updates.update(), 0.1);
    std::uint32_t shares = 0;
    double without = 0.0;
    constexpr int kUpdates = 100000;
    for (int i = 0; i < kUpdates; ++i) {
        without += 0.002;
        updates.update();
        shares += updates.seconds[1] > 0.0 ? 1U : 0U;
    }
    EXPECT_GE(shares, 1U);
    EXPECT_LE(updates.total - 0.1, without / 0.99);
}

TEST(share_rates, a_device_that_had_no_share_gets_one_when_it_has_become_faster) {
    SimulatedUpdates updates{.items = 4, .rates = {1.0, 1.0}, .speeds = {1000.0, 10.0}};
    while (updates.update() > 0.004) {}
    EXPECT_EQ(updates.seconds[1], 0.0);
    updates.speeds[1] = 4000.0;
    double last = 0.0;
    for (int i = 0; i < 20000; ++i) last = updates.update();
    EXPECT_GT(updates.seconds[1], 0.0);
    EXPECT_LE(last, 0.001);
}

}  // namespace
}  // namespace yolk::evolve
