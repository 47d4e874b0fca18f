// SPDX-License-Identifier: Apache-2.0
// One writer at a time, over processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "yolk/internal/core/owned.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// Holds a lock file, which the destructor removes. The lock ends with its process, however that ends: a lock file that
/// a killed process leaves behind is taken over. On file systems without locks it holds nothing, with a notice.
class WriterLock {
   public:
    /// `path`: of the lock file, whose folder must exist. `what`: what it protects, as in "the output folder 'a'".
    /// Errors, Io: another writer holds it (EBUSY; the message names `what` and the process); it cannot be made.
    [[nodiscard]] static Result<WriterLock> acquire(const std::filesystem::path& path, std::string_view what);
    /// Of a file that a command will write: the lock file is "<path>.lock". Holds nothing where something other than a
    /// regular file has the name.
    [[nodiscard]] static Result<WriterLock> acquire_for_file(const std::filesystem::path& path);

    /// False where the lock file was removed or replaced, or the folder that it is in: others may write there.
    [[nodiscard]] bool is_in_place() const noexcept;

    WriterLock() noexcept;  ///< holds nothing, which is in place
    ~WriterLock();
    WriterLock(WriterLock&&) noexcept;
    WriterLock& operator=(WriterLock&&) noexcept;

   private:
    struct Impl;
    explicit WriterLock(std::unique_ptr<Impl> impl) noexcept;
    std::unique_ptr<Impl> impl_;
};

/// Whether a process holds the lock at this path: the lock file of a WriterLock, or the file of a LineLog. False where
/// there is no such file, or where that cannot be told. Takes a shared lock for an instant.
[[nodiscard]] bool is_being_written(const std::filesystem::path& path);

/// A log that one process writes line by line: a regular file, which is emptied and locked, or whatever else takes
/// text, such as a terminal or a named pipe that has a reader.
class LineLog {
   public:
    /// Of what is in the file the first `kept_bytes` stay. Does not wait for a reader. Errors, Io: another process
    /// writes the file (EBUSY); it cannot be opened.
    [[nodiscard]] static Result<LineLog> create(const std::filesystem::path& path, std::uint64_t kept_bytes = 0);
    /// Adds the newline. On return the system has the line. Error: Io.
    [[nodiscard]] Result<void> append(std::string line);

   private:
    struct Impl;
    explicit LineLog(Owned<Impl> impl) noexcept : impl_(std::move(impl)) {}
    Owned<Impl> impl_;
};

}  // namespace yolk
