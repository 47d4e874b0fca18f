// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/tuning_space.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;
using testing::expect_error;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct TileConfig {
    std::uint32_t rows = 1;
    std::uint32_t columns = 4;
};

Result<void> at_most_eight(const TileConfig& config) {
    if (config.rows * config.columns <= 8) return {};
    return bad_input("A tile has at most 8 elements.");
}

ConfigSpace<TileConfig> tiles() {
    return {
        "tiles", {{"rows", &TileConfig::rows, {1, 2, 4, 8}}, {"columns", &TileConfig::columns, {1, 4}}}, at_most_eight};
}

TEST(tuning_space, lists_the_legal_combinations_in_order) {
    const TuningSpace space = tiles().space();
    EXPECT_EQ(space.combinations(), 8U);
    EXPECT_THAT(space.combination(3), ElementsAre(2, 4));
    EXPECT_THAT(space.all(), ElementsAre(Configuration{1, 1}, Configuration{1, 4}, Configuration{2, 1},
                                         Configuration{2, 4}, Configuration{4, 1}, Configuration{8, 1}));
}

TEST(tuning_space, refusals_name_knob_value_and_domain) {
    const ConfigSpace<TileConfig> space = tiles();
    EXPECT_TRUE(space.check(TileConfig{.rows = 8, .columns = 1}).has_value());
    EXPECT_TRUE(expect_error(space.check({.rows = 3, .columns = 1}), ErrorKind::BadInput,
                             "rows of [tiles] is 3; it may be 1, 2, 4, 8"));
    EXPECT_TRUE(expect_error(space.check({.rows = 4, .columns = 4}), ErrorKind::BadInput,
                             "rows 4, columns 4 is outside the space of [tiles]: A tile has at most 8"));
    EXPECT_TRUE(expect_error(space.space().check({1}), ErrorKind::BadInput, "has 1 values; the space has 2 knobs"));
}

TEST(tuning_space, draws_are_different_legal_and_follow_the_seed) {
    const TuningSpace space = tiles().space();
    EXPECT_THAT(space.draw(100, 1), SizeIs(6));
    EXPECT_THAT(space.draw(0, 1), IsEmpty());
    std::set<std::vector<Configuration>> orders;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const std::vector<Configuration> drawn = space.draw(3, seed);
        EXPECT_EQ(drawn, space.draw(3, seed));
        EXPECT_EQ(std::set<Configuration>(drawn.begin(), drawn.end()).size(), 3U);
        for (const Configuration& configuration : drawn) EXPECT_TRUE(space.check(configuration).has_value());
        orders.insert(drawn);
    }
    EXPECT_GT(orders.size(), 10U);
}

// A space too large to list is drawn from by trying: still different and legal.
TEST(tuning_space, a_large_space_is_drawn_from_without_listing_it) {
    std::vector<std::uint32_t> values(64);
    for (std::uint32_t i = 0; i < values.size(); ++i) values[i] = i;
    const TuningSpace space("large", {{"a", values}, {"b", values}, {"c", values}, {"d", values}},
                            [](std::span<const std::uint32_t> v) -> Result<void> {
                                if (v[0] % 2 == 0) return {};
                                return bad_input("a is even.");
                            });
    const std::vector<Configuration> drawn = space.draw(200, 7);
    EXPECT_EQ(std::set<Configuration>(drawn.begin(), drawn.end()).size(), 200U);
    EXPECT_TRUE(std::ranges::all_of(drawn, [](const Configuration& c) { return c[0] % 2 == 0; }));
}

TEST(tuning_space, a_space_without_knobs_has_one_configuration) {
    const TuningSpace space("plain", {});
    EXPECT_THAT(space.all(), ElementsAre(Configuration{}));
    EXPECT_THAT(space.draw(16, 3), ElementsAre(Configuration{}));
    EXPECT_EQ(space.text({}), "without knobs");
}

}  // namespace
}  // namespace yolk
