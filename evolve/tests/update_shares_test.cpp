// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/update_shares.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "yolk/internal/testing/device_test.hpp"

namespace yolk::evolve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::yolk::testing::expect_error;

ParameterTable policy_table() {
    return *ParameterTable::create({{.name = "w0", .rows = 64, .columns = 4},
                                    {.name = "b0", .rows = 64, .perturbation = Perturbation::Vector},
                                    {.name = "w1", .rows = 2, .columns = 64},
                                    {.name = "b1", .rows = 2, .perturbation = Perturbation::Vector}});
}

ParameterTable square_table(std::uint32_t side) {
    return *ParameterTable::create({{.name = "w", .rows = side, .columns = side}});
}

TEST(update_shares, follow_the_rates) {
    EXPECT_THAT(deal(100, std::vector{1.0, 3.0}), ElementsAre(0, 25, 100));
    EXPECT_THAT(deal(100, std::vector{0.0, 2.0, 0.0, 2.0, 0.0}), ElementsAre(0, 0, 50, 50, 100, 100));
    EXPECT_THAT(deal(2, std::vector{1.0, 1.0, 1.0}), ElementsAre(0, 1, 1, 2));
    EXPECT_THAT(deal(0, std::vector{1.0, 1.0}), ElementsAre(0, 0, 0));
    EXPECT_THAT(deal(7, std::vector{1e300, 1e-300}), ElementsAre(0, 7, 7));
    EXPECT_THAT(deal(1000, std::vector{0.1, 0.1, 0.1}), ElementsAre(0, 333, 667, 1000));
}

// Work of the strips: 8 of 8 each, 8 of 1, one of 64, one of 1.
TEST(update_shares, of_strips_follow_their_work) {
    const UpdateStrips strips(policy_table());
    ASSERT_EQ(strips.work_before(strips.count()), 137U);
    EXPECT_THAT(deal(strips, std::vector{1.0, 1.0}), ElementsAre(0, 13, 18));  // 69 and 68
    EXPECT_THAT(deal(strips, std::vector{1.0, 0.0}), ElementsAre(0, 18, 18));
    EXPECT_THAT(deal(strips, std::vector{1.0, 9.0}), ElementsAre(0, 2, 18));           // 13.7: 16 is nearer than 8
    EXPECT_THAT(deal(strips, std::vector{1.0, 1.0, 1.0}), ElementsAre(0, 6, 16, 18));  // 45.7 and 91.3
    EXPECT_THAT(deal(UpdateStrips(square_table(3)), std::vector{1.0, 1.0, 1.0}), ElementsAre(0, 0, 1, 1));
}

TEST(update_shares, are_of_parameters_where_strips_are_even) {
    const SharingChoice two = choose_sharing({.parameters = policy_table(), .pairs = 32768, .devices = 2});
    EXPECT_EQ(two.sharing, UpdateSharing::Parameters);
    EXPECT_THAT(two.reason, HasSubstr("50.4 % of the sums by parameters and 50.0 % by pairs"));
    EXPECT_THAT(two.reason, HasSubstr("1800 bytes come to the host, or 7200"));
    EXPECT_EQ(choose_sharing({.parameters = square_table(1024), .pairs = 2048, .devices = 8}).sharing,
              UpdateSharing::Parameters);
}

// Of three shares of the policy one has the 64 of 137 that are one strip; a single strip cannot be cut at all.
TEST(update_shares, are_of_pairs_where_they_are_not) {
    EXPECT_EQ(choose_sharing({.parameters = policy_table(), .pairs = 32768, .devices = 3}).sharing,
              UpdateSharing::Pairs);
    const ParameterTable flat = *ParameterTable::create({{.name = "w", .rows = 2, .columns = 1000}});
    EXPECT_EQ(choose_sharing({.parameters = flat, .pairs = 2048, .devices = 2}).sharing, UpdateSharing::Pairs);
    // The sums of so few pairs take less time than it takes to bring them to the host.
    EXPECT_EQ(choose_sharing({.parameters = flat, .pairs = 64, .devices = 2}).sharing, UpdateSharing::Parameters);
}

TEST(update_shares, of_float_weights_are_of_parameters) {
    const ParameterTable flat = *ParameterTable::create({{.name = "w", .rows = 2, .columns = 1000}});
    const SharingChoice choice =
        choose_sharing({.parameters = flat, .pairs = 2048, .devices = 2, .integer_weights = false});
    EXPECT_EQ(choice.sharing, UpdateSharing::Parameters);
    EXPECT_THAT(choice.reason, HasSubstr("its weights are floats"));
}

TEST(update_shares, refuse_what_is_not_a_rate) {
    const auto refused = [](std::vector<double> rates, std::string_view part) {
        return expect_error(check_rates(rates, 2), ErrorKind::BadInput, part);
    };
    EXPECT_OK(check_rates(std::vector{0.0, 1e-9}, 2));
    EXPECT_TRUE(refused({1.0}, "1 rates for 2 devices"));
    EXPECT_TRUE(refused({1.0, -1.0}, "device 1 is -1"));
    EXPECT_TRUE(refused({std::numeric_limits<double>::quiet_NaN(), 1.0}, "device 0 is nan"));
    EXPECT_TRUE(refused({std::numeric_limits<double>::infinity(), 1.0}, "device 0 is inf"));
    EXPECT_TRUE(refused({0.0, 0.0}, "nothing is left"));
}

}  // namespace
}  // namespace yolk::evolve
