// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

#include "yolk/internal/core/descriptor.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/kept_file.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk {
namespace {

constexpr int kPartAttempts = 64;
/// Of a point, two numbers with a dash and the ending, at most.
constexpr std::size_t kPartNumberBytes = 32;
constexpr std::size_t kLongestName = 255;  // NAME_MAX, of every file system in use
constexpr std::size_t kUnknownSizeStep = std::size_t{1} << 16U;
constexpr std::string_view kPartEnding = ".part";

std::string_view kind_of(mode_t mode) {
    if (S_ISDIR(mode)) return "a folder";
    if (S_ISFIFO(mode)) return "a named pipe";
    if (S_ISSOCK(mode)) return "a socket";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
    return "something else";
}

Error not_regular(const std::filesystem::path& path, mode_t mode) {
    return bad_input("'{}' is {}; a regular file is needed here.", shown(path), kind_of(mode));
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
    return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

/// A name that was made or changed in it survives a power failure.
Result<void> sync_folder(const std::filesystem::path& folder) {
    const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (opened.get() < 0) return {};  // one may write to a folder that one may not read; then there is no way
    if (::fsync(opened.get()) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS) return {};
    return file_error("flush the folder", folder, errno);
}

/// What the names of a path's temporary files begin with.
std::filesystem::path part_stem(const std::filesystem::path& path) {
    std::string beside = path_beside(path, std::string(kPartNumberBytes, '-')).string();
    beside.resize(beside.size() - kPartNumberBytes);
    return beside;
}

struct Part {
    std::filesystem::path path;
    Descriptor file;
};

/// A new file, locked so that nobody takes it for abandoned. The number keeps the writers of one process apart.
Result<Part> create_part(const std::filesystem::path& path) {
    static std::atomic<unsigned> count{0};
    const std::filesystem::path stem = part_stem(path);
    for (int attempt = 0; attempt < kPartAttempts; ++attempt) {
        std::filesystem::path name = fmt::format("{}.{}-{}{}", stem.string(), ::getpid(), ++count, kPartEnding);
        Descriptor file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
        if (file.get() < 0 && errno == EEXIST) continue;  // of a process that had our number
        if (file.get() < 0) return file_error("create", name, errno);
        // Where there are no locks nobody can take it away, either.
        if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) continue;
        if (has_name(file)) return Part{std::move(name), std::move(file)};
    }
    return io_error(fmt::format("Cannot create a temporary file beside '{}'.", shown(path)), EEXIST);
}

/// The part stays open, hence locked, until it has its final name.
Result<void> write_and_rename(Part& part, const std::filesystem::path& path, std::span<const std::byte> bytes) {
    YOLK_TRY_VOID(write_all(part.file.get(), bytes, part.path));
    if (::fsync(part.file.get()) != 0) return file_error("flush", part.path, errno);
    if (::rename(part.path.c_str(), path.c_str()) != 0) return file_error("replace", path, errno);
    return {};
}

/// Whether `name` is `target`, a point, digits with at most one dash among them, and the ending.
bool is_part_of(std::string_view name, std::string_view target) {
    if (!name.starts_with(target) || !name.ends_with(kPartEnding)) return false;
    if (name.size() < target.size() + kPartEnding.size() + 2 || name[target.size()] != '.') return false;
    const std::string_view number =
        name.substr(target.size() + 1, name.size() - target.size() - 1 - kPartEnding.size());
    return number.find_first_not_of("0123456789-") == std::string_view::npos && number.front() != '-';
}

void remove_where_abandoned(const std::filesystem::path& part) noexcept {
    const Descriptor file(::open(part.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
    struct stat status {};
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && has_name(file)) ::unlink(part.c_str());
}

/// Looking through a large folder takes longer than the write, so that it is done once for each path.
bool is_first_write(const std::filesystem::path& path) {
    static std::mutex mutex;
    static std::set<std::string> written;
    const std::lock_guard lock(mutex);
    return written.insert(path.string()).second;
}

}  // namespace

Error file_error(std::string_view action, const std::filesystem::path& path, int error_number) {
    return io_error(fmt::format("Cannot {} '{}': {}.", action, shown(path), std::strerror(error_number)), error_number);
}

Result<void> write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return file_error("write", path, errno);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
}

bool has_name(const Descriptor& file) noexcept {
    struct stat status {};
    return ::fstat(file.get(), &status) == 0 && status.st_nlink > 0;
}

bool is_still_at(const Descriptor& file, const std::filesystem::path& path) noexcept {
    struct stat opened {
    }, found{};
    return ::fstat(file.get(), &opened) == 0 && ::stat(path.c_str(), &found) == 0 && opened.st_dev == found.st_dev &&
           opened.st_ino == found.st_ino;
}

