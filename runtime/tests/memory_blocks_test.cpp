// SPDX-License-Identifier: Apache-2.0
#include "memory_blocks.hpp"

#include <gmock/gmock.h>

#include <set>
#include <utility>
#include <vector>

#include "fake_driver.hpp"
#include "yolk/internal/runtime/buffer.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using yolk::testing::expect_error;

constexpr std::uint64_t kDeviceBlock = (1U << 20U) / 8;  // of FakeDriver's heap 0
const std::string kLabel = "weights";

VkMemoryRequirements needs(std::uint64_t size, std::uint64_t alignment = 16) {
    VkMemoryRequirements result{};
    result.size = size;
    result.alignment = alignment;
    result.memoryTypeBits = 3;
    return result;
}

TEST(memory_blocks, sizes_blocks_by_heap_and_limit) {
    constexpr std::uint64_t kMiB = 1U << 20U;
    EXPECT_EQ(memory_block_size(24576 * kMiB, 4096 * kMiB), 64 * kMiB);
    EXPECT_EQ(memory_block_size(256 * kMiB, 4096 * kMiB), 32 * kMiB);  // the host-visible window of a discrete GPU
    EXPECT_EQ(memory_block_size(24576 * kMiB, 16 * kMiB), 16 * kMiB);
}

TEST(memory_blocks, shares_a_block_and_merges_what_is_freed) {
    FakeDriver driver;
    MemoryBlocks blocks(driver.context);
    std::vector<MemoryRange> ranges;
    std::set<std::uint64_t> offsets;
    for (int i = 0; i < 100; ++i) {
        ASSERT_OK_AND_ASSIGN(const MemoryRange range, blocks.allocate(needs(1000), MemoryDomain::Device, kLabel));
        EXPECT_EQ(range.offset % kViewAlignment, 0U);
        EXPECT_EQ(range.size, 1024U);  // whole atoms of 64
        EXPECT_EQ(range.mapped(), nullptr);
        offsets.insert(range.offset);
        ranges.push_back(range);
    }
    EXPECT_EQ(driver.allocations, 1);
    EXPECT_EQ(offsets.size(), 100U);
    for (const MemoryRange& range : ranges) blocks.free(range);
    EXPECT_EQ(driver.memory.size(), 1U);  // kept for the next one
    ASSERT_OK_AND_ASSIGN(const MemoryRange again, blocks.allocate(needs(60000), MemoryDomain::Device, kLabel));
    EXPECT_EQ(again.offset, 0U);
    EXPECT_EQ(driver.allocations, 1);
    blocks.free(again);
}

// The host's memory is in the process' resident size already; what was given back stays in the peak.
TEST(memory_blocks, counts_the_peak_of_the_devices_own_memory) {
    FakeDriver driver;
    driver.context.info.kind = DeviceKind::Discrete;
    MemoryBlocks blocks(driver.context);
    ASSERT_OK_AND_ASSIGN(const MemoryRange host, blocks.allocate(needs(1000), MemoryDomain::Readback, kLabel));
    EXPECT_EQ(driver.context.counters.snapshot().peak_device_memory_bytes, 0U);
    ASSERT_OK_AND_ASSIGN(const MemoryRange large, blocks.allocate(needs(kDeviceBlock), MemoryDomain::Device, kLabel));
    blocks.free(large);
    ASSERT_OK_AND_ASSIGN(const MemoryRange small, blocks.allocate(needs(1000), MemoryDomain::Device, kLabel));
    EXPECT_EQ(driver.context.counters.snapshot().peak_device_memory_bytes, kDeviceBlock);
    blocks.free(small);
    blocks.free(host);
}

TEST(memory_blocks, keeps_one_empty_block_of_a_type) {
    FakeDriver driver;
    MemoryBlocks blocks(driver.context);
    std::vector<MemoryRange> ranges;
    for (int i = 0; i < 6; ++i) {  // two fill a block
        ASSERT_OK_AND_ASSIGN(const MemoryRange range,
                             blocks.allocate(needs(kDeviceBlock / 2), MemoryDomain::Device, kLabel));
        ranges.push_back(range);
    }
    EXPECT_EQ(driver.memory.size(), 3U);
    for (const MemoryRange& range : ranges) blocks.free(range);
    EXPECT_EQ(driver.memory.size(), 1U);
}

