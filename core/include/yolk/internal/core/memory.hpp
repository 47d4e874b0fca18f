// SPDX-License-Identifier: Apache-2.0
// Host memory whose amount follows from what a user asked for: too much of it is an error that names the sum, not an
// abort. Memory that does not grow with the input (names, plans, tables of knobs) is taken plainly.
#pragma once

#include <cstdint>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/result.hpp"

namespace yolk {

/// What this process can still take.
struct HostMemory {
    std::uint64_t available_bytes = std::numeric_limits<std::uint64_t>::max();
    std::string limited_by{};  ///< what sets the bound, as the end of a sentence; empty where nothing is known
};

/// The least of: what the system has left (MemAvailable and free swap), what the process's control groups leave (a
/// container's limit; cgroup v2), what the limit on its address space leaves (`ulimit -v`). Reads /proc, about 50 us.
/// Memory that was taken and never written to counts as left, except under `ulimit -v`.
[[nodiscard]] HostMemory host_memory();

/// Error (OutOfMemory) where `size_bytes` is above what host_memory() leaves; `what` it is for completes "for ...".
[[nodiscard]] Result<void> check_host_memory(std::uint64_t size_bytes, std::string_view what);

/// "64.0 MiB"; bytes below a KiB as they are.
[[nodiscard]] std::string size_text(std::uint64_t size_bytes);

namespace detail {
/// Smaller requests go to the allocator without a look at /proc: the system lends at least so much.
inline constexpr std::uint64_t kWorthAsking = std::uint64_t{16} << 20U;
[[nodiscard]] Error no_host_memory(std::uint64_t size_bytes, std::string_view what);
}  // namespace detail

/// `count` elements, each `value`. Error (OutOfMemory): more than there is, before any of it is taken where Linux would
/// lend it and end the process later. This, parse_json() and autotune's RecordedSurface::read()
/// are the places that catch what the allocator throws.
template <class T>
[[nodiscard]] Result<std::vector<T>> allocate(std::uint64_t count, std::string_view what, const T& value = T()) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t size_bytes = count > kMost / sizeof(T) ? kMost : count * sizeof(T);
    if (size_bytes >= detail::kWorthAsking) YOLK_TRY_VOID(check_host_memory(size_bytes, what));
    try {
        return std::vector<T>(static_cast<std::size_t>(count), value);
    } catch (const std::bad_alloc&) {
        return detail::no_host_memory(size_bytes, what);
    } catch (const std::length_error&) {
        return detail::no_host_memory(size_bytes, what);
    }
}

}  // namespace yolk
