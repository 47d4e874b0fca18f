// SPDX-License-Identifier: Apache-2.0
#include "device_resources.hpp"

#include <gmock/gmock.h>

namespace yolk::cli {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

/// A discrete GPU whose driver tells budgets of one heap.
DeviceInfo discrete() {
    DeviceInfo info;
    info.kind = DeviceKind::Discrete;
    info.heaps = {{.size_bytes = 10 * kGiB, .device_local = true, .budget = MemoryBudget{9 * kGiB, kGiB}},
                  {.size_bytes = 24 * kGiB}};
    info.memory_types = {{.heap = 0, .device_local = true}, {.heap = 1, .host_visible = true, .host_cached = true}};
    info.queue_families = {{.compute = true, .graphics = true, .queue_count = 16, .timestamp_bits = 64},
                           {.queue_count = 2, .timestamp_bits = 64},
                           {.compute = true, .queue_count = 8, .timestamp_bits = 64}};
    return info;
}

TEST(device_resources, memory_for_people) {
    EXPECT_EQ(memory_text(discrete(), MemoryPolicy::Native),
              "10 GiB of its own in 2 heap(s), 2 memory type(s); budget: used 1 GiB of 9 GiB");
    DeviceInfo silent = discrete();
    silent.heaps[0].budget.reset();
    EXPECT_EQ(memory_text(silent, MemoryPolicy::ForceDiscrete),
              "10 GiB of its own in 2 heap(s), 2 memory type(s); used as if it were discrete (YOLK_DEVICE_MODEL)");
}

TEST(device_resources, queues_for_people) {
    EXPECT_EQ(queue_text(discrete()), "family 2 of 3, compute without graphics");
    EXPECT_EQ(queue_text(DeviceInfo()), "none with compute");
}

TEST(device_resources, as_json) {
    const Json heaps = heaps_json(discrete());
    EXPECT_EQ(heaps[0]["budget_bytes"], 9 * kGiB);
    EXPECT_EQ(heaps[0]["used_bytes"], kGiB);
    EXPECT_TRUE(heaps[1]["budget_bytes"].is_null());
    EXPECT_EQ(memory_types_json(discrete())[1]["host_cached"], true);
    const Json families = queue_families_json(discrete());
    ASSERT_EQ(families.size(), 3U);
    EXPECT_EQ(families[0]["chosen"], false);
    EXPECT_EQ(families[2]["chosen"], true);
    EXPECT_EQ(families[2]["queues"], 8);
}

}  // namespace
}  // namespace yolk::cli
