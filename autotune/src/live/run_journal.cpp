// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/run_journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "yolk/internal/core/descriptor.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::autotune {
namespace {

constexpr int kAttempts = 16;

Error journal_error(const std::filesystem::path& path, const char* what) {
    const int number = errno;
    return io_error(
        fmt::format("The journal '{}' cannot be {}: {}.", shown(path), what, std::generic_category().message(number)),
        number);
}

/// What create() calls them: a process and a count.
bool is_journal_name(const std::string& name) {
    const std::size_t dash = name.find('-');
    const auto is_number = [](std::string_view text) {
        return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
    };
    return dash != std::string::npos && is_number(std::string_view(name).substr(0, dash)) &&
           is_number(std::string_view(name).substr(dash + 1));
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
    std::filesystem::path path;
    Descriptor file;
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
        Result<Descriptor> opened = open_regular_file(path, O_RDWR | O_CREAT, 0600);
        if (!opened) return std::move(opened).error();
        Descriptor file = std::move(opened).value();
        if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 || !has_name(file)) continue;
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
        if (!is_journal_name(entry.path().filename().string()) || !entry.is_regular_file(ignored)) continue;
        const Result<Descriptor> opened = open_regular_file(entry.path(), O_RDWR);
        if (!opened) continue;
        const Descriptor& file = *opened;
        if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 || !has_name(file)) continue;
        std::string text = read_whole(file.get());
        if (!text.empty() && text.front() != '{') continue;  // the folder is somebody's own, and so is this
        if (!text.empty()) abandoned.push_back(std::move(text));
        ::unlink(entry.path().c_str());
    }
    return abandoned;
}

}  // namespace yolk::autotune
