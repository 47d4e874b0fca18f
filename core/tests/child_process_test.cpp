// SPDX-License-Identifier: Apache-2.0
// Conversations with children; runs without one are tested where programs are hyperfunctions (hyper.external_program).
#include "yolk/internal/core/child_process.hpp"

#include <gmock/gmock.h>

#include <cerrno>

#include "worker_messages.hpp"

namespace yolk {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ChildProgram shell(const std::string& script) { return {.command = {"/bin/sh", "-c", script}}; }

TEST(child_process, is_answered_line_by_line) {
    std::vector<std::string> heard;
    const auto run =
        run_program(shell("read a; echo \"one $a\"; read b; echo \"two $b\"; read c; echo end"), "first\n", {},
                    [&heard](std::string& output) -> Result<std::string> {
                        std::string reply;
                        for (std::size_t end = output.find('\n'); end != std::string::npos; end = output.find('\n')) {
                            heard.push_back(output.substr(0, end));
                            output.erase(0, end + 1);
                            reply += "reply " + std::to_string(heard.size()) + "\n";
                        }
                        return reply;
                    });
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_THAT(heard, ElementsAre("one first", "two reply 1", "end"));
    EXPECT_EQ(run->status, 0);
    EXPECT_EQ(run->output, "");
}

TEST(child_process, an_answer_that_fails_ends_it) {
    const auto run = run_program(shell("echo x; sleep 100"), "", {},
                                 [](std::string&) -> Result<std::string> { return bad_input("That is no answer."); });
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().message, "That is no answer.");
}

TEST(child_process, silence_has_a_limit_of_its_own) {
    ChildProgram program = shell("for i in 1 2 3 4 5 6; do echo $i; sleep .1; done; sleep 100");
    program.silence = 2s;
    program.timeout = 60s;
    std::string heard;
    const auto run = run_program(program, "", {}, [&heard](std::string& output) -> Result<std::string> {
        heard += output;
        output.clear();
        return std::string();
    });
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().native, ETIME);
    EXPECT_THAT(run.error().message, HasSubstr("printed nothing for 2000 ms"));
    EXPECT_THAT(heard, HasSubstr("6"));
}

TEST(child_process, a_signal_is_told_apart_from_a_status) {
    const auto killed = run_program(shell("kill -SEGV $$"), "");
    ASSERT_TRUE(killed);
    EXPECT_EQ(killed->signal, SIGSEGV);
    EXPECT_EQ(killed->status, 128 + SIGSEGV);
    const auto status = run_program(shell("exit 139"), "");
    ASSERT_TRUE(status);
    EXPECT_EQ(status->signal, 0);
    EXPECT_EQ(status->status, 139);
}

TEST(worker_messages, come_back_whole_and_in_pieces) {
    const WorkerMessage message{"", std::string("a\0b", 3), std::string(100'000, 'x'), "\xff\xfe"};
    const std::string packed = pack_message(message) + pack_message({"next"});
    std::string some;
    std::vector<WorkerMessage> taken;
    for (const char byte : packed) {
        some += byte;
        const auto one = take_message(some, 1'000'000);
        ASSERT_TRUE(one);
        if (*one) taken.push_back(**one);
    }
    EXPECT_THAT(taken, ElementsAre(message, WorkerMessage{"next"}));
    EXPECT_EQ(some, "");
}

TEST(worker_messages, that_do_not_fit_are_refused) {
    std::string large = pack_message({std::string(100, 'x')});
    EXPECT_FALSE(take_message(large, 107));
    EXPECT_TRUE(take_message(large, 108));
    std::string torn = pack_message({"abc"});
    torn[8] = 4;  // one byte more than there is
    EXPECT_FALSE(take_message(torn, 1000));
    torn[8] = 2;  // a byte that belongs to no field
    EXPECT_FALSE(take_message(torn, 1000));
    torn = pack_message({"abc"});
    for (std::size_t i = 8; i < 16; ++i) torn[i] = '\xff';
    EXPECT_FALSE(take_message(torn, 1000));
}

}  // namespace
}  // namespace yolk
