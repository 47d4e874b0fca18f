// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/buffer.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "buffer_impl.hpp"
#include "device_impl.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/variable.hpp"

namespace yolk {
namespace {

using yolk::testing::expect_error;
using yolk::testing::shared_device;

using device_buffer = yolk::testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(device_buffer);

std::vector<std::byte> pattern(std::size_t size, unsigned salt) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 131 + salt + (i >> 8U)) & 255U);
    return bytes;
}

/// Up into the middle of a buffer and down again: the bytes are there, those around them untouched.
void expect_round_trip(const Device& device, Dispatcher& dispatcher, MemoryDomain domain, std::size_t size) {
    SCOPED_TRACE(std::to_string(size) + " bytes, domain " + std::to_string(static_cast<int>(domain)));
    constexpr std::size_t kBefore = 256;
    constexpr std::size_t kAfter = 3;
    ASSERT_OK_AND_ASSIGN(
        const Buffer made,
        device.create_buffer({.size_bytes = kBefore + size + kAfter, .domain = domain, .label = "round trip"}));
    std::vector<std::byte> whole = pattern(kBefore + size + kAfter, 1);
    ASSERT_OK(dispatcher.upload(made, whole));
    const std::vector<std::byte> middle = pattern(size, 77);
    ASSERT_OK(dispatcher.upload({made, kBefore, size}, middle));
    std::copy(middle.begin(), middle.end(), whole.begin() + kBefore);
    std::vector<std::byte> got(whole.size());
    ASSERT_OK(dispatcher.download(made, got));
    EXPECT_EQ(got, whole);
    std::vector<std::byte> part(size);
    ASSERT_OK(dispatcher.download({made, kBefore, size}, part));
    EXPECT_EQ(part, middle);
}

TEST_P(device_buffer, keeps_bytes_in_both_memory_policies) {
    for (const MemoryPolicy policy : {MemoryPolicy::Native, MemoryPolicy::ForceDiscrete}) {
        auto& [device, dispatcher] = shared_device(device_name(), policy);
        for (const MemoryDomain domain : {MemoryDomain::Device, MemoryDomain::Upload, MemoryDomain::Readback}) {
            for (const std::size_t size : {1U, 3U, 255U, 257U, 4099U, 70001U})
                expect_round_trip(device, dispatcher, domain, size);
        }
    }
}

TEST_P(device_buffer, staging_goes_piece_by_piece) {
    const std::uint64_t blocks_before = discrete_device().counts().memory_blocks;
    for (const std::size_t size : {std::size_t{1} << 20U, std::size_t{4} << 20U, (std::size_t{32} << 20U) + 12345})
        expect_round_trip(discrete_device(), discrete_dispatcher(), MemoryDomain::Device, size);
    EXPECT_LE(discrete_device().counts().memory_blocks, blocks_before + 4);
}

// What was submitted and what was waited for, by the last value of the timeline.
PFN_vkQueueSubmit really_submit = nullptr;
PFN_vkWaitSemaphores really_wait = nullptr;
PFN_vkGetSemaphoreCounterValue really_look = nullptr;
std::uint64_t submitted_value = 0, waited_value = 0, most_in_flight = 0;

VkResult see_submit(VkQueue queue, std::uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
    const auto* timeline = static_cast<const VkTimelineSemaphoreSubmitInfo*>(infos->pNext);
    submitted_value = timeline->pSignalSemaphoreValues[0];
    most_in_flight = std::max(most_in_flight, submitted_value - waited_value);
    return really_submit(queue, count, infos, fence);
}

VkResult see_wait(VkDevice of, const VkSemaphoreWaitInfo* info, std::uint64_t timeout) {
    const VkResult result = really_wait(of, info, timeout);
    if (result == VK_SUCCESS) waited_value = std::max(waited_value, info->pValues[0]);
    return result;
}

VkResult see_look(VkDevice of, VkSemaphore semaphore, std::uint64_t* value) {
    const VkResult result = really_look(of, semaphore, value);
    if (result == VK_SUCCESS) waited_value = std::max(waited_value, *value);
    return result;
}

