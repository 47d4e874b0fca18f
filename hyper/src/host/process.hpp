// SPDX-License-Identifier: Apache-2.0
// Child processes: what external programs need of the operating system. POSIX, as Linux has it.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "yolk/hyper/external_program.hpp"

namespace yolk::hyper {

/// " Its standard error ends with: ..." or nothing.
[[nodiscard]] std::string quoted_errors(std::string_view tail);

/// Owns a file descriptor.
class Descriptor {
   public:
    Descriptor() = default;
    explicit Descriptor(int fd) noexcept : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor() { close(); }
    void close() noexcept {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }
    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }

   private:
    int fd_ = -1;
};

/// The parent's ends.
struct Child {
    pid_t id = -1;
    Descriptor in;
    Descriptor out;
    Descriptor err;
};

/// Errors: as check_program's, the operating system's.
[[nodiscard]] Result<Child> spawn(const Program& program);

}  // namespace yolk::hyper
