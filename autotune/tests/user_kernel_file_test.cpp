// SPDX-License-Identifier: Apache-2.0
#include "user_kernel_file.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>

#include "yolk/json.hpp"

namespace yolk::autotune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

Json good_space() {
    return Json::parse(R"json({
        "parameters": {"wx": {"values": [64, 16, 32], "constant_id": 0},
                       "mode": {"values": ["slow", "fast"], "define": "MODE"},
                       "scale": {"values": [0.5, 1], "constant_id": 1}},
        "constraints": ["wx <= n"],
        "default": {"wx": 32, "scale": 1},
        "sizes": {"n": 1000, "m": "2 * n"},
        "buffers": [{"name": "a", "binding": 0, "type": "f32", "elements": "n", "role": "input",
                     "content": {"ramp": [1, 0.5]}},
                    {"name": "b", "binding": 1, "type": "i32", "elements": "m", "role": "output"}],
        "push_constants": [{"type": "u32", "value": "n"}],
        "dispatch": ["ceil_div(n, wx)"]})json");
}

Result<KernelSpace> parse(const Json& json) { return parse_kernel_space(json.dump(), "space.json", "/nonexistent"); }

/// What is said of a space with one thing changed.
std::string told(const char* pointer, const Json& value) {
    Json json = good_space();
    json[Json::json_pointer(pointer)] = value;
    const Result<KernelSpace> space = parse(json);
    return space ? "nothing" : space.error().message;
}
std::string told_without(const char* pointer, const char* key) {
    Json json = good_space();
    json[Json::json_pointer(pointer)].erase(key);
    const Result<KernelSpace> space = parse(json);
    return space ? "nothing" : space.error().message;
}

TEST(user_kernel_file, is_read) {
    const Result<KernelSpace> space = parse(good_space());
    ASSERT_TRUE(space) << space.error().message;
    EXPECT_THAT(space->scope, ElementsAre("wx", "mode", "scale", "n", "m"));
    EXPECT_THAT(space->sizes, ElementsAre(1000, 2000));
    EXPECT_EQ(to_text(space->parameters[0].values[0]), "16");    // ascending
    EXPECT_EQ(to_text(space->parameters[1].values[0]), "slow");  // as given
    EXPECT_THAT(space->defaults,
                ElementsAre(std::pair<std::size_t, std::size_t>{0, 1}, std::pair<std::size_t, std::size_t>{2, 1}));
    ASSERT_THAT(space->buffers, SizeIs(2));
    EXPECT_EQ(space->buffers[1].elements, 2000U);
    EXPECT_EQ(space->buffers[1].tolerance.absolute, 0.0);  // integers are exact
}

TEST(user_kernel_file, sizes_do_not_change_its_identity) {
    Json other = good_space();
    other["sizes"]["n"] = 2000;
    EXPECT_EQ(parse(good_space())->identity, parse(other)->identity);
    other["constraints"] = Json::array();
    EXPECT_NE(parse(good_space())->identity, parse(other)->identity);
}

