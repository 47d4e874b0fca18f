// SPDX-License-Identifier: Apache-2.0
// The pure parts: schemas, delays, backoffs, buckets, excerpts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rate_limit.hpp"
#include "retry.hpp"
#include "text.hpp"
#include "yolk/internal/chat/schema.hpp"
#include "yolk/json.hpp"

namespace yolk::chat {
namespace {

Schema order() {
    return doc({{"name", str("who")},
                {"size", one_of({"small", "large"})},
                {"items", list_of(doc({{"count", integer()}, {"price", number()}, {"gift", boolean()}}))}});
}

TEST(schema, it_becomes_a_strict_json_schema) {
    EXPECT_EQ(to_line(to_json_schema(doc({{"n", integer("how many")}, {"w", one_of({"a"})}, {"l", list_of(str())}}))),
              R"({"type":"object","properties":{"n":{"description":"how many","type":"integer"},)"
              R"("w":{"type":"string","enum":["a"]},"l":{"type":"array","items":{"type":"string"}}},)"
              R"("required":["n","w","l"],"additionalProperties":false})");
}

TEST(schema, a_reply_is_read_in_the_schemas_order) {
    const Result<Json> value =
        parse_reply(order(), R"({"items":[{"price":2,"gift":true,"count":3.0}],"size":"large","name":"x"})");
    ASSERT_TRUE(value) << value.error().message;
    EXPECT_EQ(to_line(*value), R"({"name":"x","size":"large","items":[{"count":3,"price":2.0,"gift":true}]})");
}

TEST(schema, what_is_wrong_is_named_by_its_path) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"not json", "not valid JSON: column 2: invalid literal. It begins: 'not json'"},
        {"[]", "at $ an object is wanted"},
        {R"({"name":1,"size":"large","items":[]})", "at $.name a string is wanted, and there is '1'"},
        {R"({"name":"x","size":"huge","items":[]})", "at $.size one of 'small', 'large' is wanted"},
        {R"({"name":"x","items":[]})", "at $ the field 'size' is missing"},
        {R"({"name":"x","size":"large","items":[{"count":1.5,"price":1,"gift":true}]})", "at $.items[0].count"},
        {R"({"name":"x","size":"large","items":[{"count":9223372036854775808,"price":1,"gift":true}]})", "64 bits"},
        {R"({"name":"x","size":"large","items":[],"more":1})", "'more', which the schema does not have"}};
    for (const auto& [reply, part] : cases) {
        const Result<Json> value = parse_reply(order(), reply);
        ASSERT_FALSE(value) << reply;
        EXPECT_EQ(value.error().kind, ErrorKind::Failed);
        EXPECT_THAT(value.error().message, testing::HasSubstr(part));
    }
}

TEST(schema, a_schema_that_cannot_be_asked_for_is_refused) {
    for (const Schema& wrong : {str(), doc({}), doc({{"", str()}}), doc({{"a", str()}, {"a", str()}}),
                                doc({{"a", one_of({})}}), doc({{"a", one_of({"x", "x"})}}), doc({{"a", str("\xff")}})})
        EXPECT_EQ(check_schema(wrong).error().kind, ErrorKind::BadInput);
    EXPECT_TRUE(check_schema(order()));
}

TEST(retry, the_servers_delay_is_read_in_every_form) {
    const std::int64_t now = 784111770;  // 7 s before the date below
    EXPECT_EQ(server_delay({{"retry-after", "12"}}, now), 12.0);
    EXPECT_EQ(server_delay({{"retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"}}, now), 7.0);
    EXPECT_EQ(server_delay({{"retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"}}, now + 100), 0.0);
    EXPECT_EQ(server_delay({{"retry-after-ms", "1500"}, {"retry-after", "9"}}, now), 1.5);
    EXPECT_EQ(server_delay({{"x-ratelimit-reset-requests", "2s"}, {"x-ratelimit-reset-tokens", "6m0s"}}, now), 360.0);
    EXPECT_EQ(server_delay({{"x-ratelimit-remaining-tokens", "5"}, {"x-ratelimit-reset-tokens", "6m0s"}}, now),
              std::nullopt);
    EXPECT_EQ(server_delay({{"retry-after-ms", "0"}, {"retry-after", "9"}}, now), 9.0);
    EXPECT_EQ(server_delay({{"retry-after", "0"}, {"x-ratelimit-reset-tokens", "3s"}}, now), 3.0);
    EXPECT_EQ(server_delay({{"retry-after-ms", "0"}, {"retry-after", "soon"}}, now), 0.0);
    EXPECT_EQ(server_delay({{"retry-after", "soon"}}, now), std::nullopt);
    EXPECT_EQ(server_delay({{"retry-after", "-5"}}, now), std::nullopt);
    EXPECT_EQ(parse_duration("20ms"), 0.02);
    EXPECT_EQ(parse_duration("1h2m3.5s"), 3723.5);
    EXPECT_EQ(parse_duration("3 apples"), std::nullopt);
}

