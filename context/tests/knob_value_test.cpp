// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/context/knob_value.hpp"

#include <gmock/gmock.h>

#include "yolk/internal/context/tuning_file.hpp"
#include "yolk/json.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

KnobValue word(std::string text) { return KnobValue(std::move(text)); }

TEST(knob_value, numbers_are_equal_whatever_they_were_read_from) {
    EXPECT_EQ(KnobValue(2), KnobValue(2.0));
    EXPECT_EQ(KnobValue(2), KnobValue(std::uint32_t{2}));
    EXPECT_NE(KnobValue(2), word("2"));
    EXPECT_EQ(KnobValue(0.5).plain(), std::nullopt);
    EXPECT_EQ(KnobValue(-1).plain(), std::nullopt);
    EXPECT_EQ(KnobValue(std::int64_t{1} << 32).plain(), std::nullopt);
    EXPECT_EQ(KnobValue(4294967295.0).plain(), 4294967295U);
    EXPECT_LT(KnobValue(-1), KnobValue(0.5));
    EXPECT_LT(KnobValue(0.5), KnobValue(1));
    EXPECT_LT(KnobValue(1e300), word("A"));
    EXPECT_FALSE(KnobValue(1) < KnobValue(1.0));
}

TEST(knob_value, goes_through_a_table_and_back) {
    const StoredConfiguration kept{{"wx", 64},     {"scale", 0.1},           {"offset", -3},
                                   {"tiny", 1e-9}, {"layout", word("ROWS")}, {"odd", word("a|b\"}{\\")}};
    const auto read = parse_configuration(configuration_text(kept));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, kept);
    EXPECT_EQ(configuration_text(StoredConfiguration{{"layout", word("ROWS")}, {"wx", 4}}),
              R"({"layout":"ROWS","wx":4})");
    for (const char* none : {R"({"a":null})", R"({"a":[1]})", R"({"a":true})", R"({"a":1e999})", "[1]", "{",
                             R"({"a":18446744073709551615})"}) {
        EXPECT_FALSE(parse_configuration(none)) << none;
    }
}

TEST(knob_value, a_listed_name_says_what_positions_stand_for) {
    const std::vector<KnobValue> values{word("ROWS"), word("a|b"),    word("0.5"),  word(""),
                                        word("\"}"),  KnobValue(0.5), KnobValue(-2)};
    const std::string name = listed_name("layout", values);
    EXPECT_THAT(name, HasSubstr("layout{ROWS|"));
    const KnobMeaning meaning = meaning_of(name);
    EXPECT_EQ(meaning.name, "layout");
    EXPECT_EQ(meaning.values, values);
    EXPECT_EQ(meaning_of("tile_m").name, "tile_m");
    EXPECT_THAT(meaning_of("tile_m").values, IsEmpty());
    for (const char* other : {"x{", "x{a", "x{1 2}", "x{\"a}", "{a}b"}) {
        EXPECT_EQ(meaning_of(other).name, other);
        EXPECT_THAT(meaning_of(other).values, IsEmpty()) << other;
    }
}

TEST(knob_value, finds_what_is_stored_in_another_list) {
    const TuningSpace before("kernel", {{"wx", {16, 64}}, {"layout{ROWS|TILES}", {0, 1}}});
    const TuningSpace after("kernel", {{"layout{COLUMNS|TILES|ROWS}", {0, 1, 2}}, {"wx", {16, 32, 64}}},
                            [](std::span<const std::uint32_t> values) -> Result<void> {
                                if (values[0] == 0 && values[1] == 16) return bad_input("Not 16 columns.");
                                return {};
                            });
    const StoredConfiguration kept = stored_configuration(before, {64, 1});
    EXPECT_EQ(values_text(kept), "wx 64, layout TILES");
    EXPECT_THAT(*configuration_in(after, kept), ElementsAre(1U, 64U));
    EXPECT_TRUE(fits(after, kept));
    EXPECT_THAT(misfit_text(after, kept), IsEmpty());
    const auto misfit = [&after](const StoredConfiguration& of) {
        EXPECT_FALSE(fits(after, of));
        return misfit_text(after, of);
    };
    EXPECT_THAT(misfit({{"wx", 64}, {"layout", word("BLOCKS")}}),
                HasSubstr("layout is BLOCKS, and the values are COLUMNS, TILES, ROWS now"));
    EXPECT_THAT(misfit({{"wx", 48}, {"layout", word("ROWS")}}), HasSubstr("wx is 48, and the values are 16, 32, 64"));
    EXPECT_THAT(misfit({{"wx", 0.5}, {"layout", word("ROWS")}}), HasSubstr("wx is 0.5"));
    EXPECT_THAT(misfit({{"wx", 64}}), HasSubstr("nothing of 'layout'"));
    EXPECT_THAT(misfit({{"wx", 64}, {"layout", word("ROWS")}, {"depth", 2}}), HasSubstr("no 'depth' any more"));
    EXPECT_THAT(misfit({{"wx", 64}, {"layout", word("ROWS")}, {"wx", 64}}), HasSubstr("twice"));
    EXPECT_THAT(misfit({{"wx", 16}, {"layout", word("COLUMNS")}}), HasSubstr("Not 16 columns."));
    EXPECT_TRUE(same_knobs(kept, {{"layout", word("X")}, {"wx", 1}}));
    EXPECT_FALSE(same_knobs(kept, {{"wx", 1}}));
    EXPECT_FALSE(plain_configuration(kept));
    EXPECT_TRUE(plain_configuration({{"wx", 64}}));
}

}  // namespace
}  // namespace yolk
