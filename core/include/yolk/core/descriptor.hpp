// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

#include "yolk/core/result.hpp"

namespace yolk {

/// "Cannot <action> '<path>': <reason>.", of kind Io.
[[nodiscard]] Error file_error(std::string_view action, const std::filesystem::path& path, int error_number);

/// Owns a file descriptor, which also ends a flock on it.
class Descriptor {
   public:
    explicit Descriptor(int fd = -1) noexcept : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor() { close(); }
    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
    /// Whoever takes it closes it.
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
    /// close() reports write errors of network file systems; call it before trusting the file.
    int close() noexcept {
        const int fd = std::exchange(fd_, -1);
        return fd >= 0 ? ::close(fd) : 0;
    }

   private:
    int fd_;
};

/// Between opening a file and locking it, another process may have removed it.
[[nodiscard]] bool has_name(const Descriptor& file) noexcept;

/// `path` is for the error.
[[nodiscard]] Result<void> write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path);

}  // namespace yolk
