// SPDX-License-Identifier: Apache-2.0
#include "yolk/vulkan.hpp"

#include <cstring>
#include <functional>

#include "callers_device.hpp"
#include "noise_work.hpp"

namespace yolk {
namespace {

using yolk::testing::expect_error;

constexpr std::uint32_t kSharedNumbers = 2003;
constexpr VkBufferUsageFlags kStorage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
constexpr VkBufferUsageFlags kStorageAndSource = kStorage | VK_BUFFER_USAGE_TRANSFER_SRC_BIT;

class interop : public yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(interop);

TEST_P(interop, needs_name_what_the_floor_asks_for) {
    const auto& instance = yolk::testing::instance().impl();
    const VkPhysicalDevice physical = instance->physical_devices[device().info().index];
    ASSERT_OK_AND_ASSIGN(const DeviceNeeds needs, device_needs(instance->handle, physical));
    EXPECT_EQ(needs.features.scalarBlockLayout, VK_TRUE);
    EXPECT_EQ(needs.features.timelineSemaphore, VK_TRUE);
    EXPECT_EQ(needs.features.shaderFloat16, VK_FALSE);  // not more than is needed
    EXPECT_EQ(needs.api_version, VK_API_VERSION_1_2);
    EXPECT_TRUE(expect_error(device_needs(VK_NULL_HANDLE, physical), ErrorKind::BadInput, "its VkInstance is null"));
}

TEST_P(interop, work_runs_on_an_adopted_device_and_leaves_it_alive) {
    CallersDevice engine(device_name());
    {
        ASSERT_OK_AND_ASSIGN(const Device adopted, adopt_device(engine.adopted));
        EXPECT_EQ(adopted.info().name, device().info().name);
        ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(adopted));
        ASSERT_OK_AND_ASSIGN(const Buffer out,
                             adopted.create_buffer({.size_bytes = kSharedNumbers * 4, .label = "out"}));
        ASSERT_OK_AND_ASSIGN(const NoiseBinding noise, bind_noise(adopted, out));
        ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(adopted, {.timestamp_count = 1}));
        recorder.dispatch(noise, noise_params(3, kSharedNumbers), noise_groups(kSharedNumbers));
        recorder.timestamp(0);
        ASSERT_OK(dispatcher.run(recorder));
        ASSERT_OK_AND_ASSIGN(const auto got, download_ints(dispatcher, out, kSharedNumbers));
        EXPECT_EQ(got, expected_noise(3, kSharedNumbers));
    }
    EXPECT_EQ(engine.vk.vkDeviceWaitIdle(engine.device), VK_SUCCESS);
}

TEST_P(interop, a_device_without_what_is_needed_is_refused_by_name) {
    CallersDevice engine(device_name());
    VkPhysicalDeviceVulkan12Features features = engine.features;
    VkDeviceCreateInfo info = engine.info;
    info.pNext = &features;
    AdoptedDevice given = engine.adopted;
    given.create_info = &info;
    const auto refused = [&](ErrorKind kind, std::string_view part) {
        return expect_error(adopt_device(given), kind, part);
    };
    features.timelineSemaphore = VK_FALSE;
    EXPECT_TRUE(refused(ErrorKind::BadInput, "it was made without feature timelineSemaphore."));
    features.scalarBlockLayout = VK_FALSE;
    EXPECT_TRUE(refused(ErrorKind::BadInput, "feature scalarBlockLayout, feature timelineSemaphore"));
    // The structures of the extensions count, too.
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, .timelineSemaphore = VK_TRUE};
    VkPhysicalDeviceScalarBlockLayoutFeatures scalar{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SCALAR_BLOCK_LAYOUT_FEATURES,
        .pNext = &timeline,
        .scalarBlockLayout = VK_TRUE};
    info.pNext = &scalar;
    EXPECT_OK(adopt_device(given));
    info.queueCreateInfoCount = 0;
    EXPECT_TRUE(refused(ErrorKind::BadInput, "a queue of family"));
    given.queue_family = 1000;
    EXPECT_TRUE(refused(ErrorKind::BadInput, "there is no queue family 1000"));
    given = engine.adopted;
    given.queue = VK_NULL_HANDLE;
    EXPECT_TRUE(refused(ErrorKind::BadInput, "its VkQueue is null"));
}

