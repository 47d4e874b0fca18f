// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/parameters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "yolk/internal/hyper/hyperfunction.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

enum class Style { Short, Long, Rhyme };
struct Knobs {
    double rate = 0.01;
    std::int64_t depth = 3;
    bool careful = true;
    Style style = Style::Long;
    static FieldsOf<Knobs> fields() {
        return {field_of("rate", &Knobs::rate).between(1e-4, 1.0).log(), field_of("depth", &Knobs::depth).between(1, 9),
                field_of("careful", &Knobs::careful), choice_of("style", &Knobs::style, {"short", "long", "rhyme"})};
    }
};

const auto kKnobs = hyperfunction("knobs", Knobs{}, [](const Knobs& knobs, double x) { return knobs.rate * x; });
std::span<const Field> knob_fields() { return kKnobs.parts().spec.fields; }

TEST(parameters, language_model_parameters_are_five_numbers_and_back) {
    const LmParam given{.temperature = 0.25,
                        .top_p = 0.5,
                        .presence_penalty = -1.5,
                        .frequency_penalty = 1.0,
                        .max_tokens_fraction = 0.125};
    const auto function = hyperfunction("lm", given, [](const LmParam& p, double x) { return p.temperature + x; });
    EXPECT_THAT(function.parts().values.values(), ElementsAre(0.25F, 0.5F, -1.5F, 1.0F, 0.125F));
    ASSERT_OK_AND_ASSIGN(const LmParam again, function.from_values(function.parts().values));
    EXPECT_EQ(again.temperature, given.temperature);
    EXPECT_EQ(again.frequency_penalty, given.frequency_penalty);
    EXPECT_EQ(again.max_tokens_fraction, given.max_tokens_fraction);
    EXPECT_EQ(LmParam{}.max_tokens(), 1024);
    EXPECT_EQ(LmParam{.max_tokens_fraction = 0.0}.max_tokens(), 1);
}

TEST(parameters, coordinates_of_equal_reach) {
    const std::vector<float> natural{0.01F, 3.0F, 1.0F, 1.0F};
    ASSERT_EQ(coordinate_count(knob_fields()), 6U);
    const std::vector<float> coordinates = to_coordinates(knob_fields(), natural);
    EXPECT_NEAR(coordinates[0], -1.0, 1e-6) << "a log scale: the middle of 1e-4 ... 1 is two halves below 0";
    EXPECT_THAT(std::vector<float>(coordinates.begin() + 1, coordinates.end()),
                ElementsAre(0.3F, 0.1F, 0.0F, 0.1F, 0.0F))
        << "1 ... 9 in steps of .1; a boolean flips at .05, a choice leads by .1";
    const std::vector<float> again = to_natural(knob_fields(), coordinates);
    EXPECT_NEAR(again[0], 0.01F, 1e-8);
    EXPECT_THAT(std::vector<float>(again.begin() + 1, again.end()), ElementsAre(3.0F, 1.0F, 1.0F));
}

TEST(parameters, decoding_keeps_the_bounds) {
    const float far = 1e6F;
    EXPECT_THAT(to_natural(knob_fields(), std::vector<float>{far, far, far, 0.0F, 0.0F, far}),
                ElementsAre(1.0F, 9.0F, 1.0F, 2.0F));
    const std::vector<float> low = to_natural(knob_fields(), std::vector<float>{-far, -far, -far, 0.05F, 0.05F, 0.0F});
    EXPECT_THAT(low, ElementsAre(1e-4F, 1.0F, 0.0F, 0.0F)) << "of equal choices the first";
    std::vector<float> coordinates{far, -far, far, far, -far, 0.05F};
    std::size_t next = 0;
    for (const auto& [lower, upper] : coordinate_bounds(knob_fields())) {
        coordinates.at(next) = std::clamp(coordinates.at(next), lower, upper);
        ++next;
    }
    EXPECT_EQ(next, coordinates.size());
    EXPECT_NEAR(coordinates[0], 0.0F, 1e-6);
    EXPECT_THAT(std::vector<float>(coordinates.begin() + 1, coordinates.end()),
                ElementsAre(0.1F, 0.1F, 0.1F, 0.0F, 0.05F));
    EXPECT_THAT(to_natural(knob_fields(), std::vector<float>{0.0F, 0.36F, 0.0F, 0.0F, 0.0F, 0.0F}),
                ElementsAre(1.0F, 4.0F, 0.0F, 0.0F))
        << "integers are the nearest";
}

