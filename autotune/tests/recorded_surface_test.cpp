// SPDX-License-Identifier: Apache-2.0
// The same small surface in each format must come to the same thing; what is damaged must be told.
#include "yolk/internal/autotune/recorded_surface.hpp"

#include <gmock/gmock.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>

#include "yolk/internal/autotune/surface.hpp"
#include "yolk/internal/core/file.hpp"

namespace yolk::autotune {
namespace {

using ::testing::HasSubstr;

constexpr const char* kCache = R"({"device_name": "D", "kernel_name": "K", "tune_params_keys": ["tile", "fast", "n"],
 "tune_params": {"tile": [1, 2, 4], "fast": [0, 1], "n": [7]}, "objective": "time", "cache": {
 "4,1,7": {"tile": 4, "fast": 1, "n": 7, "time": 0.5, "times": [0.5, 0.5]},
 "1,0,7": {"time": 2.0, "times": [2.0]},
 "1,1,7": {"time": "RuntimeFailedConfig"},
 "2,0,7": {"time": 1e20},
 "2,1,7": {"time": 1.25}}})";
constexpr const char* kFlat =
    R"([{"tile": 4, "fast": true, "n": 7, "time": 0.5}, {"tile": 1, "fast": false, "n": 7, "time": 2.0},
 {"tile": 1, "fast": true, "n": 7, "time": "InvalidConfig"}, {"tile": 2, "fast": false, "n": 7, "time": null},
 {"tile": 2, "fast": true, "n": 7, "time": 1.25}])";
constexpr const char* kT4 = R"({"schema_version": "1.0.0", "results": [
 {"configuration": {"tile": 1, "fast": 0, "n": 7}, "invalidity": "correct", "times": {"runtimes": [1.5, 2.5]}},
 {"configuration": {"tile": 1, "fast": 1, "n": 7}, "invalidity": "timeout", "times": {"runtimes": []}},
 {"configuration": {"tile": 2, "fast": 0, "n": 7}, "invalidity": "compile"},
 {"configuration": {"tile": 2, "fast": 1, "n": 7}, "invalidity": "correct", "objectives": ["kernel_time"],
  "measurements": [{"name": "watt", "value": 3}, {"name": "kernel_time", "value": 1.25}]},
 {"configuration": {"tile": 4, "fast": 1, "n": 7}, "measurements": [{"name": "time", "value": 0.5, "unit": "ms"}]}]})";
constexpr const char* kKtt = R"({"Metadata": {"Device": "D"}, "Results": [
 {"KernelName": "K", "Status": "Ok", "TotalDuration": 2.0, "Configuration": [{"Name": "tile", "Value": 1},
  {"Name": "fast", "Value": false}, {"Name": "n", "Value": 7}]},
 {"Status": "ComputationFailed", "TotalDuration": 0.0, "Configuration": [{"Name": "tile", "Value": 1},
  {"Name": "fast", "Value": true}, {"Name": "n", "Value": 7}]},
 {"Status": "ValidationFailed", "TotalDuration": 0.1, "Configuration": [{"Name": "tile", "Value": 2},
  {"Name": "fast", "Value": false}, {"Name": "n", "Value": 7}]},
 {"Status": "Ok", "TotalDuration": 1.25, "Configuration": [{"Name": "tile", "Value": 2},
  {"Name": "fast", "Value": true}, {"Name": "n", "Value": 7}]},
 {"Status": "Ok", "TotalDuration": 0.5, "Configuration": [{"Name": "tile", "Value": 4},
  {"Name": "fast", "Value": true}, {"Name": "n", "Value": 7}]}]})";
constexpr const char* kCsv =
    "tile,fast,n,time,gflops\n# a remark\n4,1,7,0.5,9\r\n1,0,7,2,1\n1,1,7,failed,\n\n2,0,7,-1,\n2,True,7,1.25,4\n";

void expect_the_surface(const RecordedSurface& surface) {
    std::vector<std::string> texts;
    for (std::size_t c = 0; c < surface.candidates().size(); ++c) {
        const Space& space = surface.candidates().space();
        std::string text;
        for (const char* name : {"tile", "fast", "n"}) {  // objects of some formats have no order
            for (std::size_t p = 0; p < 3; ++p) {
                if (space.parameters()[p].name != name) continue;
                text += to_text(space.parameters()[p].values[surface.candidates()[c][p]]) + " ";
            }
        }
        texts.push_back(text + std::to_string(surface.costs()[c]));
    }
    EXPECT_THAT(texts, ::testing::UnorderedElementsAre("1 0 7 2.000000", "1 1 7 inf", "2 0 7 inf", "2 1 7 1.250000",
                                                       "4 1 7 0.500000"));
    EXPECT_DOUBLE_EQ(surface.optimum(), 0.5);
    EXPECT_EQ(surface.valid_count(), 3U);
}

TEST(recorded_surface, every_format_is_the_same_surface) {
    for (const char* text : {kCache, kFlat, kT4, kKtt, kCsv}) {
        const Result<RecordedSurface> surface = RecordedSurface::parse(text, "test");
        ASSERT_TRUE(surface) << surface.error().message;
        expect_the_surface(*surface);
    }
    const Result<RecordedSurface> cache = RecordedSurface::parse(kCache, "test");
    EXPECT_EQ(cache->device(), "D");
    EXPECT_EQ(cache->kernel(), "K");
}

