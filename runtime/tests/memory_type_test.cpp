// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/memory_type.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <optional>
#include <vector>

#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/variable.hpp"

namespace yolk {
namespace {

using yolk::testing::expect_error;

constexpr std::uint32_t kAll = 0xFFFFFFFFU;

// Properties, as the tables of vulkan.gpuinfo.org abbreviate them.
MemoryTypeInfo type(std::uint32_t heap, const char* properties) {
    MemoryTypeInfo info{.heap = heap};
    for (const char* p = properties; *p != '\0'; ++p) {
        info.device_local = info.device_local || *p == 'D';
        info.host_visible = info.host_visible || *p == 'V';
        info.host_coherent = info.host_coherent || *p == 'C';
        info.host_cached = info.host_cached || *p == 'c';
        info.special = info.special || *p == 's';
    }
    return info;
}

// Heaps 0: 10 GiB local, 1: host, 2: 256 MiB BAR.
const std::vector<MemoryTypeInfo> kNvidiaDiscrete{type(1, ""), type(0, "D"), type(1, "VC"), type(1, "VCc"),
                                                  type(2, "DVC")};
// radv without resizable BAR. Heaps 0: 7.75 GiB local, 1: host, 2: 256 MiB local and visible.
const std::vector<MemoryTypeInfo> kAmdSmallBar{type(0, "D"), type(1, "VC"), type(2, "DVC"), type(1, "VCc")};
// radv with resizable BAR: all of local memory is visible, the type without the mapping is still first.
const std::vector<MemoryTypeInfo> kAmdLargeBar{type(0, "D"), type(1, "VC"), type(0, "DVC"), type(1, "VCc")};
// anv, with last-level cache: one heap.
const std::vector<MemoryTypeInfo> kIntelIntegrated{type(0, "D"), type(0, "DVC"), type(0, "DVCc")};
// Mali: unified memory, the cached type is not coherent.
const std::vector<MemoryTypeInfo> kMali{type(0, "DVC"), type(0, "DVCc"), type(0, "DVc")};
const std::vector<MemoryTypeInfo> kMaliNonCoherentCache{type(0, "DVC"), type(0, "DVc")};
const std::vector<MemoryTypeInfo> kLavapipe{type(0, "DVCc")};
// AMD's own driver, resizable BAR: each type once more, device-coherent and uncached (s: a feature that is not
// enabled).
const std::vector<MemoryTypeInfo> kAmdWindows{type(0, "D"),  type(0, "DVC"),  type(1, "VC"),  type(1, "VCc"),
                                              type(0, "Ds"), type(0, "DVCs"), type(1, "VCs"), type(1, "VCcs")};
// The same, were the special types listed first: a rule, not the order, keeps them away.
const std::vector<MemoryTypeInfo> kSpecialFirst{type(0, "Ds"), type(1, "VCs"), type(1, "VCcs"),
                                                type(0, "D"),  type(1, "VC"),  type(1, "VCc")};
// anv on Arc. Heaps 0: local, 1: host; with a resizable BAR all local memory is visible.
const std::vector<MemoryTypeInfo> kIntelArc{type(0, "D"), type(1, "VCc"), type(0, "DVC")};
// As Mesa 26.1.6 lists them on null devices. radv, navi31: heaps 0: host, 1: local; special types last.
const std::vector<MemoryTypeInfo> kRadv{type(1, "D"),   type(1, "D"),    type(0, "VC"),  type(1, "DVC"),
                                        type(1, "DVC"), type(0, "VCc"),  type(0, "VCc"), type(1, "Ds"),
                                        type(0, "VCs"), type(1, "DVCs"), type(0, "VCcs")};
// NVK, GA102: no uncached memory of the host.
const std::vector<MemoryTypeInfo> kNvk{type(0, "D"), type(0, "DVC"), type(1, "VCc")};
const std::vector<MemoryTypeInfo> kHoneykrisp{type(0, "DVCc"), type(0, "DVC")};
// Turnip, Adreno 730: one heap, a cached type that is not coherent, and a lazily allocated one.
const std::vector<MemoryTypeInfo> kTurnip{type(0, "DVC"), type(0, "DVCc"), type(0, "DVc"), type(0, "Ds")};
// MoltenVK on Apple silicon: unified, without a mapping first, lazily allocated last.
const std::vector<MemoryTypeInfo> kApple{type(0, "D"), type(0, "DVCc"), type(0, "Ds")};
// Radeon integrated, radv: two heaps of the host's memory, the smaller one reserved at boot.
const std::vector<MemoryTypeInfo> kAmdIntegrated{type(0, "D"), type(1, "D"), type(0, "DVC"), type(1, "DVCc")};

struct Case {
    const char* gpu;
    const std::vector<MemoryTypeInfo>* types;
    std::uint32_t device, upload, readback;
};

TEST(memory_type, tables_of_real_gpus) {
    const std::array<Case, 16> cases{{
        {"NVIDIA discrete", &kNvidiaDiscrete, 1, 2, 3},
        {"AMD, 256 MiB BAR", &kAmdSmallBar, 0, 1, 3},
        {"AMD, resizable BAR", &kAmdLargeBar, 0, 1, 3},
        {"Intel integrated", &kIntelIntegrated, 0, 1, 2},
        {"Mali", &kMali, 0, 0, 1},
        {"Mali, cache not coherent", &kMaliNonCoherentCache, 0, 0, 1},
        {"lavapipe", &kLavapipe, 0, 0, 0},
        {"AMD on Windows", &kAmdWindows, 0, 2, 3},
        {"special types first", &kSpecialFirst, 3, 4, 5},
        {"Intel Arc", &kIntelArc, 0, 1, 1},
        {"radv, navi31", &kRadv, 0, 2, 5},
        {"NVK, GA102", &kNvk, 0, 2, 2},
        {"Honeykrisp, M1", &kHoneykrisp, 0, 1, 0},
        {"Turnip, Adreno 730", &kTurnip, 0, 0, 1},
        {"Apple", &kApple, 0, 1, 1},
        {"AMD integrated", &kAmdIntegrated, 0, 2, 3},
    }};
    for (const Case& gpu : cases) {
        EXPECT_EQ(select_memory_type(*gpu.types, kAll, MemoryDomain::Device), gpu.device) << gpu.gpu;
        EXPECT_EQ(select_memory_type(*gpu.types, kAll, MemoryDomain::Upload), gpu.upload) << gpu.gpu;
        EXPECT_EQ(select_memory_type(*gpu.types, kAll, MemoryDomain::Readback), gpu.readback) << gpu.gpu;
    }
}

TEST(memory_type, only_allowed_types_are_chosen) {
    // Without bit 1 (the plain local type), the BAR is still local, and better than host memory.
    EXPECT_EQ(select_memory_type(kNvidiaDiscrete, kAll & ~(1U << 1U), MemoryDomain::Device), 4U);
    EXPECT_EQ(select_memory_type(kNvidiaDiscrete, 1U << 3U, MemoryDomain::Upload), 3U);
    EXPECT_EQ(select_memory_type(kNvidiaDiscrete, 1U << 0U, MemoryDomain::Device), 0U);
}

TEST(memory_type, nothing_where_a_requirement_is_not_met) {
    EXPECT_EQ(select_memory_type(kNvidiaDiscrete, 1U << 1U, MemoryDomain::Upload), std::nullopt);
    EXPECT_EQ(select_memory_type(kNvidiaDiscrete, 0b11U, MemoryDomain::Readback), std::nullopt);
    EXPECT_EQ(select_memory_type(kNvidiaDiscrete, 0, MemoryDomain::Device), std::nullopt);
    EXPECT_EQ(select_memory_type({}, kAll, MemoryDomain::Device), std::nullopt);
}

TEST(memory_type, cached_but_not_coherent_serves_readback_alone) {
    const std::vector<MemoryTypeInfo> types{type(0, "D"), type(1, "Vc"), type(1, "VC")};
    EXPECT_EQ(select_memory_type(types, kAll, MemoryDomain::Upload), 2U);
    EXPECT_EQ(select_memory_type(types, kAll, MemoryDomain::Readback), 1U);
}

TEST(memory_type, direct_mapping_and_flushing) {
    const MemoryTypeInfo unified = type(0, "DVCc");
    const MemoryTypeInfo staging = type(1, "VC");
    const MemoryTypeInfo local = type(0, "D");
    const MemoryTypeInfo not_coherent = type(1, "Vc");
    EXPECT_TRUE(directly_mappable(unified, MemoryPolicy::Native));
    EXPECT_TRUE(directly_mappable(staging, MemoryPolicy::Native));
    EXPECT_FALSE(directly_mappable(local, MemoryPolicy::Native));
    EXPECT_FALSE(needs_flush(unified, MemoryPolicy::Native));
    EXPECT_TRUE(needs_flush(not_coherent, MemoryPolicy::Native));
}

TEST(memory_type, the_forced_policy_takes_the_discrete_paths_everywhere) {
    EXPECT_FALSE(directly_mappable(type(0, "DVCc"), MemoryPolicy::ForceDiscrete));
    EXPECT_TRUE(directly_mappable(type(1, "VC"), MemoryPolicy::ForceDiscrete));
    EXPECT_TRUE(needs_flush(type(0, "DVCc"), MemoryPolicy::ForceDiscrete));
    EXPECT_TRUE(needs_flush(type(1, "VC"), MemoryPolicy::ForceDiscrete));
}

TEST(memory_type, special_types_are_never_chosen) {
    EXPECT_EQ(select_memory_type(kAmdWindows, 0xF0U, MemoryDomain::Device), std::nullopt);
    EXPECT_EQ(select_memory_type(kAmdWindows, 0xF0U, MemoryDomain::Readback), std::nullopt);
}

TEST(memory_type, device_models_by_name) {
    EXPECT_EQ(*policy_of_device_model(""), MemoryPolicy::Native);
    EXPECT_EQ(*policy_of_device_model("native"), MemoryPolicy::Native);
    EXPECT_EQ(*policy_of_device_model("discrete"), MemoryPolicy::ForceDiscrete);
    for (const char* unknown : {"Discrete", "integrated", "0", " discrete"}) {
        EXPECT_TRUE(expect_error(policy_of_device_model(unknown), ErrorKind::BadInput,
                                 fmt::format("YOLK_DEVICE_MODEL is '{}'; it may be 'discrete'", unknown)));
    }
}

TEST(memory_type, device_model_is_that_of_the_environment_where_none_is_asked_for) {
    for (const char* value : {"discrete", "native", static_cast<const char*>(nullptr)}) {
        const testing::Variable model("YOLK_DEVICE_MODEL", value);
        EXPECT_EQ(*settled_policy(MemoryPolicy::Automatic), *policy_of_device_model(value == nullptr ? "" : value));
        EXPECT_EQ(*settled_policy(MemoryPolicy::ForceDiscrete), MemoryPolicy::ForceDiscrete);
        EXPECT_EQ(*settled_policy(MemoryPolicy::Native), MemoryPolicy::Native);
    }
    const testing::Variable model("YOLK_DEVICE_MODEL", "none such");
    EXPECT_TRUE(expect_error(settled_policy(MemoryPolicy::Automatic), ErrorKind::BadInput, "'none such'"));
    EXPECT_EQ(*settled_policy(MemoryPolicy::Native), MemoryPolicy::Native);
}

TEST(memory_type, room_is_what_is_left_of_a_budget_on_memory_of_the_devices_own) {
    const MemoryHeapInfo known{.size_bytes = 1000, .device_local = true, .budget = MemoryBudget{900, 300}};
    EXPECT_EQ(heap_room(DeviceKind::Discrete, known), 600U);
    EXPECT_EQ(heap_room(DeviceKind::Cpu, known), 1000U);
    EXPECT_EQ(heap_room(DeviceKind::Integrated, known), 1000U);
    EXPECT_EQ(heap_room(DeviceKind::Discrete, {.size_bytes = 1000, .device_local = true}), 1000U);
    const MemoryHeapInfo overdrawn{.size_bytes = 1000, .device_local = true, .budget = MemoryBudget{900, 901}};
    EXPECT_EQ(heap_room(DeviceKind::Discrete, overdrawn), 0U);
    const MemoryHeapInfo strange{.size_bytes = 1000, .device_local = true, .budget = MemoryBudget{5000, 1}};
    EXPECT_EQ(heap_room(DeviceKind::Discrete, strange), 1000U);
}

TEST(memory_type, knows_memory_apart_from_the_hosts) {
    const MemoryHeapInfo local{.size_bytes = 1, .device_local = true};
    const MemoryHeapInfo host{.size_bytes = 1, .device_local = false};
    EXPECT_TRUE(apart_from_host(DeviceKind::Discrete, local));
    EXPECT_TRUE(apart_from_host(DeviceKind::Virtual, local));
    EXPECT_FALSE(apart_from_host(DeviceKind::Discrete, host));
    EXPECT_FALSE(apart_from_host(DeviceKind::Integrated, local));
    EXPECT_FALSE(apart_from_host(DeviceKind::Cpu, local));
}

}  // namespace
}  // namespace yolk
