// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/space.hpp"

#include <gmock/gmock.h>

#include <set>

namespace yolk::autotune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Value> numbers(std::initializer_list<double> values) { return {values.begin(), values.end()}; }

/// tile {1..8} x width {1..64} x mode {a, b, c}, tile * width <= 64.
Result<Space> small_space() {
    const Parameter tile = Parameter::of("tile", numbers({1, 2, 4, 8}));
    const Parameter width = Parameter::of("width", numbers({1, 2, 4, 8, 16, 32, 64}));
    const Parameter mode = Parameter::of("mode", {std::string("a"), std::string("b"), std::string("c")});
    const auto fits = [](ChoiceView choice) { return choice[0] + choice[1] <= 6; };  // log2 of both
    return Space::create({tile, width, mode}, {{.text = "tile * width <= 64", .parameters = {0, 1}, .allows = fits}});
}

TEST(space, scale_follows_the_values) {
    EXPECT_EQ(Parameter::of("a", numbers({16, 32, 64, 128})).scale, Scale::Log);
    EXPECT_EQ(Parameter::of("a", numbers({16, 32, 48, 64, 80})).scale, Scale::Linear);
    EXPECT_EQ(Parameter::of("a", numbers({0, 1, 2, 4, 8})).scale, Scale::Linear);  // 0 has no logarithm
    EXPECT_EQ(Parameter::of("a", {1.0, std::string("fast")}).scale, Scale::Categorical);
    const Parameter sorted = Parameter::of("a", numbers({8, 1, 4, 2, 4}));
    EXPECT_EQ(sorted.values, numbers({1, 2, 4, 8}));
    EXPECT_DOUBLE_EQ(sorted.coordinate(0), 0.0);
    EXPECT_DOUBLE_EQ(sorted.coordinate(2), 2.0 / 3.0);
    EXPECT_DOUBLE_EQ(sorted.coordinate(3), 1.0);
}

// The enumeration that turns back early finds what trying every combination finds, in the same order.
TEST(space, enumeration_is_all_that_is_allowed) {
    const Result<Space> space = small_space();
    ASSERT_TRUE(space) << space.error().message;
    const Result<std::vector<std::uint16_t>> found = space->enumerate(1000);
    ASSERT_TRUE(found);
    std::vector<std::uint16_t> expected;
    for (std::uint16_t tile = 0; tile < 4; ++tile) {
        for (std::uint16_t width = 0; width < 7; ++width) {
            for (std::uint16_t mode = 0; mode < 3; ++mode) {
                if (tile + width <= 6) expected.insert(expected.end(), {tile, width, mode});
            }
        }
    }
    EXPECT_EQ(*found, expected);
    EXPECT_EQ(space->combinations(), 84U);
    const Result<std::vector<std::uint16_t>> too_many = space->enumerate(10);
    ASSERT_FALSE(too_many);
    EXPECT_THAT(too_many.error().message, HasSubstr("more than 10"));
}

TEST(space, enumeration_turns_back_early) {
    std::vector<Parameter> parameters;
    for (int p = 0; p < 12; ++p) {
        parameters.push_back(Parameter::of("p" + std::to_string(p), numbers({1, 2, 4, 8, 16, 32, 64, 128})));
    }
    std::size_t asked = 0;
    // Only one value of each pair is legal: 8^6 of 8^12 would be too many to try one by one.
    std::vector<Constraint> constraints;
    for (std::size_t p = 0; p < 12; ++p) {
        constraints.push_back({.text = "2 at most", .parameters = {p}, .allows = [&asked, p](ChoiceView choice) {
                                   ++asked;
                                   return choice[p] < (p % 4 == 0 ? 2 : 1);
                               }});
    }
    const Result<Space> space = Space::create(parameters, constraints);
    ASSERT_TRUE(space);
    const Result<std::vector<std::uint16_t>> found = space->enumerate(100);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->size(), 8U * 12U);
    EXPECT_LT(asked, 2000U);
}

