// SPDX-License-Identifier: Apache-2.0
// Counts of what a device was asked to do, readable at any time: the basis of "this loop dispatches three kernels"
// tests and of the counts in --json.
#pragma once

#include <atomic>
#include <cstdint>

namespace yolk {

/// A snapshot. All counts since the owner (a Device) was made.
struct OperationCounts {
    std::uint64_t dispatches = 0;         ///< kernels recorded for execution and submitted
    std::uint64_t submissions = 0;        ///< queue submissions
    std::uint64_t pipelines_created = 0;  ///< compute pipelines made, from the cache file or not
    std::uint64_t memory_blocks = 0;      ///< device memory allocations (blocks, not buffers)
    std::uint64_t buffers_created = 0;
    std::uint64_t bytes_uploaded = 0;
    std::uint64_t bytes_downloaded = 0;
};

/// The live counters. Safe to bump from any thread; a snapshot is not atomic across its fields.
struct OperationCounters {
    std::atomic<std::uint64_t> dispatches{0}, submissions{0}, pipelines_created{0}, memory_blocks{0},
        buffers_created{0}, bytes_uploaded{0}, bytes_downloaded{0};

    [[nodiscard]] OperationCounts snapshot() const noexcept {
        return {dispatches.load(),      submissions.load(),    pipelines_created.load(), memory_blocks.load(),
                buffers_created.load(), bytes_uploaded.load(), bytes_downloaded.load()};
    }
};

}  // namespace yolk