TEST(memory_blocks, gives_large_ranges_blocks_of_their_own) {
    FakeDriver driver;
    MemoryBlocks blocks(driver.context);
    ASSERT_OK_AND_ASSIGN(const MemoryRange large,
                         blocks.allocate(needs(kDeviceBlock / 2 + 1), MemoryDomain::Device, kLabel));
    EXPECT_TRUE(large.block->dedicated);
    EXPECT_EQ(large.block->ranges.size(), large.size);
    blocks.free(large);
    EXPECT_TRUE(driver.memory.empty());
}

TEST(memory_blocks, are_mapped_where_the_host_can_see_them) {
    FakeDriver driver;
    MemoryBlocks blocks(driver.context);
    ASSERT_OK_AND_ASSIGN(const MemoryRange first, blocks.allocate(needs(100), MemoryDomain::Upload, kLabel));
    ASSERT_OK_AND_ASSIGN(const MemoryRange second, blocks.allocate(needs(100), MemoryDomain::Upload, kLabel));
    ASSERT_NE(first.mapped(), nullptr);
    EXPECT_EQ(second.mapped() - first.mapped(), static_cast<std::ptrdiff_t>(second.offset - first.offset));
    blocks.free(first);
    blocks.free(second);
    driver.map_result = VK_ERROR_MEMORY_MAP_FAILED;
    EXPECT_TRUE(
        expect_error(blocks.allocate(needs(8U << 20U), MemoryDomain::Upload, kLabel), ErrorKind::Driver, "[weights]"));
    EXPECT_EQ(driver.memory.size(), 1U);  // the block that could not be mapped was given back
}

TEST(memory_blocks, names_request_and_rest_when_the_heap_is_full) {
    FakeDriver driver;
    MemoryBlocks blocks(driver.context);
    ASSERT_OK_AND_ASSIGN(const MemoryRange most, blocks.allocate(needs(900000), MemoryDomain::Device, kLabel));
    const auto refused = blocks.allocate(needs(200000), MemoryDomain::Device, kLabel);
    // 900000 is up to whole atoms already; heap 0 has 1048576 bytes.
    EXPECT_TRUE(expect_error(refused, ErrorKind::OutOfMemory, "200000 bytes for the buffer [weights]"));
    EXPECT_TRUE(
        expect_error(refused, ErrorKind::OutOfMemory, "heap 0 with 1048576 bytes, Yolk holds 900032, 0 of them"));
    blocks.free(most);
    ASSERT_OK_AND_ASSIGN(const MemoryRange now, blocks.allocate(needs(200000), MemoryDomain::Device, kLabel));
    blocks.free(now);
}

TEST(memory_blocks, makes_a_small_block_where_a_whole_one_does_not_fit) {
    FakeDriver driver;
    driver.largest_allocation = 4096;
    MemoryBlocks blocks(driver.context);
    ASSERT_OK_AND_ASSIGN(const MemoryRange range, blocks.allocate(needs(3000), MemoryDomain::Device, kLabel));
    EXPECT_EQ(range.block->ranges.size(), 3008U);
    blocks.free(range);
    EXPECT_TRUE(expect_error(blocks.allocate(needs(5000), MemoryDomain::Device, kLabel), ErrorKind::OutOfMemory,
                             "VK_ERROR_OUT_OF_DEVICE_MEMORY"));
    EXPECT_TRUE(driver.memory.empty());
}

TEST(memory_blocks, respects_the_limits_of_size_and_count) {
    FakeDriver driver;
    driver.context.info.limits.max_memory_allocation_size = 4096;
    driver.context.info.limits.max_memory_allocation_count = 2;
    MemoryBlocks blocks(driver.context);
    EXPECT_TRUE(expect_error(blocks.allocate(needs(4097), MemoryDomain::Device, kLabel), ErrorKind::Unsupported,
                             "of 4097 bytes is above what device 'fake' allocates at once (4096 bytes)"));
    ASSERT_OK_AND_ASSIGN(const MemoryRange first, blocks.allocate(needs(4096), MemoryDomain::Device, kLabel));
    ASSERT_OK_AND_ASSIGN(const MemoryRange second, blocks.allocate(needs(4096), MemoryDomain::Device, kLabel));
    EXPECT_TRUE(expect_error(blocks.allocate(needs(4096), MemoryDomain::Device, kLabel), ErrorKind::OutOfMemory,
                             "all 2 allocations are made"));
    blocks.free(first);
    blocks.free(second);
}