// Which features its owner enabled is not known, so it has none, whatever the driver has.
TEST_P(interop, a_module_that_needs_more_than_the_device_has_is_refused) {
    CallersDevice engine(device_name());
    ASSERT_OK_AND_ASSIGN(const Device adopted, adopt_device(engine.adopted));
    KernelModule kernel = kernels::kConvertWiden;
    kernel.needs = kNeedsStorage16 | kNeedsCooperativeNv;
    EXPECT_TRUE(expect_error(adopted.pipeline(kernel, {}), ErrorKind::Unsupported,
                             "The kernel [convert_widen] needs 16-bit storage, NV cooperative matrices of fp16"));
}

TEST_P(interop, an_adopted_buffer_is_a_view_like_any_other) {
    CallersDevice engine(device_name());
    const AdoptedBuffer given = engine.make_buffer(kSharedNumbers * 4, kStorageAndSource);
    ASSERT_OK_AND_ASSIGN(const Device adopted, adopt_device(engine.adopted));
    ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(adopted));
    ASSERT_OK_AND_ASSIGN(const Buffer out, adopt_buffer(adopted, given));
    EXPECT_EQ(out.mapped().data(), given.mapped.data());
    ASSERT_OK_AND_ASSIGN(const NoiseBinding noise, bind_noise(adopted, out));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(adopted));
    recorder.dispatch(noise, noise_params(4, kSharedNumbers), noise_groups(kSharedNumbers));
    recorder.barrier(Barrier::ToHost);
    ASSERT_OK(dispatcher.run(recorder));
    std::vector<std::int32_t> got(kSharedNumbers);
    std::memcpy(got.data(), given.mapped.data(), given.mapped.size());
    EXPECT_EQ(got, expected_noise(4, kSharedNumbers));
    ASSERT_OK_AND_ASSIGN(const auto downloaded, download_ints(dispatcher, out, kSharedNumbers));
    EXPECT_EQ(downloaded, got);
    ASSERT_OK_AND_ASSIGN(const Buffer twice, adopt_buffer(adopted, given));
    EXPECT_TRUE(overlap(out, twice));
    EXPECT_FALSE(overlap({out, 0, 256}, {twice, 256, 256}));
}

TEST_P(interop, uses_that_an_adopted_buffer_lacks_are_refused) {
    CallersDevice engine(device_name());
    AdoptedBuffer given = engine.make_buffer(4096, kStorageAndSource);
    ASSERT_OK_AND_ASSIGN(const Device adopted, adopt_device(engine.adopted));
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, adopt_buffer(adopted, given));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(adopted));
    recorder.fill({buffer, 0, 16}, 0);
    EXPECT_TRUE(expect_error(recorder.finish(), ErrorKind::BadInput,
                             "the buffer [engine buffer] was made with usage 0x21, which lacks 0x2"));
    given.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    ASSERT_OK_AND_ASSIGN(const Buffer no_storage, adopt_buffer(adopted, given));
    EXPECT_TRUE(expect_error(bind_noise(adopted, no_storage), ErrorKind::BadInput, "which lacks 0x20"));
    given.usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT;
    EXPECT_TRUE(expect_error(adopt_buffer(adopted, given), ErrorKind::BadInput, "neither storage"));
    given.usage = kStorage;
    given.mapped = given.mapped.first(5);
    EXPECT_TRUE(expect_error(adopt_buffer(adopted, given), ErrorKind::BadInput, "5 of its 4096 bytes are mapped"));
    given.size_bytes = 0;
    EXPECT_TRUE(expect_error(adopt_buffer(adopted, given), ErrorKind::BadInput, "[engine buffer]"));
}