// As a CPU driver, whose waits sleep at once, and as a GPU, where they look at the counter before.
TEST_P(device_buffer, copies_of_a_large_transfer_are_in_flight_together) {
    for (const DeviceKind kind : {DeviceKind::Cpu, DeviceKind::Discrete}) {
        ASSERT_OK_AND_ASSIGN(
            const Device own,
            Device::create(yolk::testing::instance(), yolk::testing::device_index(device_name()),
                           {.memory_policy = MemoryPolicy::ForceDiscrete, .pipeline_cache_folder = {}}));
        DeviceContext& context = own.impl()->context;
        context.info.kind = kind;
        really_submit = std::exchange(context.vk.vkQueueSubmit, see_submit);
        really_wait = std::exchange(context.vk.vkWaitSemaphores, see_wait);
        really_look = std::exchange(context.vk.vkGetSemaphoreCounterValue, see_look);
        ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(own));
        std::vector<std::byte> bytes = pattern((std::size_t{10} << 20U) + 1, 3), got(bytes.size());
        ASSERT_OK_AND_ASSIGN(const Buffer target, own.create_buffer({.size_bytes = bytes.size(), .label = "target"}));
        submitted_value = waited_value = most_in_flight = 0;
        ASSERT_OK(dispatcher.upload(target, bytes));
        EXPECT_EQ(submitted_value, 11U);
        EXPECT_EQ(waited_value, 11U);
        EXPECT_EQ(most_in_flight, 4U);
        most_in_flight = 0;
        ASSERT_OK(dispatcher.download(target, got));
        EXPECT_EQ(submitted_value, 22U);
        EXPECT_EQ(waited_value, 22U);
        EXPECT_EQ(most_in_flight, 4U);
        EXPECT_TRUE(got == bytes);
    }
}

TEST_P(device_buffer, of_the_device_is_not_mapped_where_memory_is_discrete) {
    const BufferDesc on_device{.size_bytes = 100, .label = "weights"};
    ASSERT_OK_AND_ASSIGN(const Buffer discrete, discrete_device().create_buffer(on_device));
    EXPECT_TRUE(discrete.mapped().empty());
    ASSERT_OK_AND_ASSIGN(const Buffer unified,
                         shared_device(device_name(), MemoryPolicy::Native).device.create_buffer(on_device));
    const auto& types = device().info().memory_types;
    const bool has_memory_apart = std::ranges::any_of(
        types, [](const MemoryTypeInfo& type) { return type.device_local && !type.host_visible && !type.special; });
    EXPECT_EQ(unified.mapped().size(), has_memory_apart ? 0U : 100U);  // CPU drivers have one kind of memory
    ASSERT_OK_AND_ASSIGN(
        const Buffer upload,
        discrete_device().create_buffer({.size_bytes = 100, .domain = MemoryDomain::Upload, .label = "upload"}));
    EXPECT_EQ(upload.mapped().size(), 100U);
    EXPECT_OK(upload.flush());
    EXPECT_OK(upload.invalidate());
}

TEST_P(device_buffer, model_of_the_environment_is_that_of_every_device_without_a_policy) {
    const auto create = [this](MemoryPolicy policy) {
        return Device::create(yolk::testing::instance(), yolk::testing::device_index(device_name()),
                              {.memory_policy = policy, .pipeline_cache_folder = {}});
    };
    {
        const yolk::testing::Variable model("YOLK_DEVICE_MODEL", "discrete");
        ASSERT_OK_AND_ASSIGN(const Device discrete, create(MemoryPolicy::Automatic));
        EXPECT_EQ(discrete.memory_policy(), MemoryPolicy::ForceDiscrete);
        ASSERT_OK_AND_ASSIGN(const Buffer apart, discrete.create_buffer({.size_bytes = 100, .label = "apart"}));
        EXPECT_TRUE(apart.mapped().empty());
        ASSERT_OK_AND_ASSIGN(const Device native, create(MemoryPolicy::Native));
        EXPECT_EQ(native.memory_policy(), MemoryPolicy::Native);
    }
    const yolk::testing::Variable model("YOLK_DEVICE_MODEL", "apart");
    EXPECT_TRUE(expect_error(create(MemoryPolicy::Automatic), ErrorKind::BadInput,
                             "YOLK_DEVICE_MODEL is 'apart'; it may be 'discrete'"));
    EXPECT_OK(create(MemoryPolicy::ForceDiscrete));
}

/// What the driver was asked to flush or invalidate, by byte range of a memory block.
std::vector<VkMappedMemoryRange> ranges_seen;

VkResult see_ranges(VkDevice /*device*/, std::uint32_t count, const VkMappedMemoryRange* ranges) {
    ranges_seen.insert(ranges_seen.end(), ranges, ranges + count);
    return VK_SUCCESS;  // the memory is coherent in truth
}