TEST(memory_blocks, refuse_a_buffer_that_no_type_can_hold) {
    FakeDriver driver;
    MemoryBlocks blocks(driver.context);
    VkMemoryRequirements device_only = needs(16);
    device_only.memoryTypeBits = 1;
    EXPECT_TRUE(expect_error(blocks.allocate(device_only, MemoryDomain::Readback, kLabel), ErrorKind::Unsupported,
                             "[weights]"));
}

/// The budget that a driver names of each heap; the function carries no user data.
std::vector<MemoryBudget> budgets;

void tell_budgets(VkPhysicalDevice /*physical*/, VkPhysicalDeviceMemoryProperties2* asked) {
    auto* told = static_cast<VkPhysicalDeviceMemoryBudgetPropertiesEXT*>(asked->pNext);
    for (std::size_t i = 0; i < budgets.size(); ++i) {
        told->heapBudget[i] = budgets[i].budget_bytes;
        told->heapUsage[i] = budgets[i].used_bytes;
    }
}

/// A discrete GPU of 1 MiB that tells budgets; its heap 1 is the host's.
struct TellingDriver {
    FakeDriver driver;
    PFN_vkGetPhysicalDeviceMemoryProperties2 before = std::exchange(vkGetPhysicalDeviceMemoryProperties2, tell_budgets);
    TellingDriver() {
        driver.context.info.kind = DeviceKind::Discrete;
        driver.context.info.features.memory_budget = true;
    }
    ~TellingDriver() { vkGetPhysicalDeviceMemoryProperties2 = before; }
    TellingDriver(const TellingDriver&) = delete;
    TellingDriver& operator=(const TellingDriver&) = delete;
};

TEST(memory_blocks, what_is_beyond_the_budget_is_tried_with_one_warning) {
    TellingDriver telling;
    MemoryBlocks blocks(telling.driver.context);
    budgets = {{1U << 20U, 0}, {1U << 30U, 0}};
    ::testing::internal::CaptureStderr();
    ASSERT_OK_AND_ASSIGN(const MemoryRange within, blocks.allocate(needs(1000), MemoryDomain::Device, kLabel));
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
    budgets[0] = {300'000, 290'000};  // another process has taken most of it
    ::testing::internal::CaptureStderr();
    ASSERT_OK_AND_ASSIGN(const MemoryRange beyond, blocks.allocate(needs(200'000), MemoryDomain::Device, kLabel));
    ASSERT_OK_AND_ASSIGN(const MemoryRange more, blocks.allocate(needs(200'000), MemoryDomain::Device, kLabel));
    ASSERT_OK_AND_ASSIGN(const MemoryRange on_host, blocks.allocate(needs(200'000), MemoryDomain::Readback, kLabel));
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, ::testing::HasSubstr("Memory of device 'fake' is short: the buffer [weights] takes 200000 more "
                                           "bytes of heap 0, of which this process uses 290000 and may use 300000."));
    EXPECT_EQ(said.find("is short"), said.rfind("is short")) << said;
    telling.driver.largest_allocation = 0;
    const auto refused = blocks.allocate(needs(200'000), MemoryDomain::Device, kLabel);
    EXPECT_TRUE(expect_error(refused, ErrorKind::OutOfMemory,
                             "The driver gives this process 300000 bytes of it, 290000 of them used."));
    for (const MemoryRange& range : {within, beyond, more, on_host}) blocks.free(range);
}

TEST(memory_blocks, driver_without_budgets_is_not_asked) {
    FakeDriver driver;
    driver.context.info.kind = DeviceKind::Discrete;
    MemoryBlocks blocks(driver.context);
    driver.largest_allocation = 0;
    const auto refused = blocks.allocate(needs(1000), MemoryDomain::Device, kLabel);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().message.find("The driver gives"), std::string::npos) << refused.error().message;
}

using memory_budget = yolk::testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(memory_budget);

// Neither lavapipe 22.3 nor SwiftShader has VK_EXT_memory_budget; lavapipe 26.1 and GPUs have.
TEST_P(memory_budget, is_what_the_driver_says) {
    const std::vector<MemoryHeapInfo> heaps = device().heaps();
    ASSERT_EQ(heaps.size(), device().info().heaps.size());
    for (const MemoryHeapInfo& heap : heaps) {
        ASSERT_EQ(heap.budget.has_value(), device().info().features.memory_budget);
        EXPECT_GT(heap.budget.value_or(MemoryBudget{1, 0}).budget_bytes, 0U);
    }
}

}  // namespace
}  // namespace yolk
