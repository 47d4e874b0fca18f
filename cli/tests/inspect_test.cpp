// SPDX-License-Identifier: Apache-2.0
// `yolk inspect` on drivers that have no statistics: what it tells without them, and what it refuses in words.
#include <gmock/gmock.h>

#include <set>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class inspect : public InFolder, public ::testing::WithParamInterface<const char*> {
   protected:
    [[nodiscard]] Ran run(std::vector<std::string> more) const {
        more.insert(more.begin(), "inspect");
        std::map<std::string, std::string> variables = only(GetParam());
        variables["YOLK_CACHE"] = (folder_ / "cache").string();
        return run_command(more, variables);
    }
    void refuses(const std::vector<std::string>& flags, int code, const std::string& part) const {
        const Ran ran = run(flags);
        EXPECT_EQ(ran.code, code) << ran.out;
        EXPECT_EQ(ran.out, "");
        EXPECT_THAT(ran.err, AllOf(StartsWith("yolk: error: "), HasSubstr(part)));
    }
};
INSTANTIATE_TEST_SUITE_P(drivers, inspect, ::testing::Values(kLavapipe, kSwiftShader), [](const auto& driver) {
    return std::string(driver.param).find("lvp") != std::string::npos ? "lavapipe" : "swiftshader";
});

/// The figures that only a compiler can give.
constexpr const char* kCompilersFigures[]{"registers", "spilled_registers",  "scratch_bytes", "waves",
                                          "waves_of",  "occupancy",          "code_bytes",    "instructions",
                                          "latency",   "inverse_throughput", "subgroup_size"};

TEST_P(inspect, tells_what_can_be_told_without_statistics) {
    const Ran ran = run({"optimizer elements=9", "noise elements=64", "--json"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    const std::vector<Json> lines = ran.lines();
    ASSERT_GE(lines.size(), 3U);
    std::set<std::string> kernels;
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
        const Json& line = lines[i];
        kernels.insert(line.value("kernel", ""));
        EXPECT_THAT(line.value("shape", ""), StartsWith(line.value("kernel", "")));
        EXPECT_TRUE(line.value("default", false));
        EXPECT_THAT(line.value("pipeline", ""), StartsWith(line.value("kernel", "")));
        EXPECT_FALSE(line["configuration"].empty());
        EXPECT_FALSE(line["constants"].empty());
        EXPECT_GE(line["workgroup_size"].get<int>(), 1);
        EXPECT_GE(line["shared_bytes"].get<int>(), 0);
        EXPECT_GT(line["compile_milliseconds"].get<double>(), 0.0);
        for (const char* figure : kCompilersFigures) {
            ASSERT_TRUE(line.contains(figure)) << figure;
            EXPECT_TRUE(line[figure].is_null()) << figure << " is not known here, which is not " << line[figure];
        }
        EXPECT_EQ(line["statistics"], Json::object());
    }
    EXPECT_EQ(kernels, (std::set<std::string>{"noise", "optimizer"}));
    const Json& summary = lines.back();
    EXPECT_EQ(summary["event"], "summary");
    EXPECT_EQ(summary["pipelines"], lines.size() - 1);
    EXPECT_EQ(summary["configurations"], 2);
    EXPECT_EQ(summary["refused"], 0);
    EXPECT_TRUE(summary["device"]["runs"].get<bool>());
    EXPECT_FALSE(summary["device"]["statistics"].get<bool>());
    EXPECT_FALSE(std::filesystem::exists(folder_ / "cache")) << "no cache is written";
}

TEST_P(inspect, every_configuration_sorted) {
    const Ran all = run({"optimizer elements=9", "--all", "--sort", "workgroup_size", "--json"});
    ASSERT_EQ(all.code, 0) << all.err;
    std::vector<Json> lines = all.lines();
    lines.pop_back();
    ASSERT_GE(lines.size(), 4U);
    std::set<std::string> configurations;
    int defaults = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        configurations.insert(lines[i]["configuration"].dump());
        defaults += lines[i]["default"].get<bool>() ? 1 : 0;
        if (i == 0) continue;
        EXPECT_LE(lines[i - 1]["workgroup_size"], lines[i]["workgroup_size"]);
    }
    EXPECT_EQ(configurations.size(), lines.size());
    EXPECT_EQ(defaults, 1);

    const Json configuration = lines.back()["configuration"];
    const std::string knob = configuration.begin().key();
    const Json value = configuration.begin().value();
    const Ran some = run({"optimizer elements=9", "--where", knob + "=" + value.dump(), "--json"});
    ASSERT_EQ(some.code, 0) << some.err;
    EXPECT_LT(some.lines().size(), lines.size());
    std::vector<Json> chosen = some.lines();
    chosen.pop_back();
    for (const Json& line : chosen) EXPECT_EQ(line["configuration"][knob], value);
}

/// Identities of the lines of pipelines, in their order.
std::vector<std::string> identities(const Ran& ran) {
    std::vector<std::string> found;
    for (const Json& line : ran.lines())
        if (line.contains("kernel")) found.push_back(line.value("identity", ""));
    return found;
}