// Kernel Tuner closes its cache at the end of a run: one that was stopped has lost its end, perhaps within an entry.
TEST(recorded_surface, unfinished_cache) {
    const std::string whole = kCache;
    for (const char* end : {",\n \"2,1,7\"", "\"time\": 1.25}"}) {
        const std::string torn = whole.substr(0, whole.find(end) + 1);
        const Result<RecordedSurface> surface = RecordedSurface::parse(torn, "test");
        ASSERT_TRUE(surface) << surface.error().message;
        EXPECT_EQ(surface->candidates().size(), 4U);
        EXPECT_DOUBLE_EQ(surface->optimum(), 0.5);
    }
}

std::string gzipped(const std::string& text) {
    z_stream stream{};
    EXPECT_EQ(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string input = text;
    std::string output(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(input.data());
    stream.avail_in = static_cast<uInt>(input.size());
    stream.next_out = reinterpret_cast<Bytef*>(output.data());
    stream.avail_out = static_cast<uInt>(output.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    output.resize(stream.total_out);
    deflateEnd(&stream);
    return output;
}

TEST(recorded_surface, of_a_newer_t4_is_refused) {
    const Result<RecordedSurface> newer =
        RecordedSurface::parse(R"({"schema_version": "2.0.0", "results": [{"configuration": {"a": 1}}]})", "'new.t4'");
    ASSERT_FALSE(newer);
    EXPECT_THAT(newer.error().message, HasSubstr("'new.t4' is T4 of version 2.0.0; this Yolk reads version 1."));
}

TEST(recorded_surface, gzip_files) {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("yolk_recorded_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    const auto read = [&folder](const std::string& bytes) {
        EXPECT_TRUE(write_file_atomically(folder / "s.gz", std::string_view(bytes)));
        return RecordedSurface::read(folder / "s.gz");
    };
    const std::string packed = gzipped(kCache);
    Result<RecordedSurface> surface = read(packed);
    ASSERT_TRUE(surface) << surface.error().message;
    expect_the_surface(*surface);
    const std::string size = std::to_string(packed.size());
    for (const auto& [after, part] : std::initializer_list<std::pair<std::string, std::string>>{
             {packed, "has a second gzip file after its gzip data, from byte " + size + " of "},
             {gzipped(""), "has a second gzip file"},
             {"x", "has something else after its gzip data, from byte " + size + " of "},
             {std::string(512, '\0'), "has something else after"}}) {
        surface = read(packed + after);
        ASSERT_FALSE(surface);
        EXPECT_THAT(surface.error().message, HasSubstr(part));
    }
    surface = read(gzipped(std::string(std::size_t{300} << 20U, '[')));
    ASSERT_FALSE(surface);
    EXPECT_THAT(surface.error().message, HasSubstr("unpacks to more than"));
    surface = read(gzipped(std::string(std::size_t{8} << 20U, '[')));
    ASSERT_FALSE(surface);
    EXPECT_THAT(surface.error().message, HasSubstr("nests arrays and objects more than 16 deep"));
    for (std::size_t keep : {std::size_t{2}, std::size_t{20}, packed.size() - 3}) {
        const Result<RecordedSurface> cut = read(packed.substr(0, keep));
        ASSERT_FALSE(cut);
        EXPECT_THAT(cut.error().message, HasSubstr("damaged or cut off"));
    }
    const Result<RecordedSurface> missing = RecordedSurface::read(folder / "none");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind, ErrorKind::Io);
    std::filesystem::remove_all(folder);
}

TEST(recorded_surface, broken_files_are_told) {
    const auto refuses = [](const char* text, const std::string& part) {
        const Result<RecordedSurface> surface = RecordedSurface::parse(text, "'x.json'");
        ASSERT_FALSE(surface) << text;
        EXPECT_EQ(surface.error().kind, ErrorKind::BadInput);
        EXPECT_THAT(surface.error().message, HasSubstr("x.json"));
        EXPECT_THAT(surface.error().message, HasSubstr(part));
    };
    refuses("", "is empty");
    refuses("{\"results\": [", "not valid JSON");
    refuses("{\"a\": 1}", "no recorded surface");
    refuses("{\"yolk_prior\": 2, \"spaces\": []}", "is a trained prior of an older Yolk");
    refuses("[]", "no configuration");
    refuses("[1]", "entry 0");
    refuses(R"([{"a": 1, "time": 1}, {"time": 2}])", "entry 1: there is no value of parameter 'a'");
    refuses(R"([{"a": 1}])", "there is no 'time'");
    refuses(R"([{"a": 1, "time": {}}])", "'time' is object");
    refuses(R"({"cache": {}})", "tune_params_keys");
    refuses(R"({"cache": [], "tune_params_keys": []})", "tune_params_keys");
    refuses(R"({"tune_params_keys": ["a", "b"], "cache": {"1": {"time": 1}}})", "1 values for 2 parameters");
    refuses(R"({"tune_params_keys": ["a"], "cache": {"1": {"time": "RuntimeFailedConfig"}}})",
            "No configuration on the surface worked (1 failed)");
    refuses(R"({"results": [{}]})", "there is no 'configuration'");
    refuses(R"({"results": [{"configuration": {"a": 1}, "invalidity": "correct"}]})", "no runtimes");
    refuses(R"({"Results": [{"Status": "Ok"}]})", "there is no 'Configuration'");
    refuses("hello\nworld\n", "neither JSON nor a CSV");
    refuses("a,b,time\n1,2\n", "line 2: 2 cells, but the heading names 3");
}

}  // namespace
}  // namespace yolk::autotune
