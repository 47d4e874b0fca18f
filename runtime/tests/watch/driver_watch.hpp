// SPDX-License-Identifier: Apache-2.0
// What a steady state must not do: allocate from the heap, make Vulkan objects. Names no Vulkan type, so that tests of
// the modules above can count as well.
#pragma once

#include <cstdint>
#include <memory>

#include "yolk/device.hpp"

// The heap is counted by standing in for malloc, which sanitizers do themselves.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define YOLK_COUNTS_THE_HEAP 1
#else
#define YOLK_COUNTS_THE_HEAP 0
#endif

namespace yolk::testing {

#if YOLK_COUNTS_THE_HEAP
/// Allocations of the calling thread so far: malloc and its kin, on which operator new stands, too. Those inside a call
/// into a watched driver are the driver's and left out, and so are those of its own threads. Everything else that this
/// thread runs counts: our code, the standard library, libfmt.
[[nodiscard]] std::uint64_t own_allocations() noexcept;
#endif

/// While it lives, calls of a device's driver (layers included) go through wrappers that count the objects made and
/// mark the time inside as the driver's. A function that is not on the list of driver_watch.cpp is called as before,
/// and what it allocates counts as ours: forgetting one fails a test, and hides nothing. One at a time in a process,
/// with nothing in flight on other threads.
class DriverWatch {
   public:
    explicit DriverWatch(const Device& device);
    ~DriverWatch();
    DriverWatch(const DriverWatch&) = delete;
    DriverWatch& operator=(const DriverWatch&) = delete;

    /// Calls of vkCreate... and vkAllocate... since the watch began.
    [[nodiscard]] std::uint64_t objects_created() const noexcept;
    /// Calls of any wrapped function.
    [[nodiscard]] std::uint64_t driver_calls() const noexcept;

   private:
    struct Saved;
    std::unique_ptr<Saved> saved_;
};

}  // namespace yolk::testing
