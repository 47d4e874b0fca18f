// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "command.hpp"

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::map<std::string, std::string> both() { return only(std::string(kLavapipe) + ":" + kSwiftShader); }

TEST(help, lists_commands_and_flags) {
    const Ran ran = run_command({"--help"});
    EXPECT_EQ(ran.code, 0);
    for (const char* command : {"train", "eval", "devices", "inspect", "check", "bench", "tune", "system", "plot"})
        EXPECT_THAT(ran.out, HasSubstr(command));
    const Ran train = run_command({"train", "--help"});
    EXPECT_EQ(train.code, 0);
    for (const char* flag : {"--device", "--population", "--rank", "--sigma", "--lr", "--generations", "--seed",
                             "--fitness", "--optimizer", "--determinism", "--out", "--json", "--quiet"}) {
        EXPECT_THAT(train.out, HasSubstr(flag));
    }
    EXPECT_EQ(train.err, "");
}

TEST(help, version) {
    const Ran ran = run_command({"--version"});
    EXPECT_EQ(ran.code, 0);
    EXPECT_THAT(ran.out, ::testing::MatchesRegex("yolk [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(devices, both_drivers_as_json) {
    const Ran ran = run_command({"devices", "--json"}, both());
    ASSERT_EQ(ran.code, 0) << ran.err;
    ASSERT_EQ(ran.lines().size(), 1U);
    const Json json = ran.last();
    ASSERT_EQ(json.value("devices", Json::array()).size(), 2U) << ran.out;
    std::string names;
    for (const Json& device : json["devices"]) {
        names += device.value("name", "") + "; ";
        EXPECT_EQ(device.value("kind", ""), "cpu") << device;
        EXPECT_TRUE(device.value("executes", false)) << device;
        EXPECT_TRUE(device.value("exact_arithmetic", false)) << device;
        EXPECT_TRUE(device.value("missing_from_floor", Json()).empty()) << device;
        EXPECT_GE(device["limits"].value("max_push_constants_size", 0), 128);
        EXPECT_EQ(device.value("uuid", "").size(), 32U);
        const bool is_lavapipe = device.value("name", "").starts_with("llvmpipe");
        ASSERT_EQ(device["self_checks"].size(), 5U) << device;
        EXPECT_EQ(device["self_checks"][0].value("result", ""), is_lavapipe ? "right" : "closed");
        EXPECT_EQ(device["self_checks"][1].value("result", ""), "right") << "int8-dot";
        for (const std::size_t units : {2U, 3U, 4U})
            EXPECT_EQ(device["self_checks"][units].value("result", ""), "closed") << device["self_checks"][units];
        EXPECT_FALSE(device.value("integer_dot_accelerated", true));
        EXPECT_TRUE(device["cooperative_shapes"].empty());
        EXPECT_EQ(device["sharing"]["opaque_fd"], (Json{{"export", true}, {"import", true}}));
        EXPECT_EQ(device["sharing"]["dma_buf"], (Json{{"export", false}, {"import", false}}));
        EXPECT_EQ(device["sharing"]["host_pointer"], (Json{{"export", false}, {"import", is_lavapipe}}));
        EXPECT_EQ(device["sharing"]["timeline_semaphore"], (Json{{"export", false}, {"import", false}}));
        ASSERT_EQ(device["heaps"].size(), 1U);
        const Json& heap = device["heaps"][0];
        EXPECT_TRUE(heap.contains("budget_bytes") && heap.contains("used_bytes")) << heap;
        EXPECT_TRUE(device["memory_types"][0].value("host_visible", false));
        ASSERT_EQ(device["queue_families"].size(), 1U);
        EXPECT_TRUE(device["queue_families"][0].value("chosen", false));
    }
    EXPECT_THAT(names, HasSubstr("llvmpipe"));
    EXPECT_THAT(names, HasSubstr("SwiftShader"));
    EXPECT_EQ(json["rejections"].size(), 1U);
}

TEST(devices, a_request_is_followed) {
    for (const char* wanted : {"llvmpipe", "SwiftShader"}) {
        const Ran by_flag = run_command({"devices", "--json", "--device", wanted}, both());
        EXPECT_THAT(by_flag.last()["chosen"].value("name", ""), HasSubstr(wanted)) << by_flag.err;
        auto variables = both();
        variables["YOLK_DEVICE"] = wanted;
        const Ran by_variable = run_command({"devices", "--json"}, variables);
        EXPECT_EQ(by_variable.last()["chosen"], by_flag.last()["chosen"]);
        const std::string uuid = by_flag.last()["chosen"].value("uuid", "");
        EXPECT_EQ(run_command({"devices", "--json", "--device", uuid}, both()).last()["chosen"],
                  by_flag.last()["chosen"]);
    }
}

TEST(devices, model_is_discrete_where_the_environment_says_so) {
    auto variables = both();
    EXPECT_THAT(run_command({"devices"}, variables).out, Not(HasSubstr("as if it were discrete")));
    variables["YOLK_DEVICE_MODEL"] = "discrete";
    EXPECT_THAT(run_command({"devices"}, variables).out, HasSubstr("used as if it were discrete (YOLK_DEVICE_MODEL)"));
}

TEST(devices, unknown_model_is_refused_by_every_command_with_a_device) {
    auto variables = both();
    variables["YOLK_DEVICE_MODEL"] = "apart";
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"devices"}, {"check", "--kernel", "noise"}, {"bench", "rollout"}}) {
        const Ran ran = run_command(command, variables);
        EXPECT_NE(ran.code, 0) << command.front();
        EXPECT_EQ(ran.out, "");
        EXPECT_THAT(ran.err, HasSubstr("YOLK_DEVICE_MODEL is 'apart'; it may be 'discrete'"));
    }
}

TEST(devices, for_people) {
    const Ran ran = run_command({"devices"}, both());
    EXPECT_EQ(ran.code, 0) << ran.err;
    for (const char* part : {"llvmpipe", "SwiftShader", "findings", "limits", "open paths", "self-checks",
                             "int8-dot right (not accelerated)", "matrix units", "family 0 of 1, graphics and compute"})
        EXPECT_THAT(ran.out, HasSubstr(part));
}

}  // namespace
}  // namespace yolk::cli