TEST(user_kernel_file, mistakes_are_told_with_their_place) {
    EXPECT_THAT(parse_kernel_space("{", "space.json", "").error().message, HasSubstr("space.json"));
    EXPECT_THAT(told("/colour", 1), HasSubstr("space.json: it has 'colour'; there are name, parameters"));
    EXPECT_THAT(told("/parameters/wx/step", 1), HasSubstr("space.json.parameters.wx: it has 'step'"));
    EXPECT_THAT(told("/parameters/wx/values", Json::array()), HasSubstr("a list of 1 to"));
    EXPECT_THAT(told("/parameters/wx/values", Json::array({1, "a"})), HasSubstr("different kinds"));
    EXPECT_THAT(told("/parameters/wx/values", Json::array({1, 2, 1})), HasSubstr("1 is there twice"));
    EXPECT_THAT(told("/parameters/wx/values", Json::array({UINT64_MAX})), HasSubstr("63 bits"));
    EXPECT_THAT(told("/parameters/wx/constant_id", 1), HasSubstr("constant 1 is"));
    EXPECT_THAT(told("/parameters/mode/constant_id", 7), HasSubstr("text cannot be a specialization constant"));
    EXPECT_THAT(told("/parameters/mode/define", "A B"), HasSubstr("not a valid macro name"));
    EXPECT_THAT(told("/parameters/n", Json{{"values", {1}}, {"constant_id", 9}}), HasSubstr("'n' is there twice"));
    EXPECT_THAT(told("/parameters/min", Json{{"values", {1}}, {"constant_id", 9}}), HasSubstr("word of expressions"));
    EXPECT_THAT(told("/parameters/idle", Json{{"values", {1, 2}}}), HasSubstr("it has no effect"));
    EXPECT_THAT(told("/constraints/0", "wx"), HasSubstr("constraints[0]: 'wx' is 16; a condition"));
    EXPECT_THAT(told("/constraints/0", "wz < 2"), HasSubstr("'wz', which is neither a parameter nor a size"));
    EXPECT_THAT(told("/default/wx", 65), HasSubstr("65 is not one of the parameter's values"));
    EXPECT_THAT(told("/default/wz", 65), HasSubstr("no parameter of this name"));
    EXPECT_THAT(told("/sizes/m", "wx * 2"), HasSubstr("uses the parameter 'wx'; a size must be the same"));
    EXPECT_THAT(told("/sizes/m", -1), HasSubstr("from 0 on"));
    EXPECT_THAT(told_without("", "buffers"), HasSubstr("it needs 'buffers'"));
    EXPECT_THAT(told_without("", "dispatch"), HasSubstr("it needs 'dispatch'"));
    EXPECT_THAT(told("/dispatch", Json::array({1, 1, 1, 1})), HasSubstr("a list of 4"));
    EXPECT_THAT(told("/push_constants/0/type", "f16"), HasSubstr("no type 'f16'; there are f32, i32, u32"));
    EXPECT_THAT(told("/optimize", 1), HasSubstr("true or false is expected"));
}

TEST(user_kernel_file, mistakes_in_buffers_are_told_with_their_place) {
    EXPECT_THAT(told("/buffers/0/elements", "wx"), HasSubstr("buffers[0].elements: 'wx' uses the parameter"));
    EXPECT_THAT(told("/buffers/0/elements", 0), HasSubstr("0 elements"));
    EXPECT_THAT(told("/buffers/0/elements", "n * 9000000000000000000"), HasSubstr("more than 64 bits"));
    EXPECT_THAT(told("/buffers/0/elements", INT64_MAX), HasSubstr("less than 2^64 bytes"));
    EXPECT_THAT(told("/buffers/0/binding", 1), HasSubstr("binding 1 is 'a' already"));
    EXPECT_THAT(told("/buffers/0/binding", 32), HasSubstr("0 to 31"));
    EXPECT_THAT(told("/buffers/0/role", "inout"), HasSubstr("there are input, output, in_out, scratch"));
    EXPECT_THAT(told_without("/buffers/0", "content"), HasSubstr("need 'content'"));
    EXPECT_THAT(told("/buffers/1/content", "zeros"), HasSubstr("output and scratch must not have it"));
    EXPECT_THAT(told("/buffers/0/content", "ones"), HasSubstr("it is \"zeros\" or one of"));
    EXPECT_THAT(told("/buffers/0/content", Json{{"uniform", {2, 1}}}), HasSubstr("above the upper"));
    EXPECT_THAT(told("/buffers/0/content", Json{{"file", "none.bin"}}), HasSubstr("none.bin"));
    EXPECT_THAT(told("/buffers/0/tolerance", Json{{"absolute", 1}}), HasSubstr("only roles output and in_out"));
    EXPECT_THAT(told("/buffers/1/tolerance", Json{{"absolute", -1}}),
                HasSubstr("absolute: it is -1; it must be from 0"));
    EXPECT_THAT(told("/buffers/1/tolerance", Json{{"absolute", 1e308}}), HasSubstr("every result is right"));
    EXPECT_THAT(told("/buffers/1/tolerance", Json{{"relative", 1e308}}), HasSubstr("from 0 to below 1"));
    EXPECT_THAT(told("/operations", "0 - 5"), HasSubstr("0 or more; it is -5"));
    EXPECT_THAT(told("/operations", "1 / 0"), HasSubstr("operations: "));
    EXPECT_THAT(told("/operations", "true"), HasSubstr("0 or more"));
    EXPECT_THAT(told("/buffers/1/role", "scratch"), HasSubstr("computes nothing"));
    EXPECT_THAT(told("/reference", "first"), HasSubstr("\"default\" or an object"));
    EXPECT_THAT(told("/reference", Json{{"shader", "r.comp"}, {"dispatch", {"wx"}}}), HasSubstr("uses the parameter"));
}

