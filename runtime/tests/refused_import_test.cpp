// SPDX-License-Identifier: Apache-2.0
// A driver that runs out of device memory on a descriptor that is not memory, as NVIDIA's does.
#include <fcntl.h>
#include <unistd.h>

#include "device_impl.hpp"
#include "second_device.hpp"
#include "yolk/shared_memory.hpp"

namespace yolk {
namespace {

using yolk::testing::expect_error;

using refused_memory = yolk::testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(refused_memory);

VkResult VKAPI_CALL run_out(VkDevice, const VkMemoryAllocateInfo*, const VkAllocationCallbacks*, VkDeviceMemory*) {
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}
VkResult VKAPI_CALL run_out_and_close(VkDevice, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks*,
                                      VkDeviceMemory*) {
    const auto* imported = static_cast<const VkImportMemoryFdInfoKHR*>(info->pNext);
    EXPECT_EQ(imported->sType, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR);
    ::close(imported->fd);
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

TEST_P(refused_memory, is_out_of_memory_only_where_the_heap_has_no_room) {
    SecondDevice own(device_name());
    DeviceContext& context = own.device.impl()->context;
    ASSERT_OK_AND_ASSIGN(const Buffer here,
                         create_exportable_buffer(own.device, {.size_bytes = 8192, .label = "shared"}));
    ASSERT_OK_AND_ASSIGN(const MemoryHandle handle, export_memory(here));
    const std::ptrdiff_t before = open_descriptors();
    for (const PFN_vkAllocateMemory runs_out : {run_out, run_out_and_close}) {
        context.vk.vkAllocateMemory = runs_out;
        EXPECT_TRUE(expect_error(import_memory(own.device, handle, "theirs"), ErrorKind::BadInput,
                                 "Cannot import the buffer [theirs]: the driver does not take the handle as memory "
                                 "that it has exported. It returned VK_ERROR_OUT_OF_DEVICE_MEMORY"));
        EXPECT_EQ(open_descriptors(), before);
    }
    for (MemoryHeapInfo& heap : context.info.heaps) heap.size_bytes = 4096;
    EXPECT_TRUE(expect_error(import_memory(own.device, handle, "theirs"), ErrorKind::OutOfMemory,
                             "VK_ERROR_OUT_OF_DEVICE_MEMORY. Of heap"));
    EXPECT_EQ(open_descriptors(), before);
    EXPECT_GE(::fcntl(handle.fd.get(), F_GETFD), 0) << "the caller's descriptor stays his";
}

}  // namespace
}  // namespace yolk
