// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/primitives/fields.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

enum class Colour { Red, Green, Blue };
constexpr auto enum_words(Colour /*type*/) { return std::to_array<std::string_view>({"red", "green", "blue"}); }

struct PaintDesc {
    std::uint32_t members = 1;
    std::uint32_t rows = 0;
    std::uint32_t columns = 2;
    Colour colour = Colour::Green;
    bool glossy = false;
    std::uint32_t seed = 7;
    friend bool operator==(const PaintDesc&, const PaintDesc&) = default;
};

const Fields<PaintDesc>& fields() {
    static const Fields<PaintDesc> kFields{
        "paint",
        {extent<&PaintDesc::members>("members").factor(), extent<&PaintDesc::rows>("rows"),
         extent<&PaintDesc::columns>("columns"), variant<&PaintDesc::colour>("colour"),
         variant<&PaintDesc::glossy>("glossy"), variant<&PaintDesc::seed>("seed").in_no_key()}};
    return kFields;
}

std::string refusal(std::string_view text) {
    const Result<PaintDesc> parsed = fields().parse(text);
    EXPECT_FALSE(parsed) << text;
    return parsed ? std::string() : parsed.error().message;
}

TEST(fields, text_leaves_defaults_out_and_comes_back) {
    const PaintDesc plain{.rows = 4};
    EXPECT_EQ(fields().text(plain), "rows=4 columns=2");
    const PaintDesc other{
        .members = 3, .rows = 5, .columns = 7, .colour = Colour::Blue, .glossy = true, .seed = 4294967295U};
    EXPECT_EQ(fields().text(other), "members=3 rows=5 columns=7 colour=blue glossy=1 seed=4294967295");
    for (const PaintDesc& desc : {plain, other}) {
        ASSERT_OK_AND_ASSIGN(const PaintDesc parsed, fields().parse(fields().text(desc)));
        EXPECT_EQ(parsed, desc);
    }
}

TEST(fields, any_order_and_blanks_are_read) {
    ASSERT_OK_AND_ASSIGN(const PaintDesc parsed, fields().parse(" \tcolumns=7   colour=2 rows=5 "));
    EXPECT_EQ(parsed, (PaintDesc{.rows = 5, .columns = 7, .colour = Colour::Blue}));
}

TEST(fields, keys_multiply_factors_and_leave_defaults_out) {
    EXPECT_EQ(fields().key({.members = 3, .rows = 5, .seed = 9}), (TuningShape{.variant = "", .extents = {15, 2}}));
    EXPECT_EQ(fields().key({.rows = 5, .columns = 7, .colour = Colour::Red, .glossy = true}),
              (TuningShape{.variant = "colour=red glossy=1", .extents = {5, 7}}));
    EXPECT_EQ(fields().key({.members = 0xFFFFFFFFU, .rows = 0xFFFFFFFFU}).extents[0], 0xFFFFFFFE00000001U);
}

TEST(fields, keys_come_back) {
    const PaintDesc desc{.members = 3, .rows = 5, .columns = 7, .colour = Colour::Blue};
    ASSERT_OK_AND_ASSIGN(const PaintDesc back, fields().of_key(fields().key(desc)));
    EXPECT_EQ(back, (PaintDesc{.rows = 15, .columns = 7, .colour = Colour::Blue}));
    EXPECT_EQ(fields().key(back), fields().key(desc));
}

TEST(fields, keys_of_others_are_refused) {
    for (const TuningShape& key :
         {TuningShape{.variant = "", .extents = {5}}, TuningShape{.variant = "", .extents = {5, 7, 9}},
          TuningShape{.variant = "f32, logarithm", .extents = {5, 7}},
          TuningShape{.variant = "shape=round", .extents = {5, 7}},
          TuningShape{.variant = "colour=mauve", .extents = {5, 7}},
          TuningShape{.variant = "", .extents = {0x100000000U, 7}}}) {
        const Result<PaintDesc> parsed = fields().of_key(key);
        EXPECT_THAT(parsed ? std::string() : parsed.error().message, HasSubstr("paint")) << key.variant;
    }
}