TEST_P(interop, semaphores_of_the_caller_order_work_both_ways) {
    CallersDevice engine(device_name());
    ASSERT_OK_AND_ASSIGN(const Device adopted, adopt_device(engine.adopted));
    ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(adopted));
    const VkSemaphoreTypeCreateInfo type{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                         .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkSemaphore frames = VK_NULL_HANDLE;
    ASSERT_EQ(engine.vk.vkCreateSemaphore(engine.device, &info, nullptr, &frames), VK_SUCCESS);
    {
        ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(adopted, {.label = "step"}));
        const SemaphoreValue before{.semaphore = frames, .value = 1};
        const SemaphoreValue after{.semaphore = frames, .value = 2};
        ASSERT_OK_AND_ASSIGN(
            const Submission step,
            dispatcher.submit(recorder, {}, {.wait_before = {&before, 1}, .signal_after = {&after, 1}}));
        ASSERT_OK_AND_ASSIGN(const bool early, dispatcher.poll(step));
        EXPECT_FALSE(early);
        const VkSemaphoreSignalInfo go{
            .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = frames, .value = 1};
        ASSERT_EQ(engine.vk.vkSignalSemaphore(engine.device, &go), VK_SUCCESS);
        const SemaphoreValue done = semaphore_of(step);
        for (const SemaphoreValue& reached : {after, done}) {
            const VkSemaphoreWaitInfo wait{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                           .semaphoreCount = 1,
                                           .pSemaphores = &reached.semaphore,
                                           .pValues = &reached.value};
            EXPECT_EQ(engine.vk.vkWaitSemaphores(engine.device, &wait, 10'000'000'000), VK_SUCCESS);
        }
        ASSERT_OK(dispatcher.wait(step));
        const std::vector<SemaphoreValue> many(17, after);
        EXPECT_TRUE(expect_error(dispatcher.submit(recorder, {}, {.wait_before = many}), ErrorKind::BadInput,
                                 "[step] was to wait for more than 16 semaphores"));
        EXPECT_TRUE(expect_error(dispatcher.submit(recorder, {}, {.signal_after = many}), ErrorKind::BadInput,
                                 "[step] was to signal more than 15 semaphores"));
        const SemaphoreValue nothing;
        EXPECT_TRUE(expect_error(dispatcher.submit(recorder, {}, {.signal_after = {&nothing, 1}}), ErrorKind::BadInput,
                                 "a null semaphore"));
    }
    engine.vk.vkDestroySemaphore(engine.device, frames, nullptr);
    EXPECT_EQ(semaphore_of({}).semaphore, VK_NULL_HANDLE);
}

// The engine begins, ends and submits; Yolk records in between.
TEST_P(interop, records_into_the_callers_command_buffer) {
    CallersDevice engine(device_name());
    ASSERT_OK_AND_ASSIGN(const Device adopted, adopt_device(engine.adopted, {.max_submission_cost = 1}));
    ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(adopted));
    ASSERT_OK_AND_ASSIGN(const Buffer out, adopted.create_buffer({.size_bytes = kSharedNumbers * 4, .label = "out"}));
    ASSERT_OK_AND_ASSIGN(const NoiseBinding noise, bind_noise(adopted, out));
    const VkCommandPoolCreateInfo pool_info{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                            .queueFamilyIndex = engine.adopted.queue_family};
    VkCommandPool pool = VK_NULL_HANDLE;
    ASSERT_EQ(engine.vk.vkCreateCommandPool(engine.device, &pool_info, nullptr, &pool), VK_SUCCESS);
    const VkCommandBufferAllocateInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                           .commandPool = pool,
                                           .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                           .commandBufferCount = 1};
    VkCommandBuffer commands = VK_NULL_HANDLE;
    ASSERT_EQ(engine.vk.vkAllocateCommandBuffers(engine.device, &info, &commands), VK_SUCCESS);
    const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    ASSERT_EQ(engine.vk.vkBeginCommandBuffer(commands, &begin), VK_SUCCESS);
    {
        ASSERT_OK_AND_ASSIGN(Recorder recorder, record_into(adopted, commands, "frame"));
        const ScopedLabel label(recorder, "noise");
        recorder.dispatch(noise, noise_params(6, kSharedNumbers),
                          LinearGrid{.groups = noise_groups(kSharedNumbers).x, .cost_per_group = 9});
        EXPECT_OK(recorder.finish());
        EXPECT_TRUE(expect_error(dispatcher.submit(recorder), ErrorKind::BadInput, "[frame]: its command buffer"));
        recorder.begin();
        EXPECT_TRUE(expect_error(recorder.finish(), ErrorKind::BadInput, "cannot begin again"));
    }
    ASSERT_EQ(engine.vk.vkEndCommandBuffer(commands), VK_SUCCESS);
    const VkSubmitInfo submit{
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    {
        const std::lock_guard lock(engine.queue_mutex);
        ASSERT_EQ(engine.vk.vkQueueSubmit(engine.queue, 1, &submit, VK_NULL_HANDLE), VK_SUCCESS);
    }
    // Later work of the queue sees it without more ado.
    ASSERT_OK_AND_ASSIGN(const auto got, download_ints(dispatcher, out, kSharedNumbers));
    EXPECT_EQ(got, expected_noise(6, kSharedNumbers));
    ASSERT_EQ(engine.vk.vkQueueWaitIdle(engine.queue), VK_SUCCESS);
    engine.vk.vkDestroyCommandPool(engine.device, pool, nullptr);
    EXPECT_TRUE(expect_error(record_into(adopted, VK_NULL_HANDLE, "frame"), ErrorKind::BadInput, "[frame]"));
}

}  // namespace
}  // namespace yolk