TEST(space, sample_of_a_space_too_large_to_enumerate) {
    std::vector<Parameter> parameters;
    for (int p = 0; p < 9; ++p) {
        std::vector<Value> values;
        for (int v = 0; v < 64; ++v) values.emplace_back(static_cast<double>(v));
        parameters.push_back(Parameter::of("p" + std::to_string(p), std::move(values)));
    }
    const auto even = [](ChoiceView choice) { return (choice[0] + choice[8]) % 2 == 0; };
    Result<Space> space = Space::create(parameters, {{.text = "even", .parameters = {}, .allows = even}});
    ASSERT_TRUE(space) << space.error().message;
    const Result<CandidateSet> drawn = CandidateSet::of(*space, 500, 3);
    const Result<CandidateSet> again = CandidateSet::of(*space, 500, 3);
    ASSERT_TRUE(drawn) << drawn.error().message;
    EXPECT_EQ(drawn->size(), 500U);
    for (std::size_t c = 0; c < drawn->size(); ++c) {
        EXPECT_TRUE(even((*drawn)[c]));
        EXPECT_TRUE(std::ranges::equal((*drawn)[c], (*again)[c]));
    }
}

TEST(space, candidates_know_their_neighbours) {
    Result<Space> space = small_space();
    ASSERT_TRUE(space);
    const Result<CandidateSet> set = CandidateSet::of(*std::move(space), 1000, 1);
    ASSERT_TRUE(set);
    for (std::size_t c = 0; c < set->size(); ++c) {
        EXPECT_EQ(set->find((*set)[c]), c);
        std::set<std::size_t> expected;
        for (std::size_t other = 0; other < set->size(); ++other) {
            int differ = 0;
            for (std::size_t p = 0; p < 3; ++p) differ += (*set)[c][p] != (*set)[other][p] ? 1 : 0;
            if (differ == 1) expected.insert(other);
        }
        const std::vector<std::size_t> neighbours = set->neighbours(c);
        EXPECT_EQ(std::set<std::size_t>(neighbours.begin(), neighbours.end()), expected);
    }
    EXPECT_EQ(set->find(Choice{3, 6, 0}), std::nullopt);
    EXPECT_EQ(set->space().text((*set)[4]), "tile 1, width 2, mode b");
}

TEST(space, of_a_kernel_family) {
    const TuningSpace family("matmul", {{"tile", {2, 4, 8}}, {"vector", {0, 1}}},
                             [](std::span<const std::uint32_t> values) -> Result<void> {
                                 if (values[0] == 8 && values[1] == 1) return bad_input("too many registers");
                                 return {};
                             });
    Result<Space> space = space_of(family);
    ASSERT_TRUE(space) << space.error().message;
    const Result<CandidateSet> set = CandidateSet::of(*std::move(space), 100, 1);
    ASSERT_TRUE(set);
    EXPECT_EQ(set->size(), family.all().size());
    EXPECT_THAT((*set)[4], ElementsAre(2, 0));
}

TEST(space, bad_input_is_told) {
    const auto refuses = [](const Result<Space>& space, const std::string& part) {
        ASSERT_FALSE(space);
        EXPECT_EQ(space.error().kind, ErrorKind::BadInput);
        EXPECT_THAT(space.error().message, HasSubstr(part));
    };
    const Parameter good = Parameter::of("a", numbers({1, 2}));
    refuses(Space::create({}), "no parameter");
    refuses(Space::create({good, good}), "'a' is there twice");
    refuses(Space::create({Parameter::of("a", {})}), "'a' has 0 values");
    refuses(Space::create({{.name = "a", .scale = Scale::Linear, .values = numbers({2, 1})}}), "do not ascend at 1");
    refuses(Space::create({{.name = "a", .scale = Scale::Log, .values = numbers({0, 1})}}), "not above 0");
    refuses(Space::create({{.name = "a", .scale = Scale::Linear, .values = {std::string("x")}}}),
            "not a finite number");
    refuses(Space::create({good}, {{.text = "c", .parameters = {1}, .allows = {}}}), "'c' reads parameter 1 of 1");
    std::vector<Parameter> many;
    for (int p = 0; p < 63; ++p) many.push_back(Parameter::of("p" + std::to_string(p), numbers({1, 2})));
    refuses(Space::create(many), "2^63 combinations");
    Result<Space> space = Space::create({good});
    EXPECT_FALSE(CandidateSet::of(*space, std::vector<std::uint16_t>{}));
    EXPECT_FALSE(CandidateSet::of(*space, {0, 2}));
    EXPECT_FALSE(CandidateSet::of(*space, {1, 1}));
}

}  // namespace
}  // namespace yolk::autotune
