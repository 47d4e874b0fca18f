// SPDX-License-Identifier: Apache-2.0
#include "last_defence.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <new>
#include <system_error>
#include <vector>

namespace yolk::cli {
namespace {

using ::testing::HasSubstr;

TEST(last_defence, gives_what_the_work_gives) {
    const Result<int> three = with_last_defence([]() -> Result<int> { return 3; });
    ASSERT_TRUE(three);
    EXPECT_EQ(*three, 3);
    const Result<int> failed = with_last_defence([]() -> Result<int> { return bad_input("no"); });
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message, "no");
}

TEST(last_defence, makes_errors_of_what_the_standard_library_throws) {
    const std::vector<std::function<Result<int>()>> works{
        []() -> Result<int> { throw std::bad_alloc(); },
        []() -> Result<int> {
            std::vector<int> all;
            all.reserve(std::numeric_limits<std::size_t>::max());  // std::length_error
            return static_cast<int>(all.size());
        },
        []() -> Result<int> { throw std::system_error(EAGAIN, std::generic_category()); }};
    for (const auto& work : works) {
        const Result<int> code = with_last_defence(work);
        ASSERT_FALSE(code);
        EXPECT_EQ(code.error().kind, ErrorKind::OutOfMemory);
        EXPECT_THAT(code.error().message, HasSubstr("are left"));
        EXPECT_THAT(code.error().message, HasSubstr("Ask for less"));
    }
}

}  // namespace
}  // namespace yolk::cli
