// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/tuning_table.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <random>

namespace yolk {
namespace {

using ::testing::ElementsAre;

TuningSpace space_of(std::vector<std::uint64_t> extents, std::string variant = "f32") {
    const auto legality = [](std::span<const std::uint32_t> values) -> Result<void> {
        if (values[0] * values[1] <= 64) return {};
        return bad_input("too large");
    };
    return {"thing",
            {{"tile", {1, 2, 4, 8}}, {"width", {1, 16, 32}}},
            legality,
            {.variant = std::move(variant), .extents = std::move(extents)}};
}

TuningEntry entry(std::vector<std::uint64_t> extents, std::uint32_t tile, std::uint32_t width,
                  std::string variant = "f32") {
    return {.family = "thing",
            .shape = {.variant = std::move(variant), .extents = std::move(extents)},
            .configuration = {{"width", width}, {"tile", tile}}};
}

TEST(tuning_table, buckets_are_half_octaves_and_alignments) {
    EXPECT_EQ(tuning_bucket({.variant = "v", .extents = {0, 7, 8}}), "v [0, 7, 8]");
    EXPECT_EQ(tuning_bucket({.variant = "v", .extents = {512}}), "v [512/64]");
    EXPECT_EQ(tuning_bucket({.variant = "v", .extents = {704}}), "v [512/64]");
    EXPECT_EQ(tuning_bucket({.variant = "v", .extents = {768}}), "v [724/64]");
    EXPECT_EQ(tuning_bucket({.variant = "v", .extents = {513}}), "v [512/1]");
    EXPECT_EQ(tuning_bucket({.variant = "v", .extents = {UINT64_MAX}}), "v [13043817825332783104/1]");
    EXPECT_EQ(tuning_bucket({}), " []");
}

TEST(tuning_table, distances_count_octaves_and_alignment) {
    const auto distance = [](std::vector<std::uint64_t> a, std::vector<std::uint64_t> b) {
        return tuning_distance({.variant = "v", .extents = std::move(a)}, {.variant = "v", .extents = std::move(b)});
    };
    EXPECT_EQ(distance({512, 512}, {512, 512}), 0.0);
    EXPECT_EQ(distance({512, 512}, {1024, 256}), 2.0);
    EXPECT_EQ(distance({64}, {16}), 2.5);  // two octaves, two powers of alignment
    EXPECT_EQ(distance({512}, {512, 1}), std::nullopt);
    EXPECT_EQ(distance({0}, {512}), std::nullopt);
    EXPECT_EQ(distance({0}, {0}), 0.0);
    EXPECT_EQ(tuning_distance({.variant = "a", .extents = {}}, {.variant = "b", .extents = {}}), std::nullopt);
}

TEST(tuning_table, the_same_bucket_answers_before_nearer_shapes_of_others) {
    const TuningTable table({entry({700}, 8, 1), entry({704}, 1, 16), entry({516}, 2, 16)});
    const auto answer = table.find(space_of({512}));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->source, TuningSource::Exact);
    EXPECT_THAT(answer->configuration, ElementsAre(1, 16));
    EXPECT_EQ(answer->entry->shape.extents, std::vector<std::uint64_t>{704});
}

TEST(tuning_table, the_nearest_shape_answers_where_no_bucket_does) {
    const TuningTable table({entry({4096}, 8, 1), entry({1024}, 4, 16)});
    const auto answer = table.find(space_of({512}));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->source, TuningSource::NearestShape);
    EXPECT_THAT(answer->configuration, ElementsAre(4, 16));
    EXPECT_FALSE(table.find(space_of({16})));           // six octaves away
    EXPECT_FALSE(table.find(space_of({512}, "f16")));   // another variant
    EXPECT_FALSE(TuningTable().find(space_of({512})));  // an empty table
}

TEST(tuning_table, entries_that_the_space_does_not_allow_are_misses) {
    TuningEntry unknown = entry({512}, 1, 1);
    unknown.configuration[0].first = "depth";
    TuningEntry twice = entry({512}, 1, 1);
    twice.configuration[0].first = "tile";
    TuningEntry missing = entry({512}, 1, 1);
    missing.configuration.pop_back();
    const TuningTable bad({unknown, twice, missing, entry({512}, 3, 1), entry({512}, 8, 32)});
    EXPECT_FALSE(bad.find(space_of({512})));
    const TuningTable rescued({unknown, entry({512}, 8, 32), entry({1024}, 2, 32)});
    const auto answer = rescued.find(space_of({512}));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->source, TuningSource::NearestShape);
    EXPECT_THAT(answer->configuration, ElementsAre(2, 32));
}

// Whatever is in a table, an answer is legal in the space. $YOLK_TEST_MUTATIONS tables.
TEST(tuning_table, fuzzed_entries_never_give_an_illegal_answer) {
    std::mt19937_64 random(1);
    const auto below = [&random](std::uint64_t count) { return random() % count; };
    const std::vector<std::string> names{"tile", "width", "", "Tile", "depth"};
    const std::vector<std::string> families{"thing", "thin", "", "thing2"};
    std::size_t answered = 0;
    const char* const wanted = std::getenv("YOLK_TEST_MUTATIONS");
    const int rounds = wanted == nullptr ? 3000 : std::atoi(wanted);
    for (int round = 0; round < rounds; ++round) {
        std::vector<TuningEntry> entries(below(6));
        for (TuningEntry& e : entries) {
            e.family = families[below(10) < 7 ? 0 : below(families.size())];
            e.shape.variant = below(10) < 8 ? "f32" : "f16";
            for (std::uint64_t i = below(10) < 8 ? 1 : below(4); i > 0; --i)
                e.shape.extents.push_back(below(4) == 0 ? random() : below(3000));
            for (std::uint64_t i = below(10) < 8 ? 2 : below(4); i > 0; --i) {
                const std::string& name = below(10) < 8 ? names[i % 2] : names[below(names.size())];
                e.configuration.emplace_back(name,
                                             static_cast<std::uint32_t>(below(10) < 8 ? 1U << below(6) : random()));
            }
        }
        const TuningTable table(std::move(entries));
        const TuningSpace space = space_of({below(3000)});
        if (const auto answer = table.find(space)) {
            ++answered;
            EXPECT_TRUE(space.check(answer->configuration));
        }
    }
    EXPECT_GT(answered, static_cast<std::size_t>(rounds) / 30);
}

}  // namespace
}  // namespace yolk
