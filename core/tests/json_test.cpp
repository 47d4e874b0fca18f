// SPDX-License-Identifier: Apache-2.0
#include "yolk/json.hpp"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>

#include <string>

namespace yolk {
namespace {

using namespace std::string_literals;

std::string repeated(std::string_view part, std::size_t count) {
    std::string text;
    text.reserve(part.size() * count);
    for (std::size_t i = 0; i < count; ++i) text += part;
    return text;
}

/// The message of both readers, which have to say the same.
std::string refusal(std::string_view text, const JsonLimits& limits = {}) {
    const Result<Json> plain = parse_json(text, "'x.json'", limits);
    const Result<SortedJson> sorted = parse_sorted_json(text, "'x.json'", limits);
    if (plain || sorted) return "it was read";
    EXPECT_EQ(plain.error().kind, ErrorKind::BadInput);
    EXPECT_EQ(plain.error().message, sorted.error().message);
    return plain.error().message;
}

TEST(json, a_document_is_what_it_says) {
    const std::string text = R"( {"z": [1, -2, 2.5, true, null, "é\"{"], "a": {"b": {}, "c": []}} )";
    const Result<Json> plain = parse_json(text, "x");
    ASSERT_TRUE(plain) << plain.error().message;
    EXPECT_EQ(plain->dump(), R"({"z":[1,-2,2.5,true,null,"é\"{"],"a":{"b":{},"c":[]}})");  // in the text's order
    EXPECT_TRUE((*plain)["z"][0].is_number_unsigned());
    const Result<SortedJson> sorted = parse_sorted_json(text, "x");
    ASSERT_TRUE(sorted);
    EXPECT_EQ(sorted->dump(), R"({"a":{"b":{},"c":[]},"z":[1,-2,2.5,true,null,"é\"{"]})");
    EXPECT_EQ(parse_json("\xEF\xBB\xBF[7]", "x").value().dump(), "[7]");  // a byte order mark
    EXPECT_EQ(parse_json("12", "x").value(), Json(12));
}

TEST(json, one_document_and_no_more) {
    EXPECT_EQ(refusal("{\"a\": 1}\n{\"a\": 2}"),
              "'x.json' is not valid JSON: line 2, column 1: unexpected '{'; expected end of input.");
    EXPECT_EQ(refusal("{\"a\": 1}\0{\"b\": 2}"s), "'x.json' is not valid JSON: column 9: a NUL byte.");
    EXPECT_EQ(refusal("[1]\n \0"s), "'x.json' is not valid JSON: line 2, column 2: a NUL byte.");
    EXPECT_EQ(refusal("{\"a\": 1,\n \"b\": {\"c\": 1, \"c\": 2}}"),
              "'x.json' names 'c' twice in one object (line 2, column 18). Keep one.");
    EXPECT_EQ(refusal("{\"a\": 1, \"\\u0061\": 1}"), "'x.json' names 'a' twice in one object (column 17). Keep one.");
    const std::string longer(100000, 'n');
    EXPECT_LT(refusal("{\"" + longer + "\":1,\"" + longer + "\":1}").size(), 200U);
    EXPECT_TRUE(parse_json(R"([{"a": 1}, {"a": 2}])", "x"));  // two objects
    for (const char* const text :
         {"", " ", "{", "[1,]", "{\"a\"}", "nul", "[1] // why", "{'a': 1}", "[1e999]", "[\"\xff\"]"})
        EXPECT_TRUE(refusal(text).starts_with("'x.json' is not valid JSON: column ")) << refusal(text);
    EXPECT_LT(refusal("{\"" + std::string(100000, 'x')).size(), 200U);  // and not quoted in full
}

TEST(json, words_for_numbers_that_are_not_finite) {
    const JsonLimits python{.non_finite_as_null = true};
    const std::string text = R"([NaN, -Infinity ,{"NaN": Infinity, "x": "say \"NaN"}, "\\", NaN])";
    EXPECT_EQ(parse_json(text, "x", python).value().dump(), R"([null,null,{"NaN":null,"x":"say \"NaN"},"\\",null])");
    EXPECT_EQ(parse_json("NaN", "x", python).value().dump(), "null");
    EXPECT_EQ(refusal(text), "'x.json' is not valid JSON: column 2: invalid literal.");
    EXPECT_EQ(refusal("[NaN,\nNaN true]", python),
              "'x.json' is not valid JSON: line 2, column 8: unexpected true literal; "
              "expected ']'.");
    EXPECT_NE(refusal("[-NaN]", python), "it was read");
    EXPECT_NE(refusal("[NaNNaN]", python), "it was read");
}

TEST(json, depth_has_a_limit) {
    EXPECT_TRUE(parse_json(std::string(64, '[') + std::string(64, ']'), "x"));
    EXPECT_EQ(refusal(std::string(65, '[') + std::string(65, ']')),
              "'x.json' nests arrays and objects more than 64 deep (column 65).");
    EXPECT_EQ(refusal(R"({"a": {"b": {}}})", {.depth = 2}),
              "'x.json' nests arrays and objects more than 2 deep (column 13).");
    EXPECT_NE(refusal(std::string(std::size_t{50} << 20U, '[')).find("more than 64 deep"), std::string::npos);
}

/// Peak resident size of this process, in bytes.
std::size_t peak_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::size_t>(usage.ru_maxrss) << 10U;
}

// Small texts that become large trees: each is refused, and what was taken until then is below the limit.
// A sanitizer keeps what is freed, and puts room around everything.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHeapIsBare = false;
#else
constexpr bool kHeapIsBare = true;
#endif

TEST(json, memory_has_a_limit) {
    const JsonLimits limits{.memory_bytes = std::size_t{32} << 20U};
    constexpr std::size_t kCount = 800'000;
    std::string names = "{";
    for (std::size_t i = 0; i < kCount / 2; ++i) names += "\"" + std::to_string(i) + "\":0,";
    const std::string texts[] = {"[" + repeated("[],", kCount),        "[" + repeated("{},", kCount),
                                 "[" + repeated("0,", kCount),         "[" + repeated("\"\",", kCount),
                                 "[" + repeated("{\"a\":0},", kCount), std::move(names)};
    for (const std::string& text : texts) {
        const std::size_t before = peak_bytes();
        EXPECT_NE(refusal(text, limits).find("takes more than 32.0 MiB of memory"), std::string::npos)
            << text.substr(0, 20);
        EXPECT_TRUE(!kHeapIsBare || peak_bytes() < before + 2 * limits.memory_bytes) << text.substr(0, 20);
    }
    EXPECT_NE(refusal("[\"" + std::string(100, 'x') + "\"]", {.memory_bytes = 200}).find("at column 103"),
              std::string::npos);
    malloc_trim(0);  // what is freed goes back: another test counts on a small heap
}

// Names are compared with all before them: that has to take no longer than sorting them.
TEST(json, an_object_of_many_names_is_read) {
    std::string text = "{";
    for (std::size_t i = 0; i < 100'000; ++i) text += "\"name" + std::to_string(i) + "\":" + std::to_string(i) + ",";
    text.back() = '}';
    const Result<Json> plain = parse_json(text, "x");
    ASSERT_TRUE(plain) << plain.error().message;
    EXPECT_EQ(plain->size(), 100'000U);
    EXPECT_EQ(plain->back(), Json(99'999));
    text.back() = ',';
    EXPECT_NE(refusal(text + "\"name7\":0}").find("names 'name7' twice"), std::string::npos);
    malloc_trim(0);
}

}  // namespace
}  // namespace yolk