std::filesystem::path path_beside(const std::filesystem::path& path, std::string_view ending) {
    std::string name = path.filename().string();
    if (name.size() + ending.size() > kLongestName && name.size() <= kLongestName) {
        const std::string mark = fmt::format("~{:016x}", hash64(std::as_bytes(std::span(name))));
        name.resize(kLongestName - std::min(kLongestName, ending.size() + mark.size()));
        name += mark;
    }
    return std::filesystem::path(path).replace_filename(name += ending);
}

Result<void> check_regular_file(const std::filesystem::path& path) {
    // Whoever takes C strings would see another file.
    if (path.native().find('\0') != std::string::npos)
        return bad_input("A path of {} bytes has a zero byte in it, which no name has.", path.native().size());
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return not_regular(path, status.st_mode);
    return {};
}

Result<Descriptor> open_regular_file(const std::filesystem::path& path, int flags, unsigned permissions) {
    // Before opening, which has effects on devices; and after it, in case the path leads elsewhere by then.
    YOLK_TRY_VOID(check_regular_file(path));
    Descriptor file(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, permissions));
    if (!file.is_open()) return file_error((flags & O_CREAT) != 0 ? "write" : "open", path, errno);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return file_error("examine", path, errno);
    if (!S_ISREG(status.st_mode)) return not_regular(path, status.st_mode);
    return file;
}

Result<Descriptor> open_for_lines(const std::filesystem::path& path) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644));
    if (file.is_open()) return file;
    if (errno != ENXIO) return file_error("write", path, errno);
    return io_error(fmt::format("'{}' is a socket, or a named pipe that nothing reads.", shown(path)), ENXIO);
}

Descriptor open_nowhere(int flags) noexcept { return Descriptor(::open("/dev/null", flags)); }

Result<std::vector<std::byte>> read_file(const std::filesystem::path& path, std::size_t limit_bytes) {
    YOLK_TRY(const Descriptor file, open_regular_file(path, O_RDONLY));
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return file_error("examine", path, errno);
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size > limit_bytes) {
        return bad_input("'{}' has {} bytes; at most {} are read here.", shown(path), size, limit_bytes);
    }
    std::vector<std::byte> bytes(size);
    std::size_t done = 0;
    while (true) {
        if (done == bytes.size()) {
            // The system makes files up as they are read, and says that they are empty.
            if (size != 0 || done == limit_bytes) break;
            bytes.resize(std::min(limit_bytes, done + kUnknownSizeStep));
        }
        const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return file_error("read", path, errno);
        if (got == 0) break;  // it shrank since fstat: what is there is the file
        done += static_cast<std::size_t>(got);
    }
    bytes.resize(done);
    return bytes;
}

Result<void> write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes) {
    YOLK_TRY_VOID(check_regular_file(path));
    if (is_first_write(path)) remove_abandoned_parts(path);
    YOLK_TRY(Part part, create_part(path));
    if (auto written = write_and_rename(part, path, bytes); !written) {
        ::unlink(part.path.c_str());
        return written;
    }
    if (part.file.close() != 0) return file_error("close", path, errno);
    return sync_folder(folder_of(path));
}

Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view text) {
    return write_file_atomically(path, std::as_bytes(std::span(text)));
}

Result<void> replace_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
    YOLK_TRY(const Part part, create_part(path));
    Result<void> written = write_all(part.file.get(), bytes, part.path);
    if (written && ::rename(part.path.c_str(), path.c_str()) != 0) written = file_error("replace", path, errno);
    if (!written) ::unlink(part.path.c_str());
    return written;
}

Result<void> rename_durably(const std::filesystem::path& from, const std::filesystem::path& to) {
    if (::rename(from.c_str(), to.c_str()) != 0) return file_error("rename", from, errno);
    YOLK_TRY_VOID(sync_folder(folder_of(to)));
    if (folder_of(from) != folder_of(to)) YOLK_TRY_VOID(sync_folder(folder_of(from)));
    return {};
}

Result<void> remove_file(const std::filesystem::path& path) {
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
    return file_error("remove", path, errno);
}

void remove_abandoned_parts(const std::filesystem::path& path) noexcept {
    const std::string target = part_stem(path).filename().string();
    std::error_code ignored;
    std::filesystem::directory_iterator entry(folder_of(path), ignored);
    for (; !ignored && entry != std::filesystem::directory_iterator(); entry.increment(ignored)) {
        if (is_part_of(entry->path().filename().string(), target)) remove_where_abandoned(entry->path());
    }
}

Result<void> create_folders(const std::filesystem::path& folder) {
    std::filesystem::path made;
    for (const std::filesystem::path& name : folder) {
        made /= name;
        if (::mkdir(made.c_str(), 0777) == 0) {
            YOLK_TRY_VOID(sync_folder(folder_of(made)));
        } else if (errno != EEXIST && errno != EISDIR) {
            const int error_number = errno;
            std::error_code ignored;
            if (!std::filesystem::is_directory(made, ignored)) return file_error("make", made, error_number);
        }
    }
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder, ignored)) return file_error("make", folder, ENOTDIR);
    return {};
}

}  // namespace yolk
