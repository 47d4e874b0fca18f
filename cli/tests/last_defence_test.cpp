// SPDX-License-Identifier: Apache-2.0
#include "last_defence.hpp"

#include <gmock/gmock.h>
#include <malloc.h>

#include <array>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
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

struct Freed {
    void operator()(void* block) const noexcept { std::free(block); }
};
using Block = std::unique_ptr<void, Freed>;

/// Takes large blocks as lavapipe does: each before the last one is freed, with smaller ones that stay for a while.
void take_large_blocks(int count) {
    constexpr std::size_t kPage = 4096;
    constexpr std::size_t kLarge = (std::size_t{257} * kPage);
    Block large;
    std::array<Block, 16> small;
    for (int i = 0; i < count; ++i) {
        Block next(std::aligned_alloc(kPage, kLarge));
        large = std::move(next);
        const auto place = static_cast<std::size_t>(2 * i) % small.size();
        small[place].reset(std::malloc(1000));
        small[place + 1].reset(std::malloc(200 + 300 * static_cast<std::size_t>(i % 7)));
    }
}

/// glibc by itself puts them into heaps once a larger one was freed, and every heap had a hole of 1 MiB for each.
TEST(last_defence, large_blocks_leave_no_holes_in_heaps) {
    ASSERT_TRUE(with_last_defence([]() -> Result<int> { return 0; }));
    Block(std::malloc(std::size_t{30} << 20)).reset();
    std::thread([] {
        take_large_blocks(1);
        const std::size_t before = ::mallinfo2().arena;
        take_large_blocks(60);
        EXPECT_LE(::mallinfo2().arena, before + (std::size_t{1} << 20));
    }).join();
}

}  // namespace
}  // namespace yolk::cli
