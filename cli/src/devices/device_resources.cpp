// SPDX-License-Identifier: Apache-2.0
#include "device_resources.hpp"

#include <fmt/format.h>

#include "output.hpp"
#include "yolk/internal/runtime/queue_family.hpp"

namespace yolk::cli {

std::string memory_text(const DeviceInfo& info, MemoryPolicy policy) {
    std::uint64_t own = 0;
    std::string budgets;
    for (const MemoryHeapInfo& heap : info.heaps) {
        own += heap.device_local ? heap.size_bytes : 0;
        if (!heap.budget) continue;
        budgets += fmt::format("{}{} of {}", budgets.empty() ? "; budget: used " : ", ",
                               bytes_text(heap.budget->used_bytes), bytes_text(heap.budget->budget_bytes));
    }
    return fmt::format(
        "{} of its own in {} heap(s), {} memory type(s){}{}", bytes_text(own), info.heaps.size(),
        info.memory_types.size(), budgets,
        policy == MemoryPolicy::ForceDiscrete ? "; used as if it were discrete (YOLK_DEVICE_MODEL)" : "");
}

std::string queue_text(const DeviceInfo& info) {
    const auto chosen = select_queue_family(info.queue_families);
    if (!chosen) return "none with compute";
    const QueueFamilyInfo& family = info.queue_families[*chosen];
    return fmt::format("family {} of {}, {}", *chosen, info.queue_families.size(),
                       family.graphics ? "graphics and compute" : "compute without graphics");
}

Json heaps_json(const DeviceInfo& info) {
    Json heaps = Json::array();
    for (const MemoryHeapInfo& heap : info.heaps) {
        heaps.push_back({{"size_bytes", heap.size_bytes},
                         {"device_local", heap.device_local},
                         {"budget_bytes", heap.budget ? Json(heap.budget->budget_bytes) : Json()},
                         {"used_bytes", heap.budget ? Json(heap.budget->used_bytes) : Json()}});
    }
    return heaps;
}

Json memory_types_json(const DeviceInfo& info) {
    Json types = Json::array();
    for (const MemoryTypeInfo& type : info.memory_types) {
        types.push_back({{"heap", type.heap},
                         {"device_local", type.device_local},
                         {"host_visible", type.host_visible},
                         {"host_coherent", type.host_coherent},
                         {"host_cached", type.host_cached},
                         {"special", type.special}});
    }
    return types;
}

Json queue_families_json(const DeviceInfo& info) {
    const auto chosen = select_queue_family(info.queue_families);
    Json families = Json::array();
    for (std::size_t i = 0; i < info.queue_families.size(); ++i) {
        const QueueFamilyInfo& family = info.queue_families[i];
        families.push_back({{"compute", family.compute},
                            {"graphics", family.graphics},
                            {"queues", family.queue_count},
                            {"timestamp_bits", family.timestamp_bits},
                            {"chosen", chosen == i}});
    }
    return families;
}

}  // namespace yolk::cli
