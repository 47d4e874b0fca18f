// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/oracle/problem_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "yolk/internal/core/memory.hpp"
#include "yolk/internal/runtime/memory_type.hpp"

namespace yolk::oracle {
namespace {

/// Copies of what is read and of what is written on the host, at most. Counted over the largest case of each family:
/// making inputs and expectations takes up to 6.4 of what is read (perturbed_linear) and 15 of what is written
/// (inverse_sqrt: its oracle's matrices are in double; a Bounded of each word alone is four).
struct Copies {
    double read = 0.0;
    double written = 0.0;
};
constexpr Copies kMaking{6.5, 15.0};
/// A run that is compared: contents and expectations, and what came back as words, as doubles, between guard bands. Up
/// to 18.7 of what is written (perturbed_linear of few inputs and many outputs).
constexpr Copies kProving{4.5, 19.0};
/// Of all buffers on the device: those that are timed, and those of the proof.
constexpr double kDeviceCopies = 2.0;

double bytes_of(const Copies& copies, const BufferBytes& bytes) {
    return copies.read * bytes.read + copies.written * bytes.written;
}

/// 2^63 stands for all that is larger.
std::uint64_t whole_bytes(double bytes) { return static_cast<std::uint64_t>(std::clamp(bytes, 0.0, 0x1p63)); }

}  // namespace

ProofBytes proof_bytes(const Problem& problem) {
    const BufferBytes bytes = problem.buffer_bytes();
    return {.host = std::max(bytes_of(kMaking, bytes), bytes_of(kProving, bytes)), .device = kDeviceCopies * bytes.all};
}

Result<void> check_memory(const Problem& problem, const DeviceInfo& info) {
    const BufferBytes buffers = problem.buffer_bytes();
    const double device_bytes = kDeviceCopies * buffers.all;
    std::uint64_t largest_heap = 0;
    for (const MemoryHeapInfo& heap : info.heaps) {
        if (apart_from_host(info.kind, heap)) largest_heap = std::max(largest_heap, heap.size_bytes);
    }
    const bool shares = largest_heap == 0;
    const std::string what = fmt::format("the inputs and outputs of {} and their proof on the host{}", problem.name(),
                                         shares ? ", the driver's buffers included" : "");
    const double proving = bytes_of(kProving, buffers) + (shares ? device_bytes : 0.0);
    YOLK_TRY_VOID(check_host_memory(whole_bytes(std::max(bytes_of(kMaking, buffers), proving)), what));
    if (shares || whole_bytes(device_bytes) <= largest_heap) return {};
    return Error{ErrorKind::OutOfMemory,
                 fmt::format("The buffers of {} and of its proof take {}; the largest heap of '{}' has {}. Take a "
                             "smaller shape.",
                             problem.name(), size_text(whole_bytes(device_bytes)), info.name, size_text(largest_heap)),
                 0};
}

}  // namespace yolk::oracle
