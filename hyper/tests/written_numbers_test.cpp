// SPDX-License-Identifier: Apache-2.0
// The numbers of a parameter struct reach host functions, models, programs and files as they were written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "fixtures.hpp"
#include "text_fixtures.hpp"
#include "yolk/external_program.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/seal.hpp"
#include "yolk/internal/hyper/state_file.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/json.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper::written_number_values {  // its short names are others' as well
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Knobs {
    std::int64_t big = 123456789;
    double heat = .7;
    double third = 1.0 / 3.0;
    float single = .1F;
    bool careful = true;
    int style = 1;
    static FieldsOf<Knobs> fields() {
        return {field_of("big", &Knobs::big).between(0, 1e12),  field_of("heat", &Knobs::heat).between(0, 2),
                field_of("third", &Knobs::third).between(0, 1), field_of("single", &Knobs::single).between(0, .1),
                field_of("careful", &Knobs::careful),           choice_of("style", &Knobs::style, {"short", "long"})};
    }
};
constexpr const char* kShown = "123456789 0.7 0.3333333333333333 0.1 true 1";

Hyperfunction<Knobs> shown_knobs(bool optimize = false) {
    return hyperfunction("knobs", Knobs{},
                         [](const Knobs& p, const std::string&) {
                             std::string text;
                             for (const Value& value : {Value(p.big), Value(p.heat), Value(p.third)})
                                 text += text_of(value) + " ";
                             return text + fmt::format("{} {} {}", p.single, p.careful, p.style);
                         },
                         {.optimize = optimize});
}

TEST(written_numbers, of_knobs_reach_host_functions) {
    const auto knobs = shown_knobs();
    EXPECT_EQ(knobs.call(Knobs{}, {"x"}).value(), Value(kShown));
    System system("s", [=](const Inputs& in) { return knobs(in["x"]); });
    for (const bool overlaps : {true, false}) {
        system.overlap_host_calls(overlaps);
        EXPECT_EQ(system.call({{"x", "x"}}).value(), Value(kShown));
    }
    ASSERT_OK_AND_ASSIGN(const Knobs back, system.parameters(knobs));
    EXPECT_EQ(back.big, 123456789);
    EXPECT_EQ(back.third, 1.0 / 3.0);
    // A pooled call with a time-out owns what it reads.
    const auto pooled = hyperfunction("pooled", Knobs{}, [](const Knobs& p) { return p.big; },
                                      {.host = {.timeout = std::chrono::seconds(30)}});
    System timed("t", [=](const Inputs&) { return pooled(); });
    EXPECT_EQ(*timed.call({}).value().integer(), 123456789);
}

TEST(written_numbers, of_knobs_are_checked_as_they_are) {
    System system("s", [knobs = shown_knobs()](const Inputs& in) { return knobs(in["x"]); });
    ASSERT_OK(system.add(shown_knobs()));
    ParameterSet& set = system.parameters();
    ASSERT_OK(set.set("knobs", Tensor::of_numbers({987654321, .2, .3, .1, 0, 0})));
    EXPECT_EQ(set.find("knobs")->values.numbers()[0], 987654321.0);
    EXPECT_THAT(refusal(set.set("knobs", Tensor::of_numbers({1e12 + 1, .2, .3, .1, 0, 0}))), HasSubstr("bounds"));
    EXPECT_THAT(refusal(set.set("knobs", Tensor::of_numbers({16777216.5, .2, .3, .1, 0, 0}))), HasSubstr("whole"));
    const std::vector<Field> far{{.name = "n", .kind = FieldKind::Integer, .lower = 0, .upper = 1e17}};
    EXPECT_THAT(refusal(validate(far)), HasSubstr("2^53"));
    EXPECT_FALSE(Tensor::of_numbers({123456789}) == Tensor::of_numbers({123456790})) << "of the same bits in fp32";
    EXPECT_EQ(Tensor::of_numbers({.7}), Tensor::vector({.7F}));
}

TEST(written_numbers, of_search_coordinates_keep_integers) {
    const std::vector<Field> fields{{.name = "n", .kind = FieldKind::Integer, .lower = 0, .upper = 123456789},
                                    {.name = "x", .initial = .7}};
    const std::vector<float> top{2.0F, 1.4F};  // the upper bound, and .7 of [0, 1]
    EXPECT_EQ(to_numbers(fields, top), (std::vector<double>{123456789, .7}));
}

TEST(written_numbers, reach_models) {
    const ModelServer server([](const Json& request) {
        Json settings = request;
        settings.erase("messages");
        return says(to_line(settings));
    });
    const auto sent = [&](const System::Function& function, std::map<std::string, Value> inputs) {
        System system("s", function);
        system.use(server.models());
        auto answer = system.call(inputs);
        return answer ? *answer->text() : answer.error().message;
    };
    const auto sampling = hyperfunction("sampling", LmTokenParam{.temperature = .7, .top_p = .9, .max_tokens = 321},
                                        [](const Traced& p) { return p; });
    EXPECT_THAT(sent(
                    [=](const Inputs& in) {
                        return model_call({{"user", in["x"]}}, {.sampling = sampling()});
                    },
                    {{"x", "q"}}),
                AllOf(HasSubstr("\"temperature\":0.7,"), HasSubstr("\"top_p\":0.9,"), HasSubstr(":321")));
    const auto heat = hyperfunction("heat", LmParam{.temperature = .7}, [](const Traced& p) { return index(p, 0); });
    EXPECT_THAT(sent(
                    [=](const Inputs& in) {
                        return model_call({{"user", in["x"]}}, {.temperature = heat()});
                    },
                    {{"x", "q"}}),
                HasSubstr("\"temperature\":0.7,"));
    EXPECT_THAT(sent(
                    [=](const Inputs& in) {
                        return model_call({{"user", in["x"]}},
                                          {.temperature = in["t"], .max_tokens = 77, .seed = 9007199254740993});
                    },
                    {{"x", "q"}, {"t", 1}}),
                AllOf(HasSubstr("\"temperature\":1.0,"), HasSubstr(":77"), HasSubstr("\"seed\":9007199254740993")));
}

