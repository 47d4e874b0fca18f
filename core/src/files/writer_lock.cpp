// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/writer_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "yolk/internal/core/descriptor.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/log.hpp"

namespace yolk {
namespace {

constexpr int kLockAttempts = 16;

/// "by process 123", or "by another process" where the file does not say.
std::string holder_of(const Descriptor& file) {
    std::array<char, 24> text{};
    const ssize_t got = ::pread(file.get(), text.data(), text.size() - 1, 0);
    const std::string number(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    const bool is_number = !number.empty() && number.find_first_not_of("0123456789\n") == std::string::npos;
    return is_number ? "by process " + number.substr(0, number.find('\n')) : "by another process";
}

Error held_error(std::string_view what, const Descriptor& file) {
    return io_error(
        fmt::format("{} is being written {}. Wait until that has ended, or write elsewhere.", what, holder_of(file)),
        EBUSY);
}

}  // namespace

struct WriterLock::Impl {
    std::filesystem::path path;
    Descriptor file;
};

WriterLock::WriterLock() noexcept = default;
WriterLock::WriterLock(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
WriterLock::WriterLock(WriterLock&&) noexcept = default;
WriterLock& WriterLock::operator=(WriterLock&& other) noexcept {
    std::swap(impl_, other.impl_);
    return *this;
}
WriterLock::~WriterLock() {
    // While it is held; what somebody put in its place is not ours.
    if (impl_ != nullptr && is_in_place()) ::unlink(impl_->path.c_str());
}

bool WriterLock::is_in_place() const noexcept { return impl_ == nullptr || is_still_at(impl_->file, impl_->path); }

Result<WriterLock> WriterLock::acquire(const std::filesystem::path& path, std::string_view what) {
    for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
        YOLK_TRY(Descriptor file, open_regular_file(path, O_RDWR | O_CREAT | O_NOFOLLOW));
        if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
            if (errno == EINTR) continue;
            if (errno == EWOULDBLOCK) return held_error(what, file);
            log_info(fmt::format("{} cannot be locked ({}); see to it that nothing else writes there.", what,
                                 std::strerror(errno)));
            ::unlink(path.c_str());
            return WriterLock();
        }
        if (!has_name(file)) continue;  // its last holder removed it just now
        const std::string process = fmt::format("{}\n", ::getpid());
        if (::ftruncate(file.get(), 0) != 0 || ::pwrite(file.get(), process.data(), process.size(), 0) < 0) {
            const int error_number = errno;
            ::unlink(path.c_str());
            return file_error("write the lock file", path, error_number);
        }
        return WriterLock(std::make_unique<Impl>(Impl{path, std::move(file)}));
    }
    return io_error(fmt::format("The lock file '{}' keeps vanishing; try again.", shown(path)), EBUSY);
}

Result<WriterLock> WriterLock::acquire_for_file(const std::filesystem::path& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return WriterLock();
    return acquire(path_beside(path, ".lock"), fmt::format("'{}'", shown(path)));
}

bool is_being_written(const std::filesystem::path& path) {
    const Result<Descriptor> file = open_regular_file(path, O_RDONLY);
    return file && ::flock(file->get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

struct LineLog::Impl {
    std::filesystem::path path;
    Descriptor file;
};

Result<LineLog> LineLog::create(const std::filesystem::path& path, std::uint64_t kept_bytes) {
    YOLK_TRY(Descriptor file, open_for_lines(path));
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return file_error("write", path, errno);
    if (!S_ISREG(status.st_mode)) {
        ::fcntl(file.get(), F_SETFL, ::fcntl(file.get(), F_GETFL) & ~O_NONBLOCK);
        return LineLog(std::make_unique<Impl>(Impl{path, std::move(file)}));
    }
    // A file system without locks fails otherwise, and is written all the same.
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return io_error(fmt::format("'{}' is being written by another process. Wait until that has ended, or write "
                                    "elsewhere.",
                                    shown(path)),
                        EBUSY);
    }
    const auto kept = static_cast<off_t>(std::min(kept_bytes, static_cast<std::uint64_t>(status.st_size)));
    if (::ftruncate(file.get(), kept) != 0 || ::lseek(file.get(), kept, SEEK_SET) < 0)
        return file_error("shorten", path, errno);
    return LineLog(std::make_unique<Impl>(Impl{path, std::move(file)}));
}

Result<void> LineLog::append(std::string line) {
    line += '\n';
    return write_all(impl_->file.get(), std::as_bytes(std::span(line)), impl_->path);
}

}  // namespace yolk
