// SPDX-License-Identifier: Apache-2.0
#include "yolk/runtime/memory_type.hpp"

namespace yolk {
namespace {

/// Preferences as a number, the earlier rule the heavier; nothing where a requirement is not met.
std::optional<std::uint32_t> preference(const MemoryTypeInfo& type, MemoryDomain domain) noexcept {
    if (domain != MemoryDomain::Device && !type.host_visible) return std::nullopt;
    const auto bit = [](bool set, std::uint32_t weight) { return set ? weight : 0U; };
    switch (domain) {
        case MemoryDomain::Device: return bit(type.device_local, 2) + bit(!type.host_visible, 1);
        // Uncached (write-combined) memory takes streams of host writes faster and leaves the cache alone.
        case MemoryDomain::Upload: return bit(type.host_coherent, 2) + bit(!type.host_cached, 1);
        // Uncached reads by the host are an order of magnitude slower than cached ones; a flush is cheap beside them.
        case MemoryDomain::Readback: return bit(type.host_cached, 2) + bit(type.host_coherent, 1);
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> select_memory_type(std::span<const MemoryTypeInfo> types, std::uint32_t type_bits,
                                                MemoryDomain domain) {
    std::optional<std::uint32_t> best;
    std::uint32_t best_preference = 0;
    for (std::uint32_t i = 0; i < types.size() && i < 32; ++i) {
        if ((type_bits >> i & 1U) == 0) continue;
        const std::optional<std::uint32_t> found = preference(types[i], domain);
        if (!found.has_value() || (best.has_value() && *found <= best_preference)) continue;
        best = i;
        best_preference = *found;
    }
    return best;
}

bool apart_from_host(DeviceKind kind, const MemoryHeapInfo& heap) noexcept {
    return heap.device_local && kind != DeviceKind::Cpu && kind != DeviceKind::Integrated;
}

bool directly_mappable(const MemoryTypeInfo& type, MemoryPolicy policy) noexcept {
    if (policy == MemoryPolicy::ForceDiscrete && type.device_local) return false;
    return type.host_visible;
}

bool needs_flush(const MemoryTypeInfo& type, MemoryPolicy policy) noexcept {
    return policy == MemoryPolicy::ForceDiscrete || !type.host_coherent;
}

}  // namespace yolk