TEST(written_numbers, reach_programs) {
    const auto fields = Knobs::fields();
    std::vector<Field> plain;
    for (const auto& field : fields) plain.push_back(field.field);
    // The line that it is given, as its answer.
    const Program echo{.command = {"/bin/sh", "-c", "cat"}, .answer = ProgramAnswer::WholeText};
    ASSERT_OK_AND_ASSIGN(const AnyHyperfunction tool, program_hyperfunction("tool", echo, plain, 2));
    System system("s", [=](const Inputs& in) { return tool(in["n"], in["x"]); });
    ASSERT_OK_AND_ASSIGN(const Value answer, system.call({{"n", 9007199254740993}, {"x", 3}}));
    EXPECT_EQ(answer, Value(R"({"parameters":{"big":123456789,"heat":0.7,"third":0.3333333333333333,"single":0.1,)"
                            R"("careful":true,"style":"long"},"operands":[9007199254740993,3]})"));
}

TEST(written_numbers, of_programs_answers_are_of_one_kind) {
    const auto answered = [](const std::string& line, std::optional<Value> like = std::nullopt) {
        const Program program{.command = {"/bin/sh", "-c", "echo '" + line + "'"}};
        const auto function = host_function_from_program("p", program, {}, {}, std::move(like));
        auto value = (*function)->run({.parameters = {}, .operands = {}, .stop = {}});
        return value ? std::string(to_string(value->kind())) + " " + text_of(*value) : value.error().message;
    };
    EXPECT_EQ(answered("1"), "number 1.0");
    EXPECT_EQ(answered("0.5"), "number 0.5");
    EXPECT_EQ(answered("9007199254740993"), "integer 9007199254740993") << "no double holds it";
    EXPECT_EQ(answered("3", Value(0)), "integer 3");
    EXPECT_EQ(answered("3.0", Value(0)), "integer 3");
    EXPECT_THAT(answered("0.5", Value(0)), HasSubstr("0.5 was given where an integer is needed"));
    EXPECT_EQ(answered(R"(["a", 1])"), R"(list ["a",1])");
}

TEST(written_numbers, stay_in_state_files) {
    const auto path = std::filesystem::temp_directory_path() / ("yolk-written-" + std::to_string(::getpid()));
    const auto knobs = shown_knobs();
    System system("s", [=](const Inputs& in) { return knobs(in["x"]); });
    ASSERT_OK(system.add(knobs));
    ASSERT_OK(save_state(system, path));
    System other("s", [=](const Inputs& in) { return knobs(in["x"]); });
    ASSERT_OK(other.add(knobs));
    ASSERT_OK(other.parameters().set("knobs", Tensor::of_numbers({5, .1, .1, .1, 0, 0})));
    ASSERT_OK(load_state(other, path));
    EXPECT_EQ(other.call({{"x", "x"}}).value(), Value(kShown));
    // A file whose numbers are not its values.
    ASSERT_OK_AND_ASSIGN(std::vector<std::byte> bytes, read_file(path, 1U << 20U));
    std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::size_t at = text.find("123456789");
    ASSERT_NE(at, std::string::npos);
    text.replace(at, 9, "123459999");
    ASSERT_TRUE(seal(std::as_writable_bytes(std::span(text))));
    ASSERT_OK(write_file_atomically(path, std::as_bytes(std::span(text))));
    EXPECT_THAT(refusal(load_state(other, path)), HasSubstr("the numbers of 'knobs' are not its values"));
    std::filesystem::remove(path);
}

using written_numbers_population = ::yolk::testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(written_numbers_population);

TEST_P(written_numbers_population, reach_the_candidates) {
    const auto knobs = shown_knobs(true);
    System system("s", [=](const Inputs& in) { return knobs(in["x"]); });
    system.use(this->dispatcher());
    ASSERT_OK(system.add(knobs));
    const std::vector<Example> examples{{{{"x", "x"}}, kShown}};
    const std::vector<Candidate> candidates{
        {.values = {{"knobs", Tensor::of_numbers({123456789, .7, 1.0 / 3.0, .1, 1, 1})}}},
        {.values = {{"knobs", Tensor::of_numbers({123456790, .7, 1.0 / 3.0, .1, 1, 1})}}}};
    ASSERT_OK_AND_ASSIGN(const PopulationEvaluation evaluation,
                         system.evaluate_population(candidates, examples, exact_match()));
    EXPECT_EQ(evaluation.rewards, (std::vector<double>{1.0, 0.0}));
}

}  // namespace
}  // namespace yolk::hyper::written_number_values
