// SPDX-License-Identifier: Apache-2.0
// Choosing a memory type: a pure function of a device's memory tables, tested with those of real GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// What the memory is for.
enum class MemoryDomain {
    Device,    ///< kernels read and write it; the host never looks
    Upload,    ///< the host writes it once, the device reads it (staging, per-generation constants)
    Readback,  ///< the device writes it, the host reads it
};

enum class MemoryPolicy {
    /// What $YOLK_DEVICE_MODEL says: "discrete" is ForceDiscrete; "native", or no such variable, is Native.
    Automatic,
    /// Pretends that device-local memory is not host-visible and that host-visible memory is not coherent, so that
    /// staging and flushing run on drivers with a single memory type. For tests.
    ForceDiscrete,
    /// As the driver describes its memory, whatever the environment says.
    Native,
};

/// The policy of a value of YOLK_DEVICE_MODEL, empty for none. Errors: any other value (says which are allowed).
[[nodiscard]] Result<MemoryPolicy> policy_of_device_model(std::string_view value);
/// `asked`, or, where that is Automatic, what the environment says: ForceDiscrete or Native. Every device that is made
/// or adopted passes here. Errors: as above.
[[nodiscard]] Result<MemoryPolicy> settled_policy(MemoryPolicy asked);

/// Best type among those allowed by `type_bits` (as VkMemoryRequirements::memoryTypeBits), or nothing.
/// Special types never. Device: device-local, then not host-visible. Upload: host-visible required, coherent, then not
/// device-local, then not cached; Readback: host-visible required, cached, then coherent. Ties go to the lower index,
/// as Vulkan orders types by performance.
[[nodiscard]] std::optional<std::uint32_t> select_memory_type(std::span<const MemoryTypeInfo> types,
                                                              std::uint32_t type_bits, MemoryDomain domain);

/// Whether a heap is memory of the device's own, apart from the host's: what a process' resident size does not show.
/// CPU drivers and integrated GPUs call all memory device-local, and it is the host's.
[[nodiscard]] bool apart_from_host(DeviceKind kind, const MemoryHeapInfo& heap) noexcept;

/// What can still be had of a heap: the rest of its budget where the memory is the device's own and the driver says so,
/// else its size. For default budgets; of memory that is the host's, the host knows better (core/memory.hpp).
[[nodiscard]] std::uint64_t heap_room(DeviceKind kind, const MemoryHeapInfo& heap) noexcept;

/// Whether the host may write a Device buffer through a mapping rather than by staging.
[[nodiscard]] bool directly_mappable(const MemoryTypeInfo& type, MemoryPolicy policy) noexcept;
/// Whether writes and reads through the mapping need explicit flushes and invalidations.
[[nodiscard]] bool needs_flush(const MemoryTypeInfo& type, MemoryPolicy policy) noexcept;

}  // namespace yolk
