// SPDX-License-Identifier: Apache-2.0
// What other tools write into recordings, and what a recording must not have.
#include <gmock/gmock.h>

#include <fmt/format.h>
#include <map>

#include "yolk/internal/autotune/recorded_surface.hpp"
#include "yolk/internal/autotune/surface.hpp"

namespace yolk::autotune {
namespace {

using ::testing::HasSubstr;

/// "8 true" -> cost: the values of a configuration in the order of the surface's parameters.
using Costs = std::map<std::string, double>;

Costs costs_of(const RecordedSurface& surface) {
    Costs costs;
    for (std::size_t c = 0; c < surface.candidates().size(); ++c) {
        std::string text;
        for (std::size_t p = 0; p < surface.candidates().dimensions(); ++p) {
            const auto& values = surface.candidates().space().parameters()[p].values;
            text += (p == 0 ? "" : " ") + to_text(values[surface.candidates()[c][p]]);
        }
        costs[text] = surface.costs()[c];
    }
    return costs;
}

Costs read(const std::string& text, const RecordingOptions& options = {}) {
    const Result<RecordedSurface> surface = RecordedSurface::parse(text, "'x'", options);
    EXPECT_TRUE(surface) << text << "\n" << surface.error().message;
    return surface ? costs_of(*surface) : Costs();
}

std::string refusal(const std::string& text, const RecordingOptions& options = {}) {
    const Result<RecordedSurface> surface = RecordedSurface::parse(text, "'x'", options);
    EXPECT_FALSE(surface) << text;
    if (surface) return {};
    EXPECT_EQ(surface.error().kind, ErrorKind::BadInput);
    return surface.error().message;
}

/// A cache of parameter a with these entries.
std::string cache(const std::string& entries, const std::string& head = "") {
    return R"({"tune_params_keys": ["a"], "tune_params": {"a": [1, 2, 4]}, )" + head + R"("cache": {)" + entries + "}}";
}

TEST(recorded_formats, failures_as_kernel_tuner_has_them) {
    EXPECT_EQ(read(cache(R"("1": {"a": 1, "time": 2.5}, "2": {"a": 2, "__error__": "CompilationFailedConfig"},
                            "4": {"a": 4, "time": NaN})")),
              (Costs{{"1", 2.5}, {"2", kInvalidCost}, {"4", kInvalidCost}}));
    EXPECT_EQ(
        read(cache(R"("1": {"a": 1, "time": 2.5, "__error__": null, "temperature": NaN, "times": [Infinity, -Infinity]},
                            "2": {"a": 2, "time": 1, "__error__": "RuntimeFailedConfig"}, "4": {"a": 4, "time": null})")),
        (Costs{{"1", 2.5}, {"2", kInvalidCost}, {"4", kInvalidCost}}));
    EXPECT_THAT(refusal(cache(R"("1": {"a": 1, "time": 1}, "2": {"a": 2})")),
                HasSubstr("configuration 2: there is no 'time'"));
}

TEST(recorded_formats, what_is_to_be_maximised_is_maximised) {
    const std::string entries = R"("1": {"a": 1, "time": 4, "GFLOP/s": 250, "score": 3, "watts": 9},
                                   "2": {"a": 2, "time": 8, "GFLOP/s": 500, "score": 4, "watts": 5},
                                   "4": {"a": 4, "time": "RuntimeFailedConfig"})";
    const Costs by_rate{{"1", 1.0 / 250.0}, {"2", 1.0 / 500.0}, {"4", kInvalidCost}};
    EXPECT_EQ(read(cache(entries, R"("objective": "GFLOP/s", )")), by_rate);
    EXPECT_EQ(read(cache(entries, R"("objective": ["GFLOP/s"], )")), by_rate);
    EXPECT_EQ(read(cache(entries), {.objective = "GFLOP/s"}), by_rate);
    EXPECT_EQ(read(cache(entries, R"("objective": "score", )")).at("2"), 0.25);
    EXPECT_EQ(read(cache(entries, R"("objective": "GFLOP/s", )"), {.objective = "time"}).at("1"), 4.0);
    EXPECT_THAT(refusal(cache(entries, R"("objective": "watts", )")),
                HasSubstr("whether more of that is better is not known. Say --objective max:watts or min:watts"));
    EXPECT_EQ(read(cache(entries, R"("objective": "watts", )"), {.objective = "min:watts"}).at("1"), 9.0);
    EXPECT_EQ(read(cache(entries), {.objective = "max:watts"}).at("1"), 1.0 / 9.0);
    EXPECT_THAT(refusal(cache(entries, R"("objective": ["time", "energy"], )")),
                HasSubstr("Choose one by --objective"));
    EXPECT_THAT(refusal(cache(R"("1": {"a": 1, "score": -3})", R"("objective": "score", )")),
                HasSubstr("configuration 1: its score is -3"));
    // Elsewhere.
    EXPECT_EQ(read(R"({"results": [{"configuration": {"a": 1}, "objectives": ["GFLOP/s"], "times": {"runtimes": [7]},
                       "measurements": [{"name": "time", "value": 7}, {"name": "GFLOP/s", "value": 250}]}]})"),
              (Costs{{"1", 1.0 / 250.0}}));
    EXPECT_THAT(refusal(R"({"results": [{"configuration": {"a": 1}, "objectives": ["GFLOP/s"],
                            "times": {"runtimes": [7]}}]})"),
                HasSubstr("no measurement of its objective 'GFLOP/s'"));
    EXPECT_EQ(read("a,GFLOP/s\n1,250\n2,500\n", {.objective = "GFLOP/s"}),
              (Costs{{"1", 1.0 / 250.0}, {"2", 1.0 / 500.0}}));
    EXPECT_EQ(read(R"([{"a": 1, "score": 5}])", {.objective = "score"}), (Costs{{"1", 0.2}}));
}

