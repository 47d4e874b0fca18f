// SPDX-License-Identifier: Apache-2.0
// Host functions over users' own structs: records in the graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures.hpp"
#include "yolk/internal/hyper/hyperfunction.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Place {
    double x = 0.0;
    float y = 0.0F;
};
FieldsOf<Place> fields_of(const Place* /*type*/) { return {field_of("x", &Place::x), field_of("y", &Place::y)}; }

struct Query {
    std::string text = "where?";
    int depth = 3;
    bool careful = true;
    int style = 1;
    Place place{};
    Tensor weights = Tensor::vector({1, 2});
    static FieldsOf<Query> fields() {
        return {field_of("text", &Query::text),       field_of("depth", &Query::depth),
                field_of("careful", &Query::careful), choice_of("style", &Query::style, {"short", "long"}),
                field_of("place", &Query::place),     field_of("weights", &Query::weights)};
    }
};

struct Answer {
    std::string text{};
    double score = 0.0;
    static FieldsOf<Answer> fields() { return {field_of("text", &Answer::text), field_of("score", &Answer::score)}; }
};

struct Gain {
    double gain = 2.0;
    static FieldsOf<Gain> fields() { return {field_of("gain", &Gain::gain).between(0, 9)}; }
};

Hyperfunction<Gain> answering() {
    return hyperfunction("answering", Gain{}, [](const Gain& p, const Query& query, double bonus) {
        const double sum = query.weights.values()[0] + query.weights.values()[1];
        return Answer{query.text + (query.careful ? "!" : "?"),
                      p.gain * (query.depth + query.style + query.place.x + double{query.place.y} + sum) + bonus};
    });
}

Value without(const Value& record, const std::string& name) {
    Record::Fields fields = record.record()->fields();
    std::erase_if(fields, [&](const auto& field) { return field.first == name; });
    return Record::create(std::move(fields)).value();
}
Value with(const Value& record, const std::string& name, Value value) {
    Record::Fields fields = record.record()->fields();
    for (auto& [known, field] : fields) {
        if (known == name) field = value;
    }
    return Record::create(std::move(fields)).value();
}

TEST(host_struct, becomes_a_record_and_comes_back) {
    const Value value = to_value(Query{.depth = 5, .place = {1.5, 2.0F}});
    EXPECT_EQ(to_string(type_of(value)),
              "record {text: text, depth: integer, careful: boolean, style: text, place: record "
              "{x: number, y: number}, weights: tensor [2]}");
    EXPECT_EQ(*value.record()->find("style"), Value("long"));
    ASSERT_OK_AND_ASSIGN(const Query again, from_value<Query>(value));
    EXPECT_EQ(to_value(again), value);
    EXPECT_EQ(again.place.x, 1.5);
    ASSERT_OK_AND_ASSIGN(const Query by_index, from_value<Query>(with(value, "style", 0)));
    EXPECT_EQ(by_index.style, 0) << "a choice by its index";
}

TEST(host_struct, goes_in_and_out_of_a_host_function) {
    const auto function = answering();
    System system("asks", [=](const Inputs& in) {
        const Traced answer = function(in["query"], in["bonus"]);
        return pack({{"text", field(answer, "text")}, {"twice", field(answer, "score") * 2.0}});
    });
    ASSERT_OK_AND_ASSIGN(const Value prediction,
                         system.call({{"query", to_value(Query{.place = {1.0, 2.0F}})}, {"bonus", 0.5}}));
    // 2 (3 + 1 + 1 + 2 + 3) + .5
    EXPECT_EQ(prediction, Value(Record::create({{"text", "where?!"}, {"twice", 41.0}}).value()));
    ASSERT_OK_AND_ASSIGN(const Value alone, function.call(Gain{1.0}, {to_value(Query{}), 0.0}));
    ASSERT_OK_AND_ASSIGN(const Answer answer, from_value<Answer>(alone));
    EXPECT_EQ(answer.score, 7.0);
}

TEST(host_struct, errors_name_the_field) {
    const auto function = answering();
    const Value good = to_value(Query{});
    const auto refused = [&](const Value& query) { return refusal(function.call(Gain{}, {query, 0.0})); };
    EXPECT_THAT(refused(without(good, "depth")),
                AllOf(HasSubstr("'answering'"), HasSubstr("operand 0"), HasSubstr("no field 'depth'")));
    EXPECT_THAT(refused(with(good, "depth", "deep")),
                AllOf(HasSubstr("operand 0"), HasSubstr("field 'depth'"), HasSubstr("It is text; a number is wanted")));
    EXPECT_THAT(refused(with(good, "depth", 2.5)), HasSubstr("a whole number in range is wanted"));
    EXPECT_THAT(refused(with(good, "style", "odd")), AllOf(HasSubstr("\"odd\""), HasSubstr("short, long")));
    EXPECT_THAT(refused(with(good, "place", without(to_value(Place{}), "y"))),
                AllOf(HasSubstr("field 'place'"), HasSubstr("no field 'y'")));
    EXPECT_THAT(refused(3.0), AllOf(HasSubstr("operand 0"), HasSubstr("It is number"), HasSubstr("'text'")));
}

TEST(host_struct, of_texts_is_no_parameter) {
    System system("s", [](const Inputs& in) { return in["x"]; });
    const auto function = hyperfunction("talks", Query{}, [](const Query& p, double x) { return p.depth * x; });
    EXPECT_THAT(refusal(system.add(function)), AllOf(HasSubstr("'text'"), HasSubstr("Parameters are numbers")));
}

}  // namespace
}  // namespace yolk::hyper
