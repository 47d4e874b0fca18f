// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

#include "yolk/result.hpp"

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

/// Whether the path still leads to the file that was opened by it: it was neither removed nor replaced, nor was a
/// folder on the way.
[[nodiscard]] bool is_still_at(const Descriptor& file, const std::filesystem::path& path) noexcept;

/// Opens a regular file by open's flags, and nothing else; never blocks, and closes in children. Everything of ours
/// that opens a path does so here or in yolk/internal/core/file.hpp, which a test of the repository checks. Errors:
/// BadInput for what is no regular file, which is not opened; Io.
[[nodiscard]] Result<Descriptor> open_regular_file(const std::filesystem::path& path, int flags,
                                                   unsigned permissions = 0644);

/// Opens whatever takes lines of text, and makes a regular file where nothing is: a terminal or a named pipe that has a
/// reader, too. Does not wait for a reader. Error: Io.
[[nodiscard]] Result<Descriptor> open_for_lines(const std::filesystem::path& path);
/// /dev/null, by open's flags; not open where the system has none.
[[nodiscard]] Descriptor open_nowhere(int flags) noexcept;

/// `path` is for the error.
[[nodiscard]] Result<void> write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path);

}  // namespace yolk
