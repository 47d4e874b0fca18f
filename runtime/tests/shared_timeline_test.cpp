// SPDX-License-Identifier: Apache-2.0
// Timelines between host and device; between devices where a driver exports them, which none that executes here does:
// there the refusal is checked.
#include "yolk/runtime/shared_timeline.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "device_impl.hpp"
#include "second_device.hpp"

namespace yolk {
namespace {

using namespace std::chrono_literals;
using yolk::testing::expect_error;

class shared_timeline : public yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(shared_timeline);

TEST_P(shared_timeline, host_and_device_order_each_other) {
    ASSERT_OK_AND_ASSIGN(const SharedTimeline timeline, SharedTimeline::create(device(), {.label = "steps"}));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device(), {.label = "step"}));
    const TimelinePoint go{&timeline, 1};
    const TimelinePoint done{&timeline, 2};
    ASSERT_OK_AND_ASSIGN(const Submission step,
                         submit(dispatcher(), recorder, {.wait_before = {&go, 1}, .signal_after = {&done, 1}}));
    EXPECT_TRUE(expect_error(timeline.wait(2, 1ms), ErrorKind::Driver, "[steps] has not reached 2"));
    ASSERT_OK_AND_ASSIGN(const bool early, dispatcher().poll(step));
    EXPECT_FALSE(early);
    ASSERT_OK(timeline.signal(1));
    ASSERT_OK(timeline.wait(2, 10s));
    ASSERT_OK(dispatcher().wait(step));
    ASSERT_OK_AND_ASSIGN(const std::uint64_t value, timeline.value());
    EXPECT_EQ(value, 2U);
}

TEST_P(shared_timeline, points_that_cannot_be_are_refused) {
    SecondDevice second(device_name());
    ASSERT_OK_AND_ASSIGN(const SharedTimeline timeline, SharedTimeline::create(device(), {.label = "steps"}));
    ASSERT_OK(timeline.signal(5));
    EXPECT_TRUE(expect_error(timeline.signal(5), ErrorKind::BadInput, "its value is 5, and it only rises"));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device(), {.label = "step"}));
    const TimelinePoint past{&timeline, 4};
    EXPECT_TRUE(expect_error(submit(dispatcher(), recorder, {.signal_after = {&past, 1}}), ErrorKind::BadInput,
                             "Cannot signal 4"));
    const TimelinePoint nothing;
    EXPECT_TRUE(expect_error(submit(dispatcher(), recorder, {.wait_before = {&nothing, 1}}), ErrorKind::BadInput,
                             "has no timeline"));
    const std::vector<TimelinePoint> many(17, past);
    EXPECT_TRUE(expect_error(submit(dispatcher(), recorder, {.wait_before = many}), ErrorKind::BadInput,
                             "17 points of timelines were given; 16 are allowed"));
    ASSERT_OK_AND_ASSIGN(Recorder other, Recorder::create(second.device, {.label = "step"}));
    EXPECT_TRUE(expect_error(submit(second.dispatcher, other, {.wait_before = {&past, 1}}), ErrorKind::BadInput,
                             "[steps] is of another device"));
    EXPECT_TRUE(expect_error(timeline.export_handle(), ErrorKind::BadInput, "was not made exportable"));
}

TEST_P(shared_timeline, crosses_devices_or_is_refused) {
    const Result<SharedTimeline> here = SharedTimeline::create(device(), {.exportable = true, .label = "steps"});
    if (!device().info().sharing.timeline.can_export) {
        EXPECT_TRUE(expect_error(here, ErrorKind::Unsupported, "cannot export the timeline semaphore [steps]. It"));
        EXPECT_TRUE(expect_error(SharedTimeline::import(device(), TimelineHandle{}), ErrorKind::Unsupported,
                                 "cannot import the timeline semaphore [imported timeline]. It exports"));
        return;
    }
    ASSERT_OK(here);
    SecondDevice second(device_name());
    const std::ptrdiff_t before = open_descriptors();
    {
        ASSERT_OK_AND_ASSIGN(TimelineHandle handle, here->export_handle());
        ASSERT_OK_AND_ASSIGN(const SharedTimeline there, SharedTimeline::import(second.device, handle));
        ASSERT_OK_AND_ASSIGN(Recorder first, Recorder::create(device()));
        ASSERT_OK_AND_ASSIGN(Recorder then, Recorder::create(second.device));
        const TimelinePoint signalled{&*here, 1};
        const TimelinePoint awaited{&there, 1};
        const TimelinePoint last{&there, 2};
        ASSERT_OK(submit(dispatcher(), first, {.signal_after = {&signalled, 1}}));
        ASSERT_OK(submit(second.dispatcher, then, {.wait_before = {&awaited, 1}, .signal_after = {&last, 1}}));
        ASSERT_OK(here->wait(2, 10s));
        handle.fd.close();
        EXPECT_TRUE(expect_error(SharedTimeline::import(second.device, handle), ErrorKind::BadInput, "is not open"));
    }
    EXPECT_EQ(open_descriptors(), before);
}