TEST(recorded_formats, several_measurements_of_one_configuration_have_the_median) {
    EXPECT_EQ(read(R"([{"a": 1, "time": 1}, {"a": 2, "time": 9}, {"a": 1, "time": 4}, {"a": 1, "time": 2}])"),
              (Costs{{"1", 2.0}, {"2", 9.0}}));
    EXPECT_EQ(read("a,time\n1,3\n1,failed\n2,4\n"), (Costs{{"1", kInvalidCost}, {"2", 4.0}}));
}

TEST(recorded_formats, values_of_parameters_of_any_kind) {
    EXPECT_EQ(read(R"x({"tune_params_keys": ["a", "b"], "cache": {
                       "x": {"a": null, "b": [8, 4], "time": 1}, "y": {"a": true, "b": {"k": 1}, "time": 2},
                       "None,(8, 4)": {"time": 3}, "3,[16, 'p, q']": {"time": 4}, "None,(8,)": {"time": 5}}})x"),
              (Costs{{"None [8,4]", 2.0}, {"1 {\"k\":1}", 2.0}, {"3 [16,\"p, q\"]", 4.0}, {"None [8]", 5.0}}));
    EXPECT_EQ(read("a,b,time\n\"(8, 4)\",\"say \"\"x\"\"\",1\n"), (Costs{{"[8,4] say \"x\"", 1.0}}));
}

