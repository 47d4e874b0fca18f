// SPDX-License-Identifier: Apache-2.0
// Which configuration this process is about to run, on disk before it runs: what a crash, a hang that somebody ends or
// a dead machine leave behind for the next run to read.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/result.hpp"

namespace yolk::autotune {

/// A file of this process's own in a folder, locked as long as the process lives. One thread at a time.
class RunJournal {
   public:
    /// Error (Io): folder or file cannot be made.
    [[nodiscard]] static Result<RunJournal> create(const std::filesystem::path& folder);
    ~RunJournal();  ///< removes the file
    RunJournal(RunJournal&&) noexcept;
    RunJournal& operator=(RunJournal&&) noexcept;

    /// `what`: a JSON object. On the disk when it returns.
    [[nodiscard]] Result<void> begin(std::string_view what);
    [[nodiscard]] Result<void> end();

    /// What processes that are gone had begun and not ended; their files are removed. Those of living ones stay, and so
    /// does what create() would not call a journal, or does not begin as JSON: the folder may be somebody's own.
    [[nodiscard]] static std::vector<std::string> take_abandoned(const std::filesystem::path& folder);

   private:
    struct Impl;
    explicit RunJournal(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace yolk::autotune