TEST(user_kernel_file, contents_are_what_they_are_called) {
    const auto first_of = [](ContentKind kind, oracle::ElementType element, double first, double second) {
        KernelBuffer buffer{.name = "x", .element = element, .elements = 4096};
        buffer.content = {.kind = kind, .first = first, .second = second, .seed = 3};
        const std::vector<std::byte> bytes = initial_content(buffer);
        std::vector<float> values(buffer.elements);
        for (std::size_t i = 0; i < values.size(); ++i) {
            std::int32_t word = 0;
            std::memcpy(&word, bytes.data() + 4 * i, 4);
            values[i] = element == oracle::ElementType::F32 ? std::bit_cast<float>(word) : static_cast<float>(word);
        }
        return values;
    };
    const auto ramp = first_of(ContentKind::Ramp, oracle::ElementType::F32, 1.0, 0.5);
    EXPECT_EQ(ramp[3], 2.5F);
    const auto dice = first_of(ContentKind::Uniform, oracle::ElementType::I32, 1.0, 6.0);
    EXPECT_EQ(std::ranges::min(dice), 1.0F);
    EXPECT_EQ(std::ranges::max(dice), 6.0F);
    double sum = 0.0;
    double squares = 0.0;
    for (const float value : first_of(ContentKind::Normal, oracle::ElementType::F32, 2.0, 3.0)) {
        sum += value;
        squares += static_cast<double>(value) * value;
    }
    const double mean = sum / 4096.0;
    EXPECT_NEAR(mean, 2.0, 5.0 * 3.0 / 64.0);                                     // five standard errors
    EXPECT_NEAR(squares / 4096.0 - mean * mean, 9.0, 5.0 * 9.0 * 1.4143 / 64.0);  // likewise, of a variance
}

// Whatever is done to a file: a space or a sentence.
TEST(user_kernel_file, survives_any_damage) {
    const char* const count = std::getenv("YOLK_TEST_MUTATIONS");
    const int files = count == nullptr ? 2'000 : std::atoi(count);
    const std::string whole = good_space().dump();
    std::mt19937 random(11);
    for (int i = 0; i < files; ++i) {
        std::string text = whole;
        for (auto n = 1 + random() % 3; n > 0 && !text.empty(); --n) {
            const std::size_t at = random() % text.size();
            switch (random() % 4) {
                case 0: text[at] = static_cast<char>(random() % 256); break;
                case 1: text.erase(at, 1 + random() % 8); break;
                case 2: text.insert(at, std::to_string(random())); break;
                default: text[at] = "{}[],:\"0-"[random() % 9];
            }
        }
        const Result<KernelSpace> space = parse_kernel_space(text, "space.json", "/nonexistent");
        if (!space) {
            EXPECT_FALSE(space.error().message.empty());
        }
    }
}

}  // namespace
}  // namespace yolk::autotune