TEST_P(inspect, pipelines_that_are_known_are_left_out) {
    const std::string shape = "optimizer elements=9";
    const std::vector<std::string> all = identities(run({shape, "--all", "--json"}));
    ASSERT_GE(all.size(), 4U);
    EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
    for (const std::string& one : all) EXPECT_THAT(one, SizeIs(16));

    const std::string known = (folder_ / "known").string();
    write_text(known, all[0] + "\nnonsense\n" + all[2] + "\n" + all[3].substr(0, 9));  // a writer was cut off
    std::vector<std::string> others = all;
    others.erase(others.begin() + 2);
    others.erase(others.begin());
    const Ran some = run({shape, "--all", "--known", known, "--json"});
    EXPECT_EQ(some.code, 0) << some.err;
    EXPECT_EQ(identities(some), others);
    EXPECT_EQ(some.last()["pipelines"], others.size());
    EXPECT_EQ(some.last()["configurations"], all.size());
    refuses({shape, "--known", (folder_ / "missing").string()}, 1, "missing");
}

TEST_P(inspect, a_share_is_drawn_by_hash_and_larger_ones_have_it) {
    const auto drawn = [this](const std::string& share, const std::string& seed) {
        const Ran ran = run({"optimizer elements=9", "--all", "--share", share, "--seed", seed, "--json"});
        EXPECT_EQ(ran.code, 0) << ran.err;
        EXPECT_TRUE(ran.lines()[0].value("default", false)) << "the default stays";
        const std::vector<std::string> found = identities(ran);
        return std::set<std::string>(found.begin(), found.end());
    };
    const auto all = drawn("1", "1");
    const auto half = drawn("0.5", "1");
    EXPECT_LT(half.size(), all.size());
    EXPECT_GT(half.size(), 1U);
    EXPECT_EQ(drawn("0.5", "1"), half);
    EXPECT_THAT(drawn("0.8", "1"), ::testing::IsSupersetOf(half));
    EXPECT_THAT(half, ::testing::IsSupersetOf(drawn("0.2", "1")));
    EXPECT_THAT(drawn("0.000001", "1"), SizeIs(1));
    EXPECT_NE(drawn("0.5", "2"), half);
}

TEST_P(inspect, for_people) {
    const Ran ran = run({"optimizer elements=9", "--configurations", "3"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    for (const char* part : {"The driver has no statistics", "optimizer elements=9", "workgroup", "compile ms",
                             "configuration", "* ", "0 refused"})
        EXPECT_THAT(ran.out, HasSubstr(part));
    EXPECT_THAT(ran.out, ::testing::Not(HasSubstr("registers"))) << "a column without a figure is left out";
}

TEST_P(inspect, a_kernel_of_ones_own) {
    for (const char* name : {"my.comp", "reference.comp", "space.json"})
        write_text(folder_ / name, read_text(std::filesystem::path(YOLK_EXAMPLES_FOLDER) / "09_own_kernel" / name));
    const std::string shader = (folder_ / "my.comp").string();
    const Ran ran =
        run({"--kernel", shader, "--space", (folder_ / "space.json").string(), "--configurations", "2", "--json"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    ASSERT_GE(ran.lines().size(), 3U);
    EXPECT_EQ(ran.lines()[0]["kernel"], "kernel");
    EXPECT_EQ(ran.lines()[0]["pipeline"], "my.comp");
    EXPECT_TRUE(ran.lines()[0]["default"].get<bool>());
    refuses({"--kernel", shader}, 2, "--space");
    write_text(folder_ / "my.comp", "#version 450\nvoid main() { nonsense; }\n");
    refuses({"--kernel", shader, "--space", (folder_ / "space.json").string()}, 2, "nonsense");
}

TEST_P(inspect, what_cannot_be_planned_is_a_line_and_the_rest_is_inspected) {
    const Ran ran = run({"gather table_rows=1000000 columns=1000000 ids=1", "optimizer elements=9", "--json"});
    EXPECT_EQ(ran.code, 1) << ran.err;
    ASSERT_THAT(ran.lines(), SizeIs(3));
    EXPECT_TRUE(ran.lines()[0]["pipeline"].is_null());
    EXPECT_THAT(ran.lines()[0].value("refused", ""), HasSubstr("needs 4000000000000 bytes in one binding"));
    EXPECT_FALSE(ran.lines()[0].contains("registers"));
    EXPECT_EQ(ran.lines()[1]["pipeline"], "optimizer");
    EXPECT_EQ(ran.last()["refused"], 1);
    const Ran text = run({"gather table_rows=1000000 columns=1000000 ids=1"});
    EXPECT_EQ(text.code, 1);
    EXPECT_THAT(text.out, HasSubstr("REFUSED the table view of [gather]"));
}

TEST_P(inspect, bad_input) {
    refuses({"matmull m=1 n=1 k=1"}, 2, "matmul");
    refuses({"matmul m=64 n=64"}, 2, "k");
    refuses({"optimizer elements=9", "--where", "nonsense=1"}, 2, "the knobs of optimizer");
    refuses({"optimizer elements=9", "--where", "workgroup_size=3"}, 2, "No configuration of optimizer matches");
    refuses({"optimizer elements=9", "--sort", "beauty"}, 2, "this driver has no statistics of its own");
    refuses({"optimizer elements=9", "--ir", (folder_ / "ir").string()}, 1, "VK_KHR_pipeline_executable_properties");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "ir"));
    refuses({"optimizer elements=9", "--all", "--share", "0"}, 2, "'0' is not above 0 and at most 1");
    refuses({"optimizer elements=9", "--all", "--share", "1.5"}, 2, "'1.5' is not above 0 and at most 1");
    refuses({"optimizer elements=9", "--share", "0.5"}, 2, "--all");
    refuses({"optimizer elements=9", "--all", "--seed", "2"}, 2, "goes with --configurations or --share");
    refuses({"--job", "nonsense"}, 2, "There is no job 'nonsense'");
}

}  // namespace
}  // namespace yolk::cli