TEST(retry, backoffs_double_within_their_jitter_and_are_drawn_again_alike) {
    const BackoffRule rule{.first_seconds = 1.0, .most_seconds = 8.0, .seed = 5};
    for (std::uint32_t attempt = 1; attempt < 70; ++attempt) {
        const double whole = attempt < 4 ? static_cast<double>(1U << (attempt - 1)) : 8.0;
        for (std::uint64_t call = 0; call < 20; ++call) {
            const double seconds = backoff_seconds(rule, call, attempt);
            EXPECT_GE(seconds, 0.5 * whole);
            EXPECT_LE(seconds, whole);
            EXPECT_EQ(seconds, backoff_seconds(rule, call, attempt));
        }
    }
    EXPECT_NE(backoff_seconds(rule, 0, 1), backoff_seconds(rule, 1, 1));
    EXPECT_NE(backoff_seconds(rule, 0, 1), backoff_seconds({.first_seconds = 1.0, .seed = 6}, 0, 1));
}

TEST(rate_limit, a_bucket_gives_one_seconds_worth_and_then_its_rate) {
    TokenBucket bucket(120.0, 0.0);
    bucket.take(1.0, 0.0);
    EXPECT_EQ(bucket.wait_seconds(1.0, 0.0), 0.0);
    bucket.take(1.0, 0.0);
    EXPECT_EQ(bucket.wait_seconds(1.0, 0.0), 0.5);
    EXPECT_EQ(bucket.wait_seconds(1.0, 0.5), 0.0);
    bucket.take(10.0, 1.0);  // below zero: 2 - 10
    EXPECT_EQ(bucket.wait_seconds(100.0, 1.0), 5.0);
}

TEST(rate_limit, tokens_are_estimated_and_then_corrected) {
    RateLimit limit(std::nullopt, 600.0, 0.0);  // ten a second
    EXPECT_EQ(limit.wait_seconds(10.0, 0.0), 0.0);
    limit.take(4.0, 0.0);
    EXPECT_DOUBLE_EQ(limit.wait_seconds(10.0, 0.0), 0.4);
    limit.correct(16.0, 0.0);  // the answer took 20
    EXPECT_DOUBLE_EQ(limit.wait_seconds(1.0, 0.0), 1.1);
    limit.correct(-20.0, 0.0);  // another took 20 fewer than was thought; no more than a second's worth comes back
    EXPECT_EQ(limit.wait_seconds(10.0, 0.0), 0.0);
    limit.take(10.0, 0.0);
    EXPECT_DOUBLE_EQ(limit.wait_seconds(5.0, 0.0), 0.5);
}

TEST(rate_limit, both_limits_hold) {
    RateLimit limit(60.0, 600.0, 0.0);  // one request and ten tokens a second
    limit.take(1.0, 0.0);
    EXPECT_DOUBLE_EQ(limit.wait_seconds(1.0, 0.0), 1.0);
    limit.take(30.0, 1.0);
    EXPECT_DOUBLE_EQ(limit.wait_seconds(1.0, 1.0), 2.1);
}

TEST(text, excerpts_are_cut_between_characters) {
    EXPECT_EQ(excerpt(""), "'' (nothing)");
    EXPECT_EQ(excerpt("a\nb\x01\xff"),
              "'a b?"
              "?'");
    EXPECT_EQ(excerpt("\xc3\xa4\xc3\xa4", 3), "'\xc3\xa4'...");
    EXPECT_TRUE(is_utf8("\xf0\x9f\x98\x80"));
    EXPECT_FALSE(is_utf8("\xed\xa0\x80"));
    EXPECT_FALSE(is_utf8("\xc0\xaf"));
}

}  // namespace
}  // namespace yolk::chat
