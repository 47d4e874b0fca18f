// SPDX-License-Identifier: Apache-2.0
#include "descriptor_check.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

/// A driver that closes what it refuses, and another thread that opens a file before we look: `reopened` makes one.
template <class Reopened>
void refuse_and_reopen(int original, const Reopened& reopened) {
    ASSERT_OK_AND_ASSIGN(Descriptor given, duplicate(original, "the buffer [a]"));
    const int number = given.get();
    ASSERT_EQ(::close(number), 0);
    const Descriptor others(reopened());
    ASSERT_EQ(others.get(), number) << "the lowest that is free";
    close_refused(std::move(given), original);
    EXPECT_TRUE(is_open(number));
}

TEST(refused_descriptors, are_closed_where_the_driver_left_them) {
    const Descriptor original(::memfd_create("memory", MFD_CLOEXEC));
    ASSERT_OK_AND_ASSIGN(Descriptor given, duplicate(original.get(), "the buffer [a]"));
    const int number = given.get();
    close_refused(std::move(given), original.get());
    EXPECT_FALSE(is_open(number));
    EXPECT_TRUE(is_open(original.get()));
}

TEST(refused_descriptors, are_left_alone_where_the_driver_closed_them) {
    const Descriptor original(::memfd_create("memory", MFD_CLOEXEC));
    ASSERT_OK_AND_ASSIGN(Descriptor given, duplicate(original.get(), "the buffer [a]"));
    ASSERT_EQ(::close(given.get()), 0);
    close_refused(std::move(given), original.get());
    EXPECT_TRUE(is_open(original.get()));
}

TEST(refused_descriptors, are_not_confused_with_another_threads) {
    const Descriptor memory(::memfd_create("memory", MFD_CLOEXEC));
    refuse_and_reopen(memory.get(), [] { return ::memfd_create("another", MFD_CLOEXEC); });
    // All of these files share one inode: semaphores of a GPU's driver are such files.
    const Descriptor anonymous(::eventfd(0, EFD_CLOEXEC));
    refuse_and_reopen(anonymous.get(), [] { return ::eventfd(0, EFD_CLOEXEC); });
}

}  // namespace
}  // namespace yolk
