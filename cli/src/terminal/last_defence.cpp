// SPDX-License-Identifier: Apache-2.0
#include "last_defence.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <csignal>
#include <new>
#include <stdexcept>
#include <system_error>

#include "yolk/internal/core/memory.hpp"

namespace yolk::cli {
namespace {

/// By now what `work` held has been given back: what is left is what the next try finds.
Error ran_out(const std::string& of) {
    const HostMemory memory = host_memory();
    const std::string left = memory.limited_by.empty()
                                 ? std::string()
                                 : fmt::format(" {} are left {} now that the work is given up.",
                                               size_text(memory.available_bytes), memory.limited_by);
    return {ErrorKind::OutOfMemory,
            fmt::format("{}{} Ask for less (a smaller population, shape or count), or make more available.", of, left),
            0};
}

/// Under `ulimit -v`: each of a CPU driver's threads would reserve 64 to 128 MiB of addresses for an arena of its own,
/// and the driver, which does not look at what it is given, would find none left when it compiles. Measured on
/// lavapipe: `train` needs 900 MB of addresses without this, 400 MB with it.
void share_one_arena() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) ::mallopt(M_ARENA_MAX, 1);
}

/// Blocks of 1 MiB and more go back to the system when they are freed, and so does a heap's end of 2 MiB. glibc raises
/// the first limit to the size of each larger block that is freed, up to 32 MiB, and then takes such blocks from heaps.
/// There they leave holes that are too small for the next one. lavapipe 22.3 takes 1 MiB at a page's boundary every 800
/// generations of CartPole on two devices: its thread's heap grew by up to 7 MiB in 6,000 generations (glibc 2.36), and
/// by nothing with this.
void return_large_blocks() {
    constexpr int kReturnedBytes = 1 << 20;
    ::mallopt(M_MMAP_THRESHOLD, kReturnedBytes);
    ::mallopt(M_TRIM_THRESHOLD, 2 * kReturnedBytes);  // the same ratio as glibc's own
}

}  // namespace

Result<int> with_last_defence(const std::function<Result<int>()>& work) {
    share_one_arena();
    return_large_blocks();
    std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit (ulimit -f) fails as a full disk does
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return ran_out("Host memory ran out.");
    } catch (const std::length_error&) {
        return ran_out("More host memory was asked for than an array can have.");
    } catch (const std::system_error& error) {
        return ran_out(fmt::format("The system refused a thread or another resource: {}.", error.what()));
    }
}

}  // namespace yolk::cli
