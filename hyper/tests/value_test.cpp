// SPDX-License-Identifier: Apache-2.0
#include "yolk/tensor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "yolk/internal/testing/device_test.hpp"
#include "yolk/json.hpp"

namespace yolk::hyper {
namespace {

using ::testing::HasSubstr;

Tensor counted(Shape shape) {
    std::vector<float> values(shape.element_count().value());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    return Tensor::create(std::move(shape), std::move(values)).value();
}

TEST(value, tensors_fill_their_shape) {
    EXPECT_EQ(Tensor().shape(), Shape{0});
    const auto short_one = Tensor::create({2, 3}, {1.0F, 2.0F});
    ASSERT_FALSE(short_one);
    EXPECT_THAT(short_one.error().message, HasSubstr("[2, 3] has 6 elements; 2 were given"));
    EXPECT_EQ(Tensor::filled({2, 2}, 1.5F).values()[3], 1.5F);
    EXPECT_FALSE(Tensor::vector({0.0F}) == Tensor::vector({-0.0F})) << "the same bits, not the same number";
}

TEST(value, combines_along_a_dimension) {
    const std::vector<Tensor> pair{counted({2, 2}), counted({2, 2})};
    ASSERT_OK_AND_ASSIGN(const Tensor below, concat(pair, 0));
    EXPECT_EQ(below.shape(), (Shape{4, 2}));
    ASSERT_OK_AND_ASSIGN(const Tensor beside, concat(pair, -1));
    EXPECT_EQ(beside, Tensor::create({2, 4}, {0, 1, 0, 1, 2, 3, 2, 3}).value());
    const std::vector<Tensor> three{counted({2, 1}), counted({2, 2}), counted({2, 0})};
    ASSERT_OK_AND_ASSIGN(const Tensor mixed, concat(three, 1));
    EXPECT_EQ(mixed, Tensor::create({2, 3}, {0, 0, 1, 1, 2, 3}).value());
}

TEST(value, splits_what_was_combined) {
    for (const std::int64_t dimension : {0, 1, 2, -1, -2, -3}) {
        const auto along = static_cast<std::size_t>(dimension < 0 ? dimension + 3 : dimension);
        const Tensor whole = counted({3, 4, 5});
        const std::vector<std::uint64_t> sizes{1, 0, whole.shape()[along] - 1};
        ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> parts, split(whole, sizes, dimension));
        ASSERT_EQ(parts.size(), 3U);
        ASSERT_OK_AND_ASSIGN(const Tensor again, concat(parts, dimension));
        EXPECT_EQ(again, whole) << dimension;
    }
}

TEST(value, refuses_what_does_not_fit) {
    const auto message = [](const auto& result) { return result ? std::string() : result.error().message; };
    EXPECT_THAT(message(concat(std::vector<Tensor>{}, 0)), HasSubstr("no parts"));
    const std::vector<Tensor> unequal{counted({2, 2}), counted({2, 3})};
    EXPECT_THAT(message(concat(unequal, 0)), HasSubstr("part 1 is [2, 3], the first is [2, 2]"));
    const std::vector<Tensor> ranks{counted({2}), counted({2, 1})};
    EXPECT_THAT(message(concat(ranks, 0)), HasSubstr("part 1 is [2, 1]"));
    EXPECT_THAT(message(concat(unequal, 2)), HasSubstr("it must be from -2 to 1"));
    const Tensor whole = counted({5});
    EXPECT_THAT(message(split(whole, std::vector<std::uint64_t>{2, 2}, 0)), HasSubstr("must sum to 5"));
    EXPECT_THAT(message(split(whole, std::vector<std::uint64_t>{3, UINT64_MAX - 1, 4}, 0)), HasSubstr("must sum to 5"));
    EXPECT_THAT(message(split(whole, std::vector<std::uint64_t>{}, 0)), HasSubstr("must sum to 5"));
    EXPECT_THAT(message(split(whole, std::vector<std::uint64_t>{5}, 1)), HasSubstr("from -1 to 0"));
    EXPECT_THAT(message(Value("hello").as_number()), HasSubstr("text was given"));
    EXPECT_THAT(message(Value(counted({2})).as_number()), HasSubstr("tensor [2]"));
}

TEST(value, is_a_number_where_it_can_be) {
    EXPECT_EQ(Value(true).as_number().value(), 1.0);
    EXPECT_EQ(Value(2.5).as_number().value(), 2.5);
    EXPECT_EQ(Value(Tensor::vector({3.0F})).as_number().value(), 3.0);
}

TEST(value, goes_through_json) {
    const std::vector<Value> values{1.5,
                                    true,
                                    "text \"quoted\"",
                                    counted({2, 3}),
                                    Tensor(),
                                    counted({2, 0}),
                                    Tensor::vector({0.1F, -3e-20F, 1e30F})};
    for (const Value& value : values) {
        ASSERT_OK_AND_ASSIGN(const Json json, parse_json(to_line(to_json(value)), "a value"));
        ASSERT_OK_AND_ASSIGN(const Value again, value_from_json(json));
        EXPECT_EQ(again, value) << to_string(value);
    }
    EXPECT_EQ(to_line(to_json(Tensor::vector({0.1F}))), "[0.1]");
    for (const char* bad : {"null", "{\"a\":null}", "[null]", "[1,null]", "[[1],[null]]"})
        EXPECT_FALSE(value_from_json(Json::parse(bad))) << bad;
    for (const char* mixed : {"[1,[2]]", "[[1],[2,3]]", "[[1],2]", "[\"a\"]", "[[],[1]]"})
        EXPECT_NE(value_from_json(Json::parse(mixed)).value().list(), nullptr) << mixed << " is no tensor";
}

TEST(value, is_shown_short) {
    EXPECT_EQ(to_string(Value(counted({3, 4}))), "tensor [3, 4] (0, 1, 2, 3, 4, 5, 6, 7, ...)");
    EXPECT_EQ(to_string(Value("a\nb")), "\"a\\nb\"");
    EXPECT_EQ(to_string(type_of(Value(counted({3, 4})))), "tensor [3, 4]");
}

}  // namespace
}  // namespace yolk::hyper