TEST_P(device_buffer, flushes_whole_atoms_where_memory_is_not_coherent) {
    ASSERT_OK_AND_ASSIGN(const Device own,
                         Device::create(yolk::testing::instance(), yolk::testing::device_index(device_name()),
                                        {.memory_policy = MemoryPolicy::ForceDiscrete, .pipeline_cache_folder = {}}));
    own.impl()->context.vk.vkFlushMappedMemoryRanges = see_ranges;
    own.impl()->context.vk.vkInvalidateMappedMemoryRanges = see_ranges;
    ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(own));
    ASSERT_OK_AND_ASSIGN(const Buffer made,
                         own.create_buffer({.size_bytes = 10001, .domain = MemoryDomain::Upload, .label = "upload"}));
    const std::uint64_t begin = made.impl()->memory.offset;
    const std::uint64_t atom = own.info().limits.non_coherent_atom_size;
    std::vector<std::byte> bytes = pattern(700, 3);
    const auto expect_seen = [&](std::uint64_t offset, std::uint64_t size) {
        ASSERT_EQ(ranges_seen.size(), 1U);
        const VkMappedMemoryRange seen = ranges_seen[0];
        EXPECT_EQ(seen.offset % atom, 0U);
        EXPECT_EQ(seen.size % atom, 0U);
        EXPECT_LE(seen.offset, begin + offset);
        EXPECT_GE(seen.offset + seen.size, begin + offset + size);
        EXPECT_LT(seen.size, size + 2 * atom);
        ranges_seen.clear();
    };
    ranges_seen.clear();
    ASSERT_OK(dispatcher.upload({made, 300, 700}, bytes));
    expect_seen(300, 700);
    ASSERT_OK(dispatcher.download({made, 300, 700}, bytes));
    expect_seen(300, 700);
    ASSERT_OK(made.flush());
    expect_seen(0, 10001);
    ASSERT_OK(made.invalidate());
    expect_seen(0, 10001);
}

TEST_P(device_buffer, many_small_ones_share_few_blocks) {
    const OperationCounts before = device().counts();
    std::vector<Buffer> buffers;
    for (int i = 0; i < 300; ++i) {
        ASSERT_OK_AND_ASSIGN(Buffer made, device().create_buffer({.size_bytes = 1000, .label = "small"}));
        buffers.push_back(std::move(made));
    }
    const OperationCounts after = device().counts();
    EXPECT_EQ(after.buffers_created, before.buffers_created + 300);
    EXPECT_LE(after.memory_blocks, before.memory_blocks + 1);
}

TEST_P(device_buffer, of_impossible_size_is_refused) {
    EXPECT_TRUE(expect_error(device().create_buffer({.size_bytes = 0, .label = "none"}), ErrorKind::BadInput,
                             "The buffer [none] was asked for with 0 bytes"));
    EXPECT_TRUE(expect_error(device().create_buffer({.size_bytes = UINT64_MAX, .label = "all"}), ErrorKind::Unsupported,
                             "The buffer [all] of 18446744073709551615 bytes is above"));
}

TEST_P(device_buffer, that_was_moved_from_is_empty) {
    ASSERT_OK_AND_ASSIGN(Buffer first, device().create_buffer({.size_bytes = 64, .label = "first"}));
    const Buffer second = std::move(first);
    EXPECT_EQ(second.label(), "first");
    // NOLINTBEGIN(bugprone-use-after-move, clang-analyzer-cplusplus.Move): that is the question
    EXPECT_EQ(first.size_bytes(), 0U);
    EXPECT_TRUE(first.mapped().empty());
    EXPECT_OK(first.flush());
    EXPECT_TRUE(expect_error(check_view({first, 0, 4}, 4, 1024, "the view"), ErrorKind::BadInput, "no buffer"));
    std::byte byte{};
    EXPECT_TRUE(expect_error(dispatcher().download({first, 0, 1}, {&byte, 1}), ErrorKind::BadInput, "no buffer"));
    // NOLINTEND(bugprone-use-after-move, clang-analyzer-cplusplus.Move)
}

TEST_P(device_buffer, outlives_the_device_object_it_was_made_from) {
    Buffer made;
    {
        ASSERT_OK_AND_ASSIGN(const Device own,
                             Device::create(yolk::testing::instance(), yolk::testing::device_index(device_name())));
        ASSERT_OK_AND_ASSIGN(made,
                             own.create_buffer({.size_bytes = 64, .domain = MemoryDomain::Upload, .label = "orphan"}));
    }
    made.mapped()[63] = std::byte{5};
    EXPECT_OK(made.flush());
}

TEST_P(device_buffer, transfers_that_do_not_fit_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer made, device().create_buffer({.size_bytes = 512, .label = "small"}));
    std::vector<std::byte> bytes(513);
    EXPECT_TRUE(expect_error(dispatcher().upload(made, bytes), ErrorKind::BadInput, "Cannot upload 513 bytes"));
    EXPECT_TRUE(
        expect_error(dispatcher().download({made, 512, 1}, std::span(bytes).first(1)), ErrorKind::BadInput, "[small]"));
    EXPECT_TRUE(expect_error(discrete_dispatcher().upload(made, std::span(bytes).first(1)), ErrorKind::BadInput,
                             "another device"));
    EXPECT_OK(dispatcher().upload({}, {}));
}

}  // namespace
}  // namespace yolk
