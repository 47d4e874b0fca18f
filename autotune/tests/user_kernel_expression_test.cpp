// SPDX-License-Identifier: Apache-2.0
#include "user_kernel_expression.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <random>

namespace yolk::autotune {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kNames{"wx", "wy", "scale", "fast", "layout"};
const std::vector<ExpressionValue> kValues{std::int64_t{64}, std::int64_t{4}, 0.5, true, std::string("row")};

std::string value(std::string_view text) {
    const Result<Expression> parsed = Expression::parse(text, kNames);
    if (!parsed) return parsed.error().message;
    const Result<ExpressionValue> evaluated = parsed->evaluate(kValues);
    return evaluated ? to_text(*evaluated) : evaluated.error().message;
}

TEST(user_kernel_expression, computes) {
    EXPECT_EQ(value("wx * wy <= 256"), "true");
    EXPECT_EQ(value("1 + 2 * 3 - 4"), "3");
    EXPECT_EQ(value("(1 + 2) * -3"), "-9");
    EXPECT_EQ(value("100 - 10 - 1"), "89");
    EXPECT_EQ(value("7 / 2 + 7 % 4"), "6");
    EXPECT_EQ(value("wx * scale"), "32");
    EXPECT_EQ(value("7 / 2.0"), "3.5");
    EXPECT_EQ(value("1e3 + .5"), "In the expression '1e3 + .5', '.5' is at character 7 where a value is expected.");
    EXPECT_EQ(value("ceil_div(1000, wx) * wx"), "1024");
    EXPECT_EQ(value("round_up(1000, 64) + min(3, 2) + max(wy, 5) + abs(-4) + log2(wx)"), "1041");
    EXPECT_EQ(value("is_pow2(wx) and not is_pow2(wx - 1)"), "true");
    EXPECT_EQ(value("fast ? wx : wy"), "64");
    EXPECT_EQ(value("!fast || wy == 4 && wx != 4"), "true");
    EXPECT_EQ(value("layout == 'row' or false"), "true");
    EXPECT_EQ(value("2 < 3 == true"), "true");
    EXPECT_EQ(value("wx == 64.0"), "true");
}

TEST(user_kernel_expression, looks_at_one_side_only_where_that_decides) {
    EXPECT_EQ(value("fast || 1 / 0 == 1"), "true");
    EXPECT_EQ(value("fast ? 1 : 1 / 0"), "1");
    EXPECT_THAT(value("!fast || 1 / 0 == 1"), HasSubstr("divides by zero"));
}

TEST(user_kernel_expression, says_what_is_wrong) {
    EXPECT_THAT(value("wz * 2"), HasSubstr("'wz', which is neither a parameter nor a size; there are wx, wy, scale"));
    EXPECT_THAT(value("wx *"), HasSubstr("the end is at character 5 where a value"));
    EXPECT_THAT(value("wx wy"), HasSubstr("'wy' is at character 4 where an operator or the end"));
    EXPECT_THAT(value("min(1)"), HasSubstr("where ','"));
    EXPECT_THAT(value("(1"), HasSubstr("where ')'"));
    EXPECT_THAT(value("'row"), HasSubstr("ends in '"));
    EXPECT_THAT(value("12abc"), HasSubstr("a number"));
    EXPECT_THAT(value("99999999999999999999"), HasSubstr("64 bits"));
    EXPECT_THAT(value("9223372036854775807 + 1"), HasSubstr("more than 64 bits"));
    EXPECT_THAT(value("4611686018427387904 * -2 - 1"), HasSubstr("more than 64 bits"));
    EXPECT_THAT(value("abs(-9223372036854775807 - 1)"), HasSubstr("more than 64 bits"));
    EXPECT_THAT(value("(-9223372036854775807 - 1) / -1"), HasSubstr("more than 64 bits"));
    EXPECT_THAT(value("round_up(9223372036854775807, 64)"), HasSubstr("more than 64 bits"));
    EXPECT_THAT(value("scale / 0"), HasSubstr("not finite"));
    EXPECT_THAT(value("log2(0)"), HasSubstr("log2 of 0"));
    EXPECT_THAT(value("fast + 1"), HasSubstr("'true' is not a number"));
    EXPECT_THAT(value("layout == 1"), HasSubstr("different kinds"));
    EXPECT_THAT(value("wx && fast"), HasSubstr("64 is neither true nor false"));
    EXPECT_THAT(value("scale % 2"), HasSubstr("of integers"));
    EXPECT_THAT(value(std::string(200, '(') + "1"), HasSubstr("nested deeper than 64"));
    EXPECT_THAT(value(std::string(2000, ' ') + "1"), HasSubstr("1024 are allowed"));
}

TEST(user_kernel_expression, wants_conditions_and_counts) {
    const auto parse = [](const char* text) { return Expression::parse(text, kNames).value(); };
    EXPECT_THAT(parse("wx").evaluate_bool(kValues).error().message, HasSubstr("true or false"));
    EXPECT_THAT(parse("wx - 65").evaluate_count(kValues).error().message, HasSubstr("from 0 on"));
    EXPECT_THAT(parse("scale").evaluate_count(kValues).error().message, HasSubstr("integer"));
    EXPECT_EQ(parse("wx").evaluate_count(kValues).value(), 64U);
    EXPECT_TRUE(parse("wx + 1").reads(0));
    EXPECT_FALSE(parse("wx + 1").reads(1));
}

// Any text gives a value or a sentence.
TEST(user_kernel_expression, survives_any_text) {
    const char* const count = std::getenv("YOLK_TEST_MUTATIONS");
    const int texts = count == nullptr ? 20'000 : std::atoi(count);
    const std::vector<std::string> parts{"wx",  "wy",   "scale", "fast", "layout", "1",  "0",    "2.5",
                                         "'a'", "(",    ")",     "+",    "-",      "*",  "/",    "%",
                                         "<",   "<=",   "==",    "!",    "&&",     "||", "?",    ":",
                                         "min", "log2", ",",     "and",  "not",    " ",  "\xFF", "9223372036854775807"};
    std::mt19937 random(7);
    std::size_t good = 0;
    for (int i = 0; i < texts; ++i) {
        std::string text;
        for (auto n = random() % 12; n > 0; --n) text += parts[random() % parts.size()] + (random() % 2 ? " " : "");
        const Result<Expression> parsed = Expression::parse(text, kNames);
        if (!parsed) {
            EXPECT_FALSE(parsed.error().message.empty());
            continue;
        }
        const Result<ExpressionValue> evaluated = parsed->evaluate(kValues);
        good += evaluated ? 1U : 0U;
    }
    EXPECT_GT(good, 20U);
}

}  // namespace
}  // namespace yolk::autotune
