// SPDX-License-Identifier: Apache-2.0
#include "file_faults.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

namespace yolk::train {
namespace {

struct Armed {
    std::string folder;
    FileFault kind = FileFault::Once;
    std::uint64_t nth = 0;
    std::uint64_t seen = 0;
    std::string injected;
};
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a C function can reach nothing else
Armed* armed = nullptr;

/// Whether the operation fails, with errno set.
bool fails(const char* what, const std::string& path, bool needs_room) {
    if (armed == nullptr || !path.starts_with(armed->folder)) return false;
    const std::uint64_t now = ++armed->seen;
    if (now < armed->nth || (armed->kind == FileFault::Once && now > armed->nth)) return false;
    if (armed->kind == FileFault::DiskFull && !needs_room) return false;
    if (armed->injected.empty()) armed->injected = std::string(what) + " " + path;
    errno = armed->kind == FileFault::DiskFull ? ENOSPC : EIO;
    return true;
}
bool fails(const char* what, int fd, bool needs_room) {
    if (armed == nullptr) return false;
    std::array<char, 4096> target{};
    const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target.data(), target.size() - 1);
    return size > 0 && fails(what, std::string(target.data(), static_cast<std::size_t>(size)), needs_room);
}

template <class Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

FileFaults::FileFaults(const std::filesystem::path& folder, FileFault kind, std::uint64_t nth) {
    static Armed state;
    state = {.folder = folder.string() + "/", .kind = kind, .nth = nth, .seen = 0, .injected = {}};
    armed = &state;
}
FileFaults::~FileFaults() { armed = nullptr; }
const std::string& FileFaults::injected_into() const { return armed->injected; }

}  // namespace yolk::train

// The C library's, for the whole program.
extern "C" {

int open(const char* path, int flags, ...) {
    mode_t mode = 0;
    if ((flags & O_CREAT) != 0) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    if (yolk::train::fails("open", std::string(path), (flags & O_CREAT) != 0)) return -1;
    return yolk::train::next<int (*)(const char*, int, ...)>("open")(path, flags, mode);
}
int rename(const char* from, const char* to) noexcept {
    if (yolk::train::fails("rename", std::string(from), false)) return -1;
    return yolk::train::next<int (*)(const char*, const char*)>("rename")(from, to);
}
int mkdir(const char* path, mode_t mode) noexcept {
    if (yolk::train::fails("mkdir", std::string(path), true)) return -1;
    return yolk::train::next<int (*)(const char*, mode_t)>("mkdir")(path, mode);
}
int rmdir(const char* path) noexcept {
    if (yolk::train::fails("rmdir", std::string(path), false)) return -1;
    return yolk::train::next<int (*)(const char*)>("rmdir")(path);
}
int unlink(const char* path) noexcept {
    if (yolk::train::fails("unlink", std::string(path), false)) return -1;
    return yolk::train::next<int (*)(const char*)>("unlink")(path);
}
ssize_t write(int fd, const void* bytes, size_t size) {
    if (yolk::train::fails("write", fd, true)) return -1;
    return yolk::train::next<ssize_t (*)(int, const void*, size_t)>("write")(fd, bytes, size);
}
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
    if (yolk::train::fails("pwrite", fd, true)) return -1;
    return yolk::train::next<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite")(fd, bytes, size, offset);
}
ssize_t read(int fd, void* bytes, size_t size) {
    if (yolk::train::fails("read", fd, false)) return -1;
    return yolk::train::next<ssize_t (*)(int, void*, size_t)>("read")(fd, bytes, size);
}
ssize_t pread(int fd, void* bytes, size_t size, off_t offset) {
    if (yolk::train::fails("pread", fd, false)) return -1;
    return yolk::train::next<ssize_t (*)(int, void*, size_t, off_t)>("pread")(fd, bytes, size, offset);
}
int ftruncate(int fd, off_t size) noexcept {
    if (yolk::train::fails("ftruncate", fd, false)) return -1;
    return yolk::train::next<int (*)(int, off_t)>("ftruncate")(fd, size);
}
int fsync(int fd) {
    if (yolk::train::fails("fsync", fd, true)) return -1;
    return yolk::train::next<int (*)(int)>("fsync")(fd);
}
int fdatasync(int fd) {
    if (yolk::train::fails("fdatasync", fd, true)) return -1;
    return yolk::train::next<int (*)(int)>("fdatasync")(fd);
}

}  // extern "C"
