// SPDX-License-Identifier: Apache-2.0
// What devices say that they share, as data: the CPU drivers' answers, and those of Mesa 26.1.6 for null devices.
#include "yolk/internal/runtime/sharing.hpp"

#include <gtest/gtest.h>

#include "gpu_tables.hpp"
#include "sharing_support.hpp"
#include "vk_result.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using yolk::testing::expect_error;

constexpr HandleSupport kBothWays{.can_export = true, .can_import = true};
constexpr HandleSupport kInOnly{.can_import = true};

DeviceInfo sharing_device(const char* name, const SharingSupport& sharing) {
    DeviceInfo device = tables::on_the_floor();
    device.name = name;
    device.uuid = "00000000040000000000000000000000";
    device.driver_uuid = "414d442d4d4553412d44525600000000";
    device.sharing = sharing;
    return device;
}

DeviceInfo navi31() {
    return sharing_device("navi31", {.opaque_fd = kBothWays,
                                     .dma_buf = kBothWays,
                                     .host_pointer = kInOnly,
                                     .timeline = kBothWays,
                                     .host_pointer_alignment = 4096});
}
DeviceInfo nvk() {
    return sharing_device("nvk", {.opaque_fd = kBothWays, .dma_buf = kBothWays, .timeline = kBothWays});
}
DeviceInfo swiftshader() { return sharing_device("SwiftShader", {.opaque_fd = kBothWays}); }
DeviceInfo without_extensions() { return sharing_device("old", {}); }

TEST(sharing, text_lists_both_ways) {
    EXPECT_EQ(
        sharing_text(navi31().sharing),
        "exports memory as opaque file descriptor, dma-buf; imports opaque file descriptor, dma-buf, host pointer "
        "(in multiples of 4096 bytes); exports and imports timeline semaphores");
    EXPECT_EQ(sharing_text(without_extensions().sharing),
              "exports memory as nothing; imports nothing; shares no timeline semaphore");
}

TEST(sharing, what_a_device_has_passes) {
    for (const HandleType type : {HandleType::OpaqueFd, HandleType::DmaBuf}) {
        EXPECT_OK(check_memory_export(nvk(), type, "the buffer [a]"));
        EXPECT_OK(check_memory_import(nvk(), type, "the buffer [a]"));
    }
    EXPECT_OK(check_memory_import(navi31(), HandleType::HostPointer, "the buffer [a]"));
    EXPECT_OK(check_timeline_export(nvk(), "the timeline semaphore [t]"));
    EXPECT_OK(check_timeline_import(nvk(), "the timeline semaphore [t]"));
}

TEST(sharing, what_it_lacks_is_named_with_what_it_has) {
    EXPECT_TRUE(
        expect_error(check_memory_export(swiftshader(), HandleType::DmaBuf, "the buffer [a]"), ErrorKind::Unsupported,
                     "Device 'SwiftShader' cannot export the buffer [a] as dma-buf. It exports memory as opaque "
                     "file descriptor; imports opaque file descriptor; shares no timeline semaphore."));
    EXPECT_TRUE(expect_error(check_memory_import(nvk(), HandleType::HostPointer, "the buffer [a]"),
                             ErrorKind::Unsupported, "cannot import the buffer [a] from host pointer"));
    EXPECT_TRUE(expect_error(check_memory_export(navi31(), HandleType::HostPointer, "the buffer [a]"),
                             ErrorKind::Unsupported, "as host pointer"));
    EXPECT_TRUE(expect_error(check_timeline_export(swiftshader(), "the timeline semaphore [t]"), ErrorKind::Unsupported,
                             "cannot export the timeline semaphore [t]"));
    EXPECT_TRUE(expect_error(check_timeline_import(without_extensions(), "the timeline semaphore [t]"),
                             ErrorKind::Unsupported, "cannot import the timeline semaphore [t]"));
}

TEST(sharing, an_opaque_handle_is_for_one_device_and_one_driver) {
    const DeviceInfo device = navi31();
    HandleOrigin origin{.device_uuid = device.uuid, .driver_uuid = device.driver_uuid};
    EXPECT_OK(check_origin(device, origin, "the buffer [a]"));
    origin.driver_uuid = "414d442d4d4553412d44525600000001";
    EXPECT_TRUE(expect_error(check_origin(device, origin, "the buffer [a]"), ErrorKind::BadInput,
                             "and driver 414d442d4d4553412d44525600000001. An opaque handle is for"));
    origin = {.device_uuid = "ff", .driver_uuid = device.driver_uuid};
    EXPECT_TRUE(expect_error(check_origin(device, origin, "the buffer [a]"), ErrorKind::BadInput, "UUID ff"));
    EXPECT_TRUE(expect_error(check_origin(device, {}, "the buffer [a]"), ErrorKind::BadInput, "cannot import"));
}

// What the driver says of its own is for another kind of handle each time.
TEST(sharing, a_refused_handle_is_told_what_it_must_be) {
    const auto refused = [](HandleType type) -> Result<void> {
        return refused_import(vk_error(VK_ERROR_INVALID_EXTERNAL_HANDLE, "import it"), type, "the buffer [a]");
    };
    EXPECT_TRUE(
        expect_error(refused(HandleType::OpaqueFd), ErrorKind::BadInput,
                     "Cannot import the buffer [a]: the driver does not take the handle as memory that it has"));
    EXPECT_TRUE(expect_error(refused(HandleType::DmaBuf), ErrorKind::BadInput, "take the descriptor as a dma-buf"));
    EXPECT_TRUE(expect_error(refused(HandleType::HostPointer), ErrorKind::BadInput, "take these bytes as memory"));
    const Result<void> other =
        refused_import(vk_error(VK_ERROR_OUT_OF_HOST_MEMORY, "import it"), HandleType::OpaqueFd, "the buffer [a]");
    EXPECT_TRUE(expect_error(other, ErrorKind::OutOfMemory, "import it"));
}

// NVIDIA's driver runs out of device memory on a descriptor that is not memory.
TEST(sharing, out_of_device_memory_is_a_refusal_where_there_is_room) {
    const auto imported = [](VkResult result, bool has_room) -> Result<void> {
        return refused_import(vk_error(result, "import it"), HandleType::OpaqueFd, "the buffer [a]", has_room);
    };
    EXPECT_TRUE(expect_error(imported(VK_ERROR_OUT_OF_DEVICE_MEMORY, true), ErrorKind::BadInput,
                             "It returned VK_ERROR_OUT_OF_DEVICE_MEMORY, although the heap has room."));
    EXPECT_TRUE(expect_error(imported(VK_ERROR_INVALID_EXTERNAL_HANDLE, true), ErrorKind::BadInput,
                             "It returned VK_ERROR_INVALID_EXTERNAL_HANDLE."));
    EXPECT_TRUE(expect_error(imported(VK_ERROR_OUT_OF_DEVICE_MEMORY, false), ErrorKind::OutOfMemory, "import it"));
    EXPECT_TRUE(expect_error(imported(VK_ERROR_OUT_OF_HOST_MEMORY, true), ErrorKind::OutOfMemory, "import it"));
}

}  // namespace
}  // namespace yolk
