// SPDX-License-Identifier: Apache-2.0
#include "yolk/oracle/problem_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "yolk/core/memory.hpp"
#include "yolk/runtime/memory_type.hpp"

namespace yolk::oracle {
namespace {

/// 2^63 stands for all that is larger.
std::uint64_t whole_bytes(double bytes) { return static_cast<std::uint64_t>(std::clamp(bytes, 0.0, 0x1p63)); }

}  // namespace

Result<void> check_memory(const Problem& problem, const DeviceInfo& info, double host_copies) {
    const double bytes = problem.work().bytes;
    std::uint64_t largest_heap = 0;
    for (const MemoryHeapInfo& heap : info.heaps) {
        if (apart_from_host(info.kind, heap)) largest_heap = std::max(largest_heap, heap.size_bytes);
    }
    const bool shares = largest_heap == 0;
    const std::string what = fmt::format("the inputs and outputs of {}, {} on the host{}", problem.name(),
                                         host_copies > 1.0 ? fmt::format("{} times", host_copies) : "once",
                                         shares ? " and once in the driver's buffers" : "");
    YOLK_TRY_VOID(check_host_memory(whole_bytes(bytes * (host_copies + (shares ? 1.0 : 0.0))), what));
    if (shares || whole_bytes(bytes) <= largest_heap) return {};
    return Error{ErrorKind::OutOfMemory,
                 fmt::format("The inputs and outputs of {} take {}; the largest heap of '{}' has {}. Take a smaller "
                             "shape.",
                             problem.name(), size_text(whole_bytes(bytes)), info.name, size_text(largest_heap)),
                 0};
}

}  // namespace yolk::oracle
