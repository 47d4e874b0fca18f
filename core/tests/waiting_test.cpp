// SPDX-License-Identifier: Apache-2.0
// Work and waits that look at a stop request, and waits that say what they wait for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "yolk/internal/core/host_work.hpp"
#include "yolk/internal/core/wait_notice.hpp"

namespace yolk {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

class stopping : public ::testing::Test {
   protected:
    void SetUp() override { clear_stop(); }
    void TearDown() override { clear_stop(); }
};

TEST_F(stopping, work_gives_its_value) {
    EXPECT_EQ(long_work([] { return 42; }), 42);
    request_stop();
    EXPECT_EQ(long_work([] { return 43; }), 43) << "nobody has said how to end the process";
}

TEST_F(stopping, work_that_takes_long_ends_the_process_within_a_second) {
    const auto ends_process = [] {
        const EndsAtStop words([] {
            std::fputs("the last words\n", stderr);
            return 3;
        });
        std::thread asks([] {
            std::this_thread::sleep_for(milliseconds(150));
            request_stop();
        });
        long_work([] { std::this_thread::sleep_for(seconds(60)); });
        asks.join();
    };
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EXIT(ends_process(), ::testing::ExitedWithCode(3), "the last words");
    EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds(45))
        << "a second, on a busy machine; the work takes 60";
}

TEST(wait_notice, tells_after_seconds_and_then_ever_more_seldom) {
    int asked = 0;
    WaitNotice notice(
        [&] {
            ++asked;
            return std::string("rank 2");
        },
        seconds(120));
    ::testing::internal::CaptureStderr();
    for (int second = 0; second <= 60; ++second) notice.look(seconds(second));
    const std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(asked, 3);
    EXPECT_THAT(log, HasSubstr("Waiting for rank 2 for 5 s; given up after 120 s."));
    EXPECT_THAT(log, HasSubstr("Waiting for rank 2 for 15 s;"));
    EXPECT_THAT(log, HasSubstr("Waiting for rank 2 for 45 s;"));
}

TEST(wait_notice, says_nothing_of_a_limit_that_is_near) {
    WaitNotice notice([] { return std::string("x"); }, seconds(2));
    ::testing::internal::CaptureStderr();
    for (int second = 0; second <= 10; ++second) notice.look(seconds(second));
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace yolk
