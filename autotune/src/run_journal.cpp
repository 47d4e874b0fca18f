// SPDX-License-Identifier: Apache-2.0
#include "yolk/autotune/run_journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace yolk::autotune {
namespace {

constexpr int kAttempts = 16;

Error journal_error(const std::filesystem::path& path, const char* what) {
    const int number = errno;
    return io_error(
        fmt::format("The journal '{}' cannot be {}: {}.", path.string(), what, std::generic_category().message(number)),
        number);
}

/// Between making and locking a file somebody may have taken it for abandoned and removed it.
bool is_still_there(int file) {
    struct stat status {};
    return ::fstat(file, &status) == 0 && status.st_nlink > 0;
}

std::string read_whole(int file) {
    std::string text;
    std::array<char, 4096> part{};
    for (off_t at = 0;;) {
        const ssize_t got = ::pread(file, part.data(), part.size(), at);
        if (got <= 0) return text;
        text.append(part.data(), static_cast<std::size_t>(got));
        at += got;
    }
}

}  // namespace

struct RunJournal::Impl {
    /// Closed with its owner, which unlocks it, too.
    class File {
       public:
        explicit File(int file) noexcept : file_(file) {}
        ~File() {
            if (file_ >= 0) ::close(file_);
        }
        File(File&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
        File& operator=(File&&) = delete;
        [[nodiscard]] int get() const noexcept { return file_; }

       private:
        int file_;
    };
    std::filesystem::path path;
    File file;
};

RunJournal::RunJournal(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RunJournal::RunJournal(RunJournal&&) noexcept = default;
RunJournal& RunJournal::operator=(RunJournal&&) noexcept = default;
RunJournal::~RunJournal() {
    if (impl_ != nullptr) ::unlink(impl_->path.c_str());
}

Result<RunJournal> RunJournal::create(const std::filesystem::path& folder) {
    static std::atomic<unsigned> count{0};
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        const std::filesystem::path path = folder / fmt::format("{}-{}", ::getpid(), ++count);
        Impl::File file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        if (file.get() < 0) return journal_error(path, "made");
        if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 || !is_still_there(file.get())) continue;
        return RunJournal(std::make_unique<Impl>(Impl{path, std::move(file)}));
    }
    return journal_error(folder, "made in this folder");
}

Result<void> RunJournal::begin(std::string_view what) {
    const int file = impl_->file.get();
    if (::ftruncate(file, 0) != 0 || ::pwrite(file, what.data(), what.size(), 0) != static_cast<ssize_t>(what.size()) ||
        ::fdatasync(file) != 0)
        return journal_error(impl_->path, "written");
    return {};
}

Result<void> RunJournal::end() {
    if (::ftruncate(impl_->file.get(), 0) != 0) return journal_error(impl_->path, "written");
    return {};
}

std::vector<std::string> RunJournal::take_abandoned(const std::filesystem::path& folder) {
    std::vector<std::string> abandoned;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
        const Impl::File file(::open(entry.path().c_str(), O_RDWR | O_CLOEXEC));
        if (file.get() < 0 || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 || !is_still_there(file.get())) continue;
        if (std::string text = read_whole(file.get()); !text.empty()) abandoned.push_back(std::move(text));
        ::unlink(entry.path().c_str());
    }
    return abandoned;
}

}  // namespace yolk::autotune
