// SPDX-License-Identifier: Apache-2.0
// Makes file operations of this process fail: the C library's functions are replaced in the test's program, and pass
// everything on until a FileFaults lives.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace yolk::train {

enum class FileFault {
    Once,      ///< the nth operation fails with EIO, without effect; what follows works
    Killed,    ///< so do all from the nth on: on the disk it is what a kill before the nth leaves
    DiskFull,  ///< of those from the nth on all that need room fail with ENOSPC
};

/// One at a time, and one thread. Operations are those on paths below `folder`, counted from 1.
class FileFaults {
   public:
    FileFaults(const std::filesystem::path& folder, FileFault kind, std::uint64_t nth);
    ~FileFaults();
    FileFaults(const FileFaults&) = delete;
    FileFaults& operator=(const FileFaults&) = delete;
    /// The operation that failed first, "rename a/metrics.jsonl"; empty where none did.
    [[nodiscard]] const std::string& injected_into() const;
};

}  // namespace yolk::train
