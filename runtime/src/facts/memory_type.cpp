// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/memory_type.hpp"

#include <algorithm>
#include <cstdlib>

namespace yolk {
namespace {

/// Preferences as a number, the earlier rule the heavier; nothing where a requirement is not met.
std::optional<std::uint32_t> preference(const MemoryTypeInfo& type, MemoryDomain domain) noexcept {
    if (type.special || (domain != MemoryDomain::Device && !type.host_visible)) return std::nullopt;
    const auto bit = [](bool set, std::uint32_t weight) { return set ? weight : 0U; };
    switch (domain) {
        case MemoryDomain::Device: return bit(type.device_local, 2) + bit(!type.host_visible, 1);
        // A discrete GPU's own memory may be visible through a window of 256 MiB only, which is not for staging.
        // Uncached (write-combined) memory takes streams of host writes faster and leaves the cache alone.
        case MemoryDomain::Upload:
            return bit(type.host_coherent, 4) + bit(!type.device_local, 2) + bit(!type.host_cached, 1);
        // Uncached reads by the host are an order of magnitude slower than cached ones; a flush is cheap beside them.
        case MemoryDomain::Readback: return bit(type.host_cached, 2) + bit(type.host_coherent, 1);
    }
    return std::nullopt;
}

}  // namespace

Result<MemoryPolicy> policy_of_device_model(std::string_view value) {
    if (value.empty() || value == "native") return MemoryPolicy::Native;
    if (value == "discrete") return MemoryPolicy::ForceDiscrete;
    return bad_input(
        "YOLK_DEVICE_MODEL is '{}'; it may be 'discrete' (memory as of a discrete GPU: behind staging, and not "
        "coherent), 'native' (as the driver describes it), or unset.",
        value);
}

Result<MemoryPolicy> settled_policy(MemoryPolicy asked) {
    if (asked != MemoryPolicy::Automatic) return asked;
    const char* value = std::getenv("YOLK_DEVICE_MODEL");  // NOLINT(concurrency-mt-unsafe): nothing of ours sets it
    return policy_of_device_model(value != nullptr ? value : "");
}

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

std::uint64_t heap_room(DeviceKind kind, const MemoryHeapInfo& heap) noexcept {
    if (!heap.budget.has_value() || !apart_from_host(kind, heap)) return heap.size_bytes;
    const MemoryBudget& budget = *heap.budget;
    return std::min(heap.size_bytes, budget.budget_bytes - std::min(budget.budget_bytes, budget.used_bytes));
}

bool directly_mappable(const MemoryTypeInfo& type, MemoryPolicy policy) noexcept {
    if (policy == MemoryPolicy::ForceDiscrete && type.device_local) return false;
    return type.host_visible;
}

bool needs_flush(const MemoryTypeInfo& type, MemoryPolicy policy) noexcept {
    return policy == MemoryPolicy::ForceDiscrete || !type.host_coherent;
}

}  // namespace yolk