TEST(recorded_formats, ktt_and_clblast) {
    // Counters and the compiler's words are no parameters.
    EXPECT_EQ(read("Kernel name,Computation duration (us),Global size,Local size,block,width,dram__sectors_read.sum,"
                   "Maximum work-group size,Registers count\nk,77.4,1048576,32,32,4,262299,1024,12\n"
                   "k,63.5,1048576,64,64,4,262231,1024,12\n"),
              (Costs{{"32 4", 77.4}, {"64 4", 63.5}}));
    const std::string clblast = R"({"kernel_family": "xgemm", "device": "D", "results": [
        {"kernel": "XgemmMuli", "time": 1.5, "parameters": {"KWG": 16, "MWG": 32}},
        {"kernel": "XgemmMuli", "time": 0.0, "parameters": {"KWG": 32, "MWG": 32}}], "best_time": "1.5"})";
    EXPECT_EQ(read(clblast), (Costs{{"16 32", 1.5}, {"32 32", kInvalidCost}}));
    const Result<RecordedSurface> surface = RecordedSurface::parse(clblast, "'x'");
    ASSERT_TRUE(surface);
    EXPECT_EQ(surface->device(), "D");
    EXPECT_EQ(surface->kernel(), "xgemm");
    EXPECT_THAT(refusal(R"({"sections": []})"), HasSubstr("CLBlast's database"));
    EXPECT_THAT(refusal(R"({"ConfigurationSpace": {}})"), HasSubstr("(T1)"));
    EXPECT_THAT(refusal(R"({"Results": [{"Configuration": [{"Name": "a", "Value": 1}], "TotalDuration": 1}]})"),
                HasSubstr("there is no 'Status'"));
    EXPECT_THAT(refusal(R"({"Results": [{"Status": "Ok", "TotalDuration": 1,
                            "Configuration": [{"Name": "a", "Value": 1}, {"Name": "a", "Value": 2}]}]})"),
                HasSubstr("'a' twice"));
    EXPECT_THAT(refusal(R"({"results": [{"configuration": {"a": 1}, "invalidity": "odd"}]})"), HasSubstr("\"odd\""));
}

// What is measured beside the time tells a search the answer.
TEST(recorded_formats, a_flat_list_says_what_its_parameters_are) {
    const std::string list =
        R"([{"a": 1, "b": 8, "time": 2, "GFLOP/s": 0.5}, {"a": 2, "b": 8, "time": 1, "GFLOP/s": 1}])";
    EXPECT_EQ(refusal(list),
              "'x' is a flat list, which does not say what its parameters are; GFLOP/s may have been measured, and "
              "would tell a search the answer. Name all parameters: --parameters a b.");
    EXPECT_EQ(read(list, {.parameters = {"a", "b"}}), (Costs{{"1 8", 2.0}, {"2 8", 1.0}}));
    EXPECT_THAT(refusal(list, {.parameters = {"a", "c"}}), HasSubstr("entry 0: there is no value of parameter 'c'"));
    EXPECT_THAT(refusal(R"([{"a": 1, "x": 0.5, "time": 2}])"), HasSubstr("; x may have been measured"));
    for (const char* const name : {"compile_time", "times", "registers", "energy", "Timestamp"})
        EXPECT_THAT(refusal(R"([{"a": 1, ")" + std::string(name) + R"(": 1, "time": 2}])"), HasSubstr(name));
    std::string counted = "[";  // as many values as there are entries
    for (int i = 0; i < 20; ++i)
        counted += fmt::format(R"({}{{"a": {}, "n": {}, "time": {}}})", i == 0 ? "" : ",", i % 4, 1000 + i, i + 1);
    EXPECT_THAT(refusal(counted + "]"), HasSubstr("; n may have been measured"));
    EXPECT_THAT(refusal(R"([{"a": 1, "time": 2}, {"a": 2, "time": 2, "m": 3}])"),
                HasSubstr("entry 1: it has 'm', which the first entry has not"));
    EXPECT_THAT(refusal("a,a,time\n1,2,3\n"), HasSubstr("'a' is there twice"));
    EXPECT_EQ(refusal("a,b,GFLOP/s,x,time\n1,8,50,0.5,2\n2,8,100,0.25,1\n"),
              "'x' is a CSV file, which does not say what its parameters are; GFLOP/s, x may have been measured, and "
              "would tell a search the answer. Name all parameters: --parameters a b.");
    EXPECT_EQ(read("a,b,GFLOP/s,x,time\n1,8,50,0.5,2\n", {.parameters = {"a", "b"}}), (Costs{{"1 8", 2.0}}));
    EXPECT_EQ(read("a,scale,time,GFLOP/s\n1,0.5,2,50\n", {.parameters = {"a", "scale"}}), (Costs{{"1 0.5", 2.0}}));
    EXPECT_EQ(read("a,b,time\n1,8,3\n", {.parameters = {"b"}}), (Costs{{"8", 3.0}}));
}