TEST(fields, mistakes_are_answered_with_what_is_allowed) {
    EXPECT_THAT(refusal("rows=4 colum=2"),
                HasSubstr("paint has no field 'colum'; it has members, rows, columns, colour, "
                          "glossy, seed. Did you mean columns?"));
    EXPECT_THAT(refusal("rows=4 zzz=2"), HasSubstr("glossy, seed."));
    EXPECT_THAT(refusal("rows=4 rows=5"), HasSubstr("gives rows twice, 4 and 5"));
    EXPECT_THAT(refusal("columns=4"), HasSubstr("needs rows, above 0"));
    EXPECT_THAT(refusal("rows=0"), HasSubstr("needs rows, above 0"));
    EXPECT_THAT(refusal("rows=4 colour=mauve"), HasSubstr("colour of [paint] is mauve; it is red, green or blue"));
    EXPECT_THAT(refusal("rows=4 colour=3"), HasSubstr("colour of [paint] is 3; it is red, green or blue"));
    EXPECT_THAT(refusal("rows=4 glossy=2"), HasSubstr("glossy of [paint] is 2; it is 0 or 1"));
    EXPECT_THAT(refusal("rows=4294967296"), HasSubstr("rows of [paint] is 4294967296; it is a number below 2^32"));
    EXPECT_THAT(refusal("rows=-1"), HasSubstr("rows of [paint] is -1"));
    EXPECT_THAT(refusal("rows=4x"), HasSubstr("rows of [paint] is 4x"));
    for (const char* text : {"rows", "rows=", "=4", "rows=4 glossy"})
        EXPECT_THAT(refusal(text),
                    HasSubstr("is not name=value; paint takes members=1 rows columns=2 colour=green (red, "
                              "green or blue) glossy=0 seed=7"));
}

TEST(fields, descriptions_outside_the_ranges_are_refused) {
    EXPECT_OK(fields().check({.rows = 4}));
    const Result<void> unknown = fields().check({.rows = 4, .colour = static_cast<Colour>(9)});
    EXPECT_TRUE(
        testing::expect_error(unknown, ErrorKind::BadInput, "colour of [paint] is 9; it is red, green or blue"));
    const Fields<PaintDesc> narrow{"paint", {extent<&PaintDesc::rows>("rows").from(2, 5)}};
    EXPECT_OK(narrow.check({.rows = 5}));
    for (const std::uint32_t rows : {0U, 1U, 6U})
        EXPECT_TRUE(testing::expect_error(narrow.check({.rows = rows}), ErrorKind::BadInput, "a number from 2 to 5"));
    EXPECT_TRUE(testing::expect_error(narrow.parse("rows=6"), ErrorKind::BadInput, "rows of [paint] is 6"));
}

TEST(fields, text_that_leaves_a_field_out_may_mean_something_else) {
    const Fields<PaintDesc> other{
        "paint",
        {extent<&PaintDesc::rows>("rows").otherwise("3"), variant<&PaintDesc::glossy>("glossy").otherwise("1")}};
    ASSERT_OK_AND_ASSIGN(const PaintDesc parsed, other.parse(""));
    EXPECT_EQ(parsed, (PaintDesc{.rows = 3, .glossy = true}));
    EXPECT_EQ(other.text(PaintDesc{.rows = 3}), "rows=3 glossy=0");
    EXPECT_EQ(other.key(parsed), (TuningShape{.variant = "", .extents = {3}}));
    ASSERT_OK_AND_ASSIGN(const PaintDesc back, other.of_key(other.key({.rows = 7})));
    EXPECT_EQ(back, (PaintDesc{.rows = 7}));
}

TEST(fields, the_nearest_word) {
    const std::vector<std::string_view> names{"members", "rows", "columns", "logarithm"};
    EXPECT_EQ(nearest_word("row", names), "rows");
    EXPECT_EQ(nearest_word("log", names), "logarithm");
    EXPECT_EQ(nearest_word("colunms", names), "columns");
    EXPECT_EQ(nearest_word("xyzzy", names), "");
    EXPECT_EQ(nearest_word("", names), "");
}

TEST(fields, lists_are_as_many_extents) {
    FieldInfos known(2);
    known[0].name = "widths";
    known[0].is_list = true;
    known[1].name = "members";
    const std::vector<std::string> values{"4-64-2", "9"};
    const TuningShape key = key_of_fields(known, values);
    EXPECT_THAT(key.extents, ElementsAre(4, 64, 2, 9));
    ASSERT_OK_AND_ASSIGN(const auto back, fields_of_key("net", key, known));
    ASSERT_EQ(back.size(), 2U);
    EXPECT_EQ(back[0].value, "4-64-2");
    EXPECT_EQ(back[1].value, "9");
}

}  // namespace
}  // namespace yolk
