// SPDX-License-Identifier: Apache-2.0
#include "host_room.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "yolk/internal/core/memory.hpp"

namespace yolk {
namespace {

using ::testing::HasSubstr;

DeviceInfo of_kind(DeviceKind kind) {
    DeviceInfo info;
    info.kind = kind;
    return info;
}

TEST(host_room, is_there_for_what_fits) {
    EXPECT_EQ(lacks_host_room(of_kind(DeviceKind::Cpu), 1), "");
    EXPECT_EQ(lacks_host_room(of_kind(DeviceKind::Integrated), 0), "");
}

TEST(host_room, is_missing_for_more_than_the_host_has) {
    const std::uint64_t all = host_memory().available_bytes;
    const std::string cpu = lacks_host_room(of_kind(DeviceKind::Cpu), 2 * all);
    EXPECT_THAT(cpu, HasSubstr("needed in the host's memory, and the driver takes about 128.0 MiB"));
    EXPECT_THAT(cpu, HasSubstr("are left"));
    const std::string integrated = lacks_host_room(of_kind(DeviceKind::Integrated), 2 * all);
    EXPECT_THAT(integrated, HasSubstr(size_text(2 * all)));
    EXPECT_THAT(integrated, ::testing::Not(HasSubstr("compile")));
}

// A CPU driver that has no room to compile in ends the process, so it is not asked to.
TEST(host_room, is_kept_for_a_cpu_driver_under_a_limit_on_address_space) {
    const pid_t child = ::fork();
    if (child == 0) {
        unsigned long pages = 0;
        FILE* const statm = std::fopen("/proc/self/statm", "r");
        const bool read = statm != nullptr && std::fscanf(statm, "%lu", &pages) == 1;
        rlimit limit{};
        ::getrlimit(RLIMIT_AS, &limit);
        limit.rlim_cur = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + kDriverRoomBytes / 2;
        const bool set = ::setrlimit(RLIMIT_AS, &limit) == 0;
        const std::string lacks = lacks_host_room(of_kind(DeviceKind::Cpu), 0);
        const bool right =
            lacks.find("ulimit -v") != std::string::npos && lacks_host_room(of_kind(DeviceKind::Discrete), 0).empty();
        ::_exit(read && set && right ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace yolk