TEST(recorded_formats, one_document_with_or_without_a_byte_order_mark) {
    EXPECT_EQ(read("\xEF\xBB\xBF" + cache(R"("1": {"a": 1, "time": 1})")), (Costs{{"1", 1.0}}));
    EXPECT_EQ(read("\xEF\xBB\xBF"
                   "a,time\n1,1\n"),
              (Costs{{"1", 1.0}}));
    EXPECT_THAT(refusal(std::string("\xFF\xFE{\0", 4)), HasSubstr("UTF-16"));
    const std::string whole = cache(R"("1": {"a": 1, "time": 1}, "2": {"a": 2, "time": 2})");
    for (const std::string& after :
         {std::string(" {}"), std::string("x"), whole, std::string(",\n\"4\": {\"a\": 4, \"time\": 1},"),
          std::string("}"), std::string(1, '\0')})
        EXPECT_THAT(refusal(whole + after), HasSubstr("'x' is not valid JSON: ")) << after;
    EXPECT_THAT(refusal(cache(R"("1": {"a": 1, "time": 1}, "1": {"a": 1, "time": 3})")), HasSubstr("names '1' twice"));
    EXPECT_THAT(refusal(std::string("a,time\n1,2\n\0\n3,4\n", 18)), HasSubstr("a NUL byte at line 3, column 1"));
    EXPECT_THAT(refusal("a,time\n1,2,3\n"), HasSubstr("line 2: 3 cells, but the heading names 2"));
    EXPECT_THAT(refusal("a,time,time\n1,2,3\n"), HasSubstr("2 columns 'time'"));
}

// Cut in every place: what is whole is read, and what is not is said.
TEST(recorded_formats, a_cache_cut_anywhere_has_its_whole_entries) {
    const std::string whole = cache(
        R"("1": {"a": 1, "time": 1, "env": {"x": "}, {"}}, "2": {"a": 2, "env": {}, "time": 2}, "4": {"a": 4, "time": 3})");
    const std::size_t first = whole.find(R"(, "2")");
    const std::size_t second = whole.find(R"(, "4")");
    for (std::size_t size = first; size < whole.size(); ++size) {
        const std::size_t entries = size < second ? 1 : size < whole.size() - 2 ? 2 : 3;
        EXPECT_EQ(read(whole.substr(0, size)).size(), entries) << size;
    }
    EXPECT_THAT(refusal(whole.substr(0, first - 1)), HasSubstr("not valid JSON"));
}

TEST(recorded_formats, a_space_of_more_combinations_than_can_be_counted) {
    std::string text = "[";
    for (int row = 0; row < 8; ++row) {
        text += row == 0 ? "{" : ", {";
        for (int p = 0; p < 24; ++p) text += fmt::format("\"p{}\": {}, ", p, (row + p) % 8);
        text += fmt::format("\"time\": {}}}", row + 1);
    }
    const Result<RecordedSurface> surface = RecordedSurface::parse(text + "]", "'x'");
    ASSERT_TRUE(surface) << surface.error().message;
    ASSERT_EQ(surface->candidates().size(), 8U);
    EXPECT_EQ(surface->candidates().space().combinations(), std::uint64_t{1} << 63U);
    for (std::size_t c = 0; c < 8; ++c) {
        const ChoiceView choice = surface->candidates()[c];
        EXPECT_EQ(surface->candidates().find(choice), c);
        EXPECT_EQ(surface->costs()[c], choice[0] + 1.0);
        Choice other(choice.begin(), choice.end());
        other[3] = static_cast<std::uint16_t>((other[3] + 1) % 8);
        EXPECT_EQ(surface->candidates().find(other), std::nullopt);
    }
}

}  // namespace
}  // namespace yolk::autotune
