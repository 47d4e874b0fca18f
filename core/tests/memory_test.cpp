// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/memory.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace yolk {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

// Sanitizers keep terabytes of address space of their own, and end the process when an allocation fails.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// Of a child whose address space may grow by `more_bytes`: true where `holds` does in it.
bool in_narrow_child(std::uint64_t more_bytes, const std::function<bool()>& holds) {
    const pid_t child = ::fork();
    if (child == 0) {
        rlimit limit{};
        ::getrlimit(RLIMIT_AS, &limit);
        // What is left is what host_memory() says under a limit that changes nothing.
        limit.rlim_cur = std::uint64_t{1} << 46U;
        ::setrlimit(RLIMIT_AS, &limit);
        std::uint64_t pages = 0;
        if (FILE* const statm = std::fopen("/proc/self/statm", "r"); statm != nullptr) {
            if (std::fscanf(statm, "%lu", &pages) != 1) pages = 0;
            std::fclose(statm);
        }
        limit.rlim_cur = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + more_bytes;
        ::setrlimit(RLIMIT_AS, &limit);
        ::_exit(holds() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
#endif

TEST(memory, holds_what_was_asked_for) {
    const auto values = allocate<float>(3, "three numbers", 1.5F);
    ASSERT_TRUE(values);
    EXPECT_EQ(*values, (std::vector<float>{1.5F, 1.5F, 1.5F}));
    EXPECT_TRUE(allocate<char>(0, "nothing"));
}

TEST(memory, above_what_there_is_is_an_error_with_the_sum) {
    for (const std::uint64_t count : {std::uint64_t{1} << 45U, std::uint64_t{1} << 60U, ~std::uint64_t{0}}) {
        const auto values = allocate<double>(count, "the blocks");
        ASSERT_FALSE(values);
        EXPECT_EQ(values.error().kind, ErrorKind::OutOfMemory);
        EXPECT_THAT(values.error().message, HasSubstr("needed for the blocks"));
        EXPECT_THAT(values.error().message, HasSubstr("are left"));
        EXPECT_THAT(values.error().message, HasSubstr("Ask for less"));
    }
    EXPECT_THAT(allocate<double>(std::uint64_t{1} << 45U, "x").error().message, HasSubstr("256.0 TiB"));
}

TEST(memory, is_what_the_system_has_left) {
    const HostMemory memory = host_memory();
    EXPECT_FALSE(memory.limited_by.empty());
    EXPECT_GT(memory.available_bytes, 16 * kMiB);
    EXPECT_LT(memory.available_bytes, std::uint64_t{1} << 46U);
    EXPECT_TRUE(check_host_memory(1, "a byte"));
    EXPECT_FALSE(check_host_memory(memory.available_bytes * 2, "twice that"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(memory, ends_at_the_limit_on_address_space) {
    EXPECT_TRUE(in_narrow_child(64 * kMiB, [] {
        const HostMemory memory = host_memory();
        // Freed memory that went back to the system since is left, too.
        return memory.available_bytes <= 65 * kMiB && memory.limited_by.find("ulimit -v") != std::string::npos;
    }));
    // Refused by the sum, and refused by the allocator, which throws.
    for (const std::uint64_t size : {128 * kMiB, 12 * kMiB}) {
        EXPECT_TRUE(in_narrow_child(size == 12 * kMiB ? 6 * kMiB : 64 * kMiB, [size] {
            const auto bytes = allocate<char>(size, "bytes");
            return !bytes && bytes.error().kind == ErrorKind::OutOfMemory;
        })) << size;
    }
}
#endif

TEST(memory, sizes_have_units) {
    EXPECT_EQ(size_text(0), "0 bytes");
    EXPECT_EQ(size_text(1023), "1023 bytes");
    EXPECT_EQ(size_text(1536), "1.5 KiB");
    EXPECT_EQ(size_text(std::uint64_t{64} << 40U), "64.0 TiB");
}

}  // namespace
}  // namespace yolk
