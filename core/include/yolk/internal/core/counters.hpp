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
    /// Largest sum of the blocks held at a time in memory that is not the host's (a discrete GPU's); 0 elsewhere.
    std::uint64_t peak_device_memory_bytes = 0;
    std::uint64_t bytes_uploaded = 0;
    std::uint64_t bytes_downloaded = 0;
    /// Copied to Readback buffers by recordings: what the host reads without a download. A download's staging counts
    /// too.
    std::uint64_t bytes_read_back = 0;
    /// Handles that a hung device kept: never destroyed, since its work may still use them.
    std::uint64_t abandoned_handles = 0;

    /// Of several devices together.
    friend OperationCounts operator+(const OperationCounts& a, const OperationCounts& b) noexcept {
        return {.dispatches = a.dispatches + b.dispatches,
                .submissions = a.submissions + b.submissions,
                .pipelines_created = a.pipelines_created + b.pipelines_created,
                .memory_blocks = a.memory_blocks + b.memory_blocks,
                .buffers_created = a.buffers_created + b.buffers_created,
                .peak_device_memory_bytes = a.peak_device_memory_bytes + b.peak_device_memory_bytes,
                .bytes_uploaded = a.bytes_uploaded + b.bytes_uploaded,
                .bytes_downloaded = a.bytes_downloaded + b.bytes_downloaded,
                .bytes_read_back = a.bytes_read_back + b.bytes_read_back,
                .abandoned_handles = a.abandoned_handles + b.abandoned_handles};
    }
};

/// The live counters. Safe to bump from any thread; a snapshot is not atomic across its fields.
struct OperationCounters {
    std::atomic<std::uint64_t> dispatches{0}, submissions{0}, pipelines_created{0}, memory_blocks{0},
        buffers_created{0}, peak_device_memory_bytes{0}, bytes_uploaded{0}, bytes_downloaded{0}, bytes_read_back{0},
        abandoned_handles{0};

    [[nodiscard]] OperationCounts snapshot() const noexcept {
        return {.dispatches = dispatches.load(),
                .submissions = submissions.load(),
                .pipelines_created = pipelines_created.load(),
                .memory_blocks = memory_blocks.load(),
                .buffers_created = buffers_created.load(),
                .peak_device_memory_bytes = peak_device_memory_bytes.load(),
                .bytes_uploaded = bytes_uploaded.load(),
                .bytes_downloaded = bytes_downloaded.load(),
                .bytes_read_back = bytes_read_back.load(),
                .abandoned_handles = abandoned_handles.load()};
    }
};

}  // namespace yolk