// What stands in, on a device of the test's own, for the functions of a driver that exports timelines.
VkResult VKAPI_CALL give_descriptor(VkDevice, const VkSemaphoreGetFdInfoKHR* info, int* fd) {
    EXPECT_EQ(info->handleType, VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT);
    *fd = ::memfd_create("semaphore", MFD_CLOEXEC);
    return VK_SUCCESS;
}
VkResult VKAPI_CALL take_descriptor(VkDevice, const VkImportSemaphoreFdInfoKHR* info) {
    EXPECT_EQ(info->handleType, VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT);
    EXPECT_EQ(info->flags, 0U) << "for good";
    ::close(info->fd);
    return VK_SUCCESS;
}
VkResult VKAPI_CALL refuse_descriptor(VkDevice, const VkImportSemaphoreFdInfoKHR*) {
    return VK_ERROR_INVALID_EXTERNAL_HANDLE;
}
VkResult VKAPI_CALL refuse_and_close(VkDevice, const VkImportSemaphoreFdInfoKHR* info) {
    ::close(info->fd);
    return VK_ERROR_INVALID_EXTERNAL_HANDLE;
}
PFN_vkCreateSemaphore real_create_semaphore = nullptr;
VkResult VKAPI_CALL create_without_export(VkDevice device, const VkSemaphoreCreateInfo* info,
                                          const VkAllocationCallbacks* callbacks, VkSemaphore* semaphore) {
    auto type = *static_cast<const VkSemaphoreTypeCreateInfo*>(info->pNext);
    const auto* exported = static_cast<const VkExportSemaphoreCreateInfo*>(std::exchange(type.pNext, nullptr));
    if (exported != nullptr) {
        EXPECT_EQ(exported->handleTypes, VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT);
    }
    VkSemaphoreCreateInfo plain = *info;
    plain.pNext = &type;
    return real_create_semaphore(device, &plain, callbacks, semaphore);
}

TEST_P(shared_timeline, handles_stay_the_callers_whatever_the_driver_does) {
    SecondDevice own(device_name());
    DeviceContext& context = own.device.impl()->context;
    context.info.sharing.timeline = {.can_export = true, .can_import = true};
    real_create_semaphore = std::exchange(context.vk.vkCreateSemaphore, create_without_export);
    context.vk.vkGetSemaphoreFdKHR = give_descriptor;
    ASSERT_OK_AND_ASSIGN(const SharedTimeline here,
                         SharedTimeline::create(own.device, {.exportable = true, .label = "steps"}));
    const std::ptrdiff_t before = open_descriptors();
    {
        ASSERT_OK_AND_ASSIGN(TimelineHandle handle, here.export_handle());
        EXPECT_EQ(handle.origin.device_uuid, device().info().uuid);
        context.vk.vkImportSemaphoreFdKHR = take_descriptor;
        EXPECT_OK(SharedTimeline::import(own.device, handle));
        EXPECT_OK(SharedTimeline::import(own.device, handle)) << "once more";
        for (const PFN_vkImportSemaphoreFdKHR refuses : {refuse_descriptor, refuse_and_close}) {
            context.vk.vkImportSemaphoreFdKHR = refuses;
            EXPECT_TRUE(expect_error(SharedTimeline::import(own.device, handle, "theirs"), ErrorKind::Driver,
                                     "Cannot import the timeline semaphore [theirs]"));
        }
        EXPECT_EQ(open_descriptors(), before + 1);
        handle.origin.driver_uuid = "ff";
        EXPECT_TRUE(expect_error(SharedTimeline::import(own.device, handle), ErrorKind::BadInput, "An opaque handle"));
    }
    EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace yolk
