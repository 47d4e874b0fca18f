// SPDX-License-Identifier: Apache-2.0
#include "descriptor_check.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace yolk {
namespace {

/// Eventfds, semaphores and the like share one inode, which tells nothing.
bool same_regular_file(int one, int other) noexcept {
    struct stat of_one {};
    struct stat of_other {};
    return ::fstat(one, &of_one) == 0 && ::fstat(other, &of_other) == 0 && S_ISREG(of_one.st_mode) &&
           of_one.st_dev == of_other.st_dev && of_one.st_ino == of_other.st_ino;
}

}  // namespace

Result<void> check_open(int fd, std::string_view what) {
    if (fd >= 0 && ::fcntl(fd, F_GETFD) >= 0) return {};
    return bad_input("Cannot import {}: its descriptor {} is not open.", what, fd);
}

Result<void> check_memory_descriptor(DeviceKind kind, int fd, std::uint64_t bytes, std::string_view what) {
    YOLK_TRY_VOID(check_open(fd, what));
    struct stat file {};
    if (::fstat(fd, &file) != 0) {
        return io_error(
            fmt::format("Cannot import {}: its descriptor {} cannot be examined: {}.", what, fd, std::strerror(errno)),
            errno);
    }
    const bool stream = S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode) || S_ISDIR(file.st_mode);
    // A dma-buf may say its size to lseek alone, which moves nothing there.
    const off_t end = S_ISREG(file.st_mode) || stream ? 0 : ::lseek(fd, 0, SEEK_END);
    const auto size = static_cast<std::uint64_t>(std::max<off_t>({file.st_size, end, 0}));
    if (stream || (kind == DeviceKind::Cpu && size == 0)) {
        return bad_input("Cannot import {}: its descriptor {} is not memory. Give the one that was exported.", what,
                         fd);
    }
    if (size == 0 || size >= bytes) return {};
    return bad_input("Cannot import {}: its descriptor {} holds {} bytes, and the handle says {}.", what, fd, size,
                     bytes);
}

Result<Descriptor> duplicate(int fd, std::string_view what) {
    Descriptor copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (copy.is_open()) return copy;
    return io_error(
        fmt::format("Cannot import {}: its descriptor {} cannot be duplicated: {}.", what, fd, std::strerror(errno)),
        errno);
}

std::unique_lock<std::mutex> hand_over() {
    static std::mutex mutex;
    return std::unique_lock(mutex);
}

void close_refused(Descriptor given, int original) noexcept {
    const pid_t self = ::getpid();
    const long order = ::syscall(SYS_kcmp, self, self, KCMP_FILE, original, given.get());
    const bool unknown = order < 0 && errno != EBADF;
    if (order != 0 && !(unknown && same_regular_file(original, given.get()))) leave_to_driver(std::move(given));
}

}  // namespace yolk