TEST(parameters, bad_fields_are_named) {
    const auto message = [](Field field) {
        const auto result = validate(std::span<const Field>(&field, 1));
        return result ? std::string() : result.error().message;
    };
    EXPECT_THAT(message({.name = "", .lower = 0.0, .upper = 1.0}), HasSubstr("no name"));
    EXPECT_THAT(message({.name = "a", .lower = 1.0, .upper = 1.0}), HasSubstr("'a' has bounds 1 to 1"));
    EXPECT_THAT(message({.name = "a", .lower = 0.0, .upper = NAN}), HasSubstr("finite"));
    EXPECT_THAT(message({.name = "a", .scale = FieldScale::Log, .initial = 1.0, .lower = 0.0, .upper = 1.0}),
                HasSubstr("above 0"));
    EXPECT_THAT(message({.name = "a", .initial = 2.0, .lower = 0.0, .upper = 1.0}), HasSubstr("the default 2"));
    EXPECT_THAT(message({.name = "a", .kind = FieldKind::Choice, .upper = 0.0}), HasSubstr("choice without any"));
    EXPECT_THAT(message({.name = "a", .kind = FieldKind::Integer, .initial = .5, .lower = 0.4, .upper = 0.6}),
                HasSubstr("no integer"));
    const std::vector<Field> twice{{.name = "a"}, {.name = "a"}};
    EXPECT_THAT(validate(twice).error().message, HasSubstr("both called 'a'"));
}

TEST(parameters, a_set_keeps_what_is_allowed) {
    ParameterSet set;
    const ParameterSpec& spec = kKnobs.parts().spec;
    ASSERT_OK(set.add(spec, kKnobs.parts().values));
    ASSERT_OK(set.add({.name = "m", .shape = {2, 3}}, Tensor::filled({2, 3}, 0.0F)));
    const auto message = [](const Result<void>& result) { return result ? std::string() : result.error().message; };
    EXPECT_THAT(message(set.add({.name = "knobs", .shape = {2, 3}}, Tensor::filled({2, 3}, 0.0F))),
                HasSubstr("one is a struct of 4 fields, the other a matrix [2, 3]"));
    EXPECT_THAT(message(set.set("knobs", Tensor::vector({2.0F, 3.0F, 1.0F, 1.0F}))),
                HasSubstr("'rate' of 'knobs' is 2; its bounds are 0.0001 to 1"));
    EXPECT_THAT(message(set.set("knobs", Tensor::vector({0.5F, 2.5F, 1.0F, 1.0F}))), HasSubstr("whole number"));
    EXPECT_THAT(message(set.set("knobs", Tensor::vector({0.5F}))), HasSubstr("Values [1] were given"));
    EXPECT_THAT(message(set.set("m", Tensor::filled({2, 3}, NAN))), HasSubstr("finite"));
    EXPECT_THAT(message(set.set("n", Tensor())), HasSubstr("registered are knobs, m"));
    EXPECT_THAT(message(set.set_optimized("n", true)), HasSubstr("no hyperfunction 'n'"));
    EXPECT_THAT(message(set.add({.name = "r", .shape = {2, 3}, .noise_rank = 33}, Tensor::filled({2, 3}, 0.0F))),
                HasSubstr("noise rank 33"));
    EXPECT_THAT(message(set.add({.name = "z", .shape = {0, 3}}, Tensor::filled({0, 3}, 0.0F))), HasSubstr("may be 0"));
    EXPECT_EQ(set.groups().size(), 2U) << "refused groups leave nothing behind";
    ParameterSet copy = set;
    ASSERT_OK(copy.set("m", Tensor::filled({2, 3}, 1.0F)));
    EXPECT_EQ(set.find("m")->values, Tensor::filled({2, 3}, 0.0F));
    EXPECT_EQ(copy.find("m")->initial, Tensor::filled({2, 3}, 0.0F));
}

TEST(parameters, declared_bounds_may_be_touched) {
    struct Narrow {
        double value = 0.1;
        static FieldsOf<Narrow> fields() { return {field_of("value", &Narrow::value).between(0.1, 0.3)}; }
    };
    const auto function = hyperfunction("narrow", Narrow{}, [](const Narrow& p) { return p.value; });
    ParameterSet set;
    ASSERT_OK(set.add(function.parts().spec, function.parts().values));
    ASSERT_OK(set.set("narrow", Tensor::vector({0.3F})));
}

TEST(parameters, first_weights_have_unit_variance_per_output) {
    const ParameterSpec spec{.name = "w", .shape = {64, 100}};
    const Tensor weights = initial_weights(spec, 7);
    double sum = 0.0;
    for (const float w : weights.values()) sum += double{w} * w;
    EXPECT_NEAR(sum / 64.0, 1.0, 0.1) << "summed over the inputs of an output";
    EXPECT_EQ(initial_weights(spec, 7), weights);
    EXPECT_FALSE(initial_weights(spec, 8) == weights);
    EXPECT_FALSE(initial_weights({.name = "v", .shape = {64, 100}}, 7) == weights);
    EXPECT_EQ(initial_weights({.name = "b", .shape = {4}}, 7), Tensor::filled({4}, 0.0F));
}

}  // namespace
}  // namespace yolk::hyper
