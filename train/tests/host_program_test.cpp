// SPDX-License-Identifier: Apache-2.0
// Environments that a program steps, and what is told of one that does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "temporary_folder.hpp"
#include "yolk/host_environment.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/train.hpp"

namespace yolk::train {
namespace {

using ::yolk::testing::expect_error;

/// Speaks the protocol, with 2 observations and 2 discrete actions, until it does what its argument says.
constexpr const char* kWrongProgram = R"(
import json, struct, sys, time
wrong, steps, lanes = sys.argv[1], 0, 0
def send(kind, payload):
    sys.stdout.buffer.write(struct.pack("<II", kind, len(payload)) + payload)
    sys.stdout.buffer.flush()
hello = {"protocol": 1, "name": "wrong", "observations": 2, "actions": 2, "max_steps": 10}
if wrong == "protocol": hello["protocol"] = 2
if wrong == "field": hello["observations"] = "two"
if wrong == "bounds": hello["low"] = [1]
if wrong == "garbage": print("Hello, world", flush=True)
if wrong == "silent": time.sleep(100)
send(0x564E4559, json.dumps(hello).encode())
while True:
    kind, size = struct.unpack("<II", sys.stdin.buffer.read(8))
    payload = sys.stdin.buffer.read(size)
    if kind == 0: break
    if kind == 1:
        lanes = struct.unpack("<I", payload)[0]
        send(1, b"")
        continue
    if kind == 2:
        send(2, struct.pack("<f", 0.5) * (2 * lanes))
        continue
    steps += 1
    values, flag = [0.25] * (2 * lanes), 0
    if steps == 27:
        print("step 27 went wrong", file=sys.stderr, flush=True)
        if wrong == "dies": sys.exit(3)
        if wrong == "short": values.pop()
        if wrong in ("twice", "again"):
            answer = struct.pack("<II", 3, 16 * lanes) + struct.pack("<f", 0) * (4 * lanes)
            sys.stdout.buffer.write(answer if wrong == "again" else 2 * answer)  # two in one write
            sys.stdout.buffer.flush()
            if wrong == "again": time.sleep(0.2)
        if wrong == "nan": values[3] = float("nan")
        if wrong == "late": time.sleep(100)
        if wrong == "flag": flag = 7
        if wrong == "kind": kind = 2
        if wrong == "loud": print("a line that was printed by mistake", flush=True)
        if wrong == "says":
            send(4, b"the simulator is broken")
            continue
    send(kind, struct.pack("<%df" % len(values), *values) + struct.pack("<f", 1) * lanes + struct.pack("<I", flag) * lanes)
)";

class host_program : public ::yolk::testing::DeviceTest {
   protected:
    void SetUp() override { std::ofstream(folder_.path() / "wrong.py") << kWrongProgram; }
    [[nodiscard]] HostProgram wrong(const std::string& how) const {
        return {.command = "python3 '" + (folder_.path() / "wrong.py").string() + "' " + how,
                .processes = 1,
                .lanes = 4,
                .timeout = std::chrono::milliseconds(how == "late" || how == "silent" ? 1000 : 30'000)};
    }
    [[nodiscard]] TrainOptions options(HostEnvironments environments, const std::string& out = {}) const {
        const HostEnvironmentInfo& info = environments.front()->info();
        return {.host_environments = environments,
                .evolution = {.population = 8, .seed = 3},
                .network = {.widths = {info.observation_count, 4, info.actions.outputs()}},
                .generations = 3,
                .stop_when_solved = false,
                .out = out.empty() ? std::filesystem::path() : folder_.path() / out,
                .evaluation_episodes = 4};
    }
    TemporaryFolder folder_;
};
YOLK_FOR_EACH_DEVICE(host_program);

TEST_P(host_program, in_c_trains_and_is_resumed) {
    const HostProgram program{.command = YOLK_LINE_ENVIRONMENT, .processes = 2, .lanes = 16};
    ASSERT_OK_AND_ASSIGN(const HostEnvironments whole_program, start_host_program(program));
    EXPECT_EQ(whole_program.front()->info().name, "line");
    EXPECT_EQ(whole_program.front()->info().solved_return, 45.0F);
    TrainOptions whole = options(whole_program);
    whole.evolution.population = 32;
    whole.max_steps = 10;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome expected, train(device(), whole));
    TrainOptions parts = options(whole_program, "parts");
    parts.evolution.population = 32;
    parts.max_steps = 10;
    ASSERT_OK(train(device(), parts, [](const GenerationReport& report) { return report.generation < 1; }));
    HostProgram other = program;
    other.processes = 1;
    other.lanes = 20;
    ASSERT_OK_AND_ASSIGN(parts.host_environments, start_host_program(other));
    parts.resume = true;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome resumed, train(device(), parts));
    EXPECT_EQ(resumed.resumed_from, 2U);
    EXPECT_EQ(resumed.state_hash, expected.state_hash);
    EXPECT_EQ(resumed.eval_mean_return, expected.eval_mean_return);
}

// A generation has 12 steps: 4 of the members, and 8 of the unperturbed policy's 16 episodes.
TEST_P(host_program, that_goes_wrong_is_named_and_generations_are_kept) {
    struct Case {
        const char* how;
        ErrorKind kind;
        const char* words;
    };
    for (const Case& each :
         {Case{"dies", ErrorKind::Io, "status 3"}, Case{"dies", ErrorKind::Io, "step 27 went wrong"},
          Case{"short", ErrorKind::BadInput, "60 bytes; 64 are expected"},
          Case{"twice", ErrorKind::BadInput, "more than one answer"},
          Case{"nan", ErrorKind::Failed, "observation 1 of "},
          Case{"late", ErrorKind::Io, "printed nothing for 1000 ms"}, Case{"flag", ErrorKind::BadInput, "flag 7"},
          Case{"kind", ErrorKind::BadInput, "kind 2"}, Case{"loud", ErrorKind::BadInput, "a line that was printed"},
          Case{"says", ErrorKind::Failed, "the simulator is broken"}}) {
        SCOPED_TRACE(each.how);
        ASSERT_OK_AND_ASSIGN(const HostEnvironments environments, start_host_program(wrong(each.how)));
        TrainOptions run = options(environments);
        run.max_steps = 2;
        const Result<TrainOutcome> failed = train(device(), run);
        EXPECT_TRUE(expect_error(failed, each.kind, each.words));
        EXPECT_TRUE(expect_error(failed, each.kind, "in step 1 with members 4 to 7, generation 2"));
    }
}

// What came late is taken as the next message's answer; then the program waits with one more than was asked for.
TEST_P(host_program, that_answers_once_more_later_is_named_and_ends) {
    ASSERT_OK_AND_ASSIGN(const HostEnvironments environments, start_host_program(wrong("again")));
    TrainOptions run = options(environments);
    run.max_steps = 2;
    EXPECT_TRUE(expect_error(train(device(), run), ErrorKind::BadInput, "one answer for each message"));
}

TEST(host_programs, that_cannot_be_used_are_refused_at_the_start) {
    const auto refused = [](const std::string& command, ErrorKind kind, const std::string& words) {
        EXPECT_TRUE(expect_error(
            start_host_program({.command = command, .processes = 1, .lanes = 4, .timeout = std::chrono::seconds(20)}),
            kind, words));
    };
    refused("", ErrorKind::BadInput, "no command");
    refused("no-such-program", ErrorKind::Io, "status 127");
    refused("exit 4", ErrorKind::Io, "status");
    refused("echo Hello, world, here I am", ErrorKind::BadInput, "Hello, world");
    EXPECT_TRUE(expect_error(start_host_program({.command = "x", .processes = 0}), ErrorKind::BadInput, "0 processes"));
    EXPECT_TRUE(expect_error(start_host_program({.command = "x", .lanes = 0}), ErrorKind::BadInput, "0 lanes"));
    const TemporaryFolder folder;
    std::ofstream(folder.path() / "wrong.py") << kWrongProgram;
    const std::string python = "python3 '" + (folder.path() / "wrong.py").string() + "' ";
    refused(python + "protocol", ErrorKind::BadInput, "version 2");
    refused(python + "field", ErrorKind::BadInput, "'observations'");
    refused(python + "bounds", ErrorKind::BadInput, "1 lower");
    refused(python + "garbage", ErrorKind::BadInput, "Hello, world");
    EXPECT_TRUE(
        expect_error(start_host_program({.command = python + "silent", .timeout = std::chrono::milliseconds(300)}),
                     ErrorKind::Io, "printed nothing"));
}

TEST(host_programs, get_the_lanes_that_members_need) {
    EXPECT_EQ(host_lanes(256, 2), 128U);
    EXPECT_EQ(host_lanes(5, 2), 3U);
    EXPECT_EQ(host_lanes(1, 8), 1U);
    EXPECT_EQ(host_lanes(1U << 20U, 2), 1024U);
}

}  // namespace
}  // namespace yolk::train
