// SPDX-License-Identifier: Apache-2.0
#include "check_progress.hpp"

#include <gmock/gmock.h>

namespace yolk::cli {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

TEST(check_progress, parts_are_read_strictly) {
    const Result<Part> good = parse_part("2/8");
    ASSERT_TRUE(good.has_value());
    EXPECT_EQ(good->number, 2U);
    EXPECT_EQ(good->count, 8U);
    EXPECT_TRUE(parse_part("8/8").has_value());
    for (const char* text : {"", "2", "/", "0/8", "9/8", "2/", "/8", "-1/8", "2/8/3", "2 /8", "a/b"}) {
        const Result<Part> part = parse_part(text);
        ASSERT_FALSE(part.has_value()) << text;
        EXPECT_THAT(part.error().message, HasSubstr("K/N"));
    }
}

TEST(check_progress, says_how_far_it_is) {
    EXPECT_EQ(check_progress_text({"matmul", 0, 20846, 0}, 0.0), "matmul: 0 of 20846 runs");
    EXPECT_EQ(check_progress_text({"matmul", 100, 20846, 0}, 50.0), "matmul: 100 of 20846 runs, 2:52:53 left");
    EXPECT_EQ(check_progress_text({"noise", 5, 10, 1}, 7.0), "noise: 5 of 10 runs, 1 failure, 0:07 left");
    EXPECT_EQ(check_progress_text({"noise", 10, 10, 2}, 7.0), "noise: 10 of 10 runs, 2 failures, 0:00 left");
}

// The tests' standard error is no terminal here, or the rewritten line is not looked at.
TEST(check_progress, writes_a_line_every_half_minute) {
    ::testing::internal::CaptureStderr();
    CheckDisplay display;
    const CheckDisplay::Clock::time_point start{};
    for (int second = 0; second <= 65; ++second) {
        const auto runs = static_cast<std::uint64_t>(second);
        display.show({"matmul", runs, 1000, 0}, start + seconds(second));
        if (second == 40) display.show_failure("matmul", "a case: wrong");
    }
    display.show({"noise", 0, 10, 0}, start + seconds(66));  // another family begins anew
    display.finish();
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              "matmul: 30 of 1000 runs, 16:10 left\nFAILED matmul: a case: wrong\nmatmul: 60 of 1000 runs, 15:40 "
              "left\n");
}

}  // namespace
}  // namespace yolk::cli
