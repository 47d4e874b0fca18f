// SPDX-License-Identifier: Apache-2.0
#include "yolk/core/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace yolk {
namespace {

Error file_error(std::string_view action, const std::filesystem::path& path, int error_number) {
    return io_error(fmt::format("Cannot {} '{}': {}.", action, path.string(), std::strerror(error_number)),
                    error_number);
}

/// Owns a descriptor for the length of one function.
class Descriptor {
   public:
    explicit Descriptor(int fd) noexcept : fd_(fd) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { close(); }
    [[nodiscard]] int get() const noexcept { return fd_; }
    /// close() reports write errors of network file systems; call it before trusting the file.
    int close() noexcept {
        const int result = fd_ >= 0 ? ::close(fd_) : 0;
        fd_ = -1;
        return result;
    }

   private:
    int fd_;
};

Result<void> write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return file_error("write", path, errno);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
}

Result<void> write_and_sync(const std::filesystem::path& temporary, std::span<const std::byte> bytes) {
    Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (file.get() < 0) return file_error("create", temporary, errno);
    YOLK_TRY_VOID(write_all(file.get(), bytes, temporary));
    if (::fsync(file.get()) != 0) return file_error("flush", temporary, errno);
    if (file.close() != 0) return file_error("close", temporary, errno);
    return {};
}

}  // namespace

Result<std::vector<std::byte>> read_file(const std::filesystem::path& path, std::size_t limit_bytes) {
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return file_error("open", path, errno);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return file_error("examine", path, errno);
    if (!S_ISREG(status.st_mode)) return bad_input(fmt::format("'{}' is not a regular file.", path.string()));
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size > limit_bytes) {
        return bad_input(fmt::format("'{}' has {} bytes; at most {} are read here.", path.string(), size, limit_bytes));
    }
    std::vector<std::byte> bytes(size);
    std::size_t done = 0;
    while (done < size) {
        const ssize_t got = ::read(file.get(), bytes.data() + done, size - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return file_error("read", path, errno);
        if (got == 0) break;  // it shrank since fstat: what is there is the file
        done += static_cast<std::size_t>(got);
    }
    bytes.resize(done);
    return bytes;
}

Result<void> write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes) {
    // The process id keeps two writers' temporary files apart; the last rename wins, whole.
    const std::filesystem::path temporary = fmt::format("{}.{}.part", path.string(), ::getpid());
    if (auto written = write_and_sync(temporary, bytes); !written) {
        ::unlink(temporary.c_str());
        return written;
    }
    if (::rename(temporary.c_str(), path.c_str()) != 0) {
        const int error_number = errno;
        ::unlink(temporary.c_str());
        return file_error("replace", path, error_number);
    }
    return {};
}

Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view text) {
    return write_file_atomically(path, std::as_bytes(std::span(text)));
}

}  // namespace yolk
