// SPDX-License-Identifier: Apache-2.0
// Two VkDevices of one driver on the same memory. What a driver here cannot do is checked to be refused in words.
#include "yolk/shared_memory.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "buffer_impl.hpp"
#include "callers_device.hpp"
#include "device_impl.hpp"
#include "noise_work.hpp"
#include "second_device.hpp"
#include "yolk/internal/testing/fault_injector.hpp"

namespace yolk {
namespace {

using yolk::testing::expect_error;

constexpr std::uint32_t kCount = 2003;  ///< numbers, with 256 bytes of guard before and behind them
constexpr std::uint64_t kOffset = 256;
constexpr std::uint64_t kBytes = std::uint64_t{4} * kCount;
constexpr std::uint64_t kSize = kOffset + kBytes + 256;
constexpr std::uint32_t kGuard = 0xA5A5A5A5;

class shared_memory : public yolk::testing::DeviceTest {
   protected:
    [[nodiscard]] const SharingSupport& support() const { return device().info().sharing; }
    [[nodiscard]] Result<Buffer> exportable(std::uint64_t size_bytes = kSize) const {
        return create_exportable_buffer(device(), {.size_bytes = size_bytes, .label = "shared"});
    }
};
YOLK_FOR_EACH_DEVICE(shared_memory);

/// The guards by a fill, the numbers by a kernel; then the buffer is others'.
Result<void> write_noise(const Device& device, Dispatcher& dispatcher, const Buffer& buffer, std::uint32_t time) {
    YOLK_TRY(const NoiseBinding noise, bind_noise(device, {buffer, kOffset, kBytes}));
    YOLK_TRY(Recorder recorder, Recorder::create(device, {.label = "writer"}));
    acquire_shared(recorder, buffer);
    recorder.fill(buffer, kGuard);
    recorder.barrier(Barrier::TransferToCompute);
    recorder.dispatch(noise, noise_params(time, kCount), noise_groups(kCount));
    release_shared(recorder, buffer);
    return dispatcher.run(recorder);
}

void expect_noise(const Device& device, Dispatcher& dispatcher, const Buffer& buffer, std::uint32_t time) {
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(device, {.label = "reader"}));
    acquire_shared(recorder, buffer);
    ASSERT_OK(dispatcher.run(recorder));
    std::vector<std::uint32_t> words(kSize / 4);
    ASSERT_OK(dispatcher.download({buffer, 0, kSize / 4 * 4}, std::as_writable_bytes(std::span(words))));
    const std::vector<std::uint32_t> guard(kOffset / 4, kGuard);
    EXPECT_TRUE(std::equal(guard.begin(), guard.end(), words.begin())) << "before the numbers";
    EXPECT_TRUE(std::equal(guard.begin(), guard.end(), words.end() - kOffset / 4)) << "behind them";
    std::vector<std::int32_t> numbers(kCount);
    std::memcpy(numbers.data(), words.data() + kOffset / 4, kBytes);
    EXPECT_EQ(numbers, expected_noise(time, kCount));
    ASSERT_OK_AND_ASSIGN(Recorder back, Recorder::create(device, {.label = "back"}));
    release_shared(back, buffer);
    ASSERT_OK(dispatcher.run(back));
}

TEST_P(shared_memory, one_device_reads_what_the_other_wrote_both_ways) {
    for (const MemoryPolicy policy : {MemoryPolicy::Native, MemoryPolicy::ForceDiscrete}) {
        const yolk::testing::SharedDevice& first = yolk::testing::shared_device(device_name(), policy);
        SecondDevice second(device_name(), policy);
        ASSERT_OK_AND_ASSIGN(const Buffer here,
                             create_exportable_buffer(first.device, {.size_bytes = kSize, .label = "shared"}));
        ASSERT_OK_AND_ASSIGN(const MemoryHandle handle, export_memory(here));
        EXPECT_EQ(handle.buffer_bytes, kSize);
        EXPECT_GE(handle.allocation_bytes, kSize);
        ASSERT_OK_AND_ASSIGN(const Buffer there, import_memory(second.device, handle));
        EXPECT_EQ(there.size_bytes(), kSize);
        EXPECT_EQ(there.mapped().empty(), here.mapped().empty());
        if (policy == MemoryPolicy::ForceDiscrete) {
            EXPECT_TRUE(there.mapped().empty());
        }
        Dispatcher& dispatcher = yolk::testing::shared_device(device_name(), policy).dispatcher;
        ASSERT_OK(write_noise(first.device, dispatcher, here, 7));
        expect_noise(second.device, second.dispatcher, there, 7);
        ASSERT_OK(write_noise(second.device, second.dispatcher, there, 8));
        expect_noise(first.device, dispatcher, here, 8);
    }
}

TEST_P(shared_memory, outlives_the_buffer_that_was_exported) {
    SecondDevice second(device_name());
    MemoryHandle handle;
    {
        ASSERT_OK_AND_ASSIGN(const Buffer here, exportable());
        ASSERT_OK(write_noise(device(), dispatcher(), here, 3));
        ASSERT_OK_AND_ASSIGN(handle, export_memory(here));
    }
    // A handle is imported as often as one likes.
    ASSERT_OK_AND_ASSIGN(const Buffer there, import_memory(second.device, handle, "first"));
    ASSERT_OK_AND_ASSIGN(const Buffer again, import_memory(second.device, handle, "second"));
    expect_noise(second.device, second.dispatcher, there, 3);
    expect_noise(second.device, second.dispatcher, again, 3);
}

TEST_P(shared_memory, leaves_no_descriptor_open) {
    SecondDevice second(device_name());
    const auto share = [&] {
        ASSERT_OK_AND_ASSIGN(const Buffer here, exportable());
        ASSERT_OK_AND_ASSIGN(MemoryHandle handle, export_memory(here));
        ASSERT_OK_AND_ASSIGN(const MemoryHandle twice, export_memory(here));
        EXPECT_NE(handle.fd.get(), twice.fd.get());
        ASSERT_OK_AND_ASSIGN(const Buffer there, import_memory(second.device, handle));
        handle.allocation_bytes *= 4;
        EXPECT_TRUE(expect_error(import_memory(second.device, handle), ErrorKind::BadInput, "[imported buffer]"));
    };
    share();
    const std::ptrdiff_t before = open_descriptors();
    for (int i = 0; i < 5; ++i) share();
    EXPECT_EQ(open_descriptors(), before);
}

// Whether the driver takes it or not: a file of zeros is as good as memory to SwiftShader; lavapipe marks its own, and
// closes a descriptor that it refuses.
TEST_P(shared_memory, a_file_that_was_not_exported_stays_the_callers) {
    ASSERT_OK_AND_ASSIGN(const Buffer here, exportable());
    ASSERT_OK_AND_ASSIGN(MemoryHandle handle, export_memory(here));
    const Descriptor exported = std::move(handle.fd);
    handle.fd = Descriptor(::memfd_create("not a driver's", MFD_CLOEXEC));
    ASSERT_EQ(::ftruncate(handle.fd.get(), static_cast<off_t>(handle.allocation_bytes + 65536)), 0);
    const std::ptrdiff_t before = open_descriptors();
    {
        const Result<Buffer> imported = import_memory(device(), handle);
        if (imported) {
            EXPECT_EQ(open_descriptors(), before + 1) << "the driver's duplicate";
        } else {
            EXPECT_TRUE(expect_error(imported, ErrorKind::BadInput, "does not take the handle as memory"));
            EXPECT_EQ(open_descriptors(), before);
        }
    }
    EXPECT_EQ(open_descriptors(), before);
    EXPECT_GE(::fcntl(handle.fd.get(), F_GETFD), 0) << "the caller's descriptor stays his";
}

TEST_P(shared_memory, descriptors_that_are_none_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer here, exportable());
    ASSERT_OK_AND_ASSIGN(MemoryHandle handle, export_memory(here));
    const Descriptor exported = std::move(handle.fd);
    const auto refused = [&](int fd, const char* part) {
        handle.fd = Descriptor(fd);
        return expect_error(import_memory(device(), handle), ErrorKind::BadInput, part);
    };
    EXPECT_TRUE(refused(-1, "its descriptor -1 is not open"));
    const int closed = ::dup(exported.get());
    ::close(closed);
    EXPECT_TRUE(refused(closed, "is not open"));
    static_cast<void>(handle.fd.release());  // another file may have the number by now
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    const Descriptor writer(pipe[1]);
    EXPECT_TRUE(refused(pipe[0], "is not memory"));
    // A GPU's driver is asked: its own handles are files without a size, too.
    const char* const sizeless =
        device().info().kind == DeviceKind::Cpu ? "is not memory" : "does not take the handle as memory";
    EXPECT_TRUE(refused(::eventfd(0, EFD_CLOEXEC), sizeless));
    EXPECT_TRUE(refused(::open("/dev/zero", O_RDWR | O_CLOEXEC), sizeless));
    EXPECT_TRUE(refused(::open("/proc/self", O_RDONLY | O_CLOEXEC), "is not memory"));
    const int small = ::memfd_create("small", MFD_CLOEXEC);
    ASSERT_EQ(::ftruncate(small, 100), 0);
    EXPECT_TRUE(refused(small, "holds 100 bytes"));
}

TEST_P(shared_memory, handles_that_do_not_fit_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer here, exportable());
    ASSERT_OK_AND_ASSIGN(MemoryHandle handle, export_memory(here));
    const auto refused = [&](std::uint64_t MemoryHandle::*field, std::uint64_t value, const char* part) {
        const std::uint64_t right = std::exchange(handle.*field, value);
        const auto result = expect_error(import_memory(device(), handle), ErrorKind::BadInput, part);
        handle.*field = right;
        return result;
    };
    EXPECT_TRUE(refused(&MemoryHandle::buffer_bytes, 0, "says 0 bytes in an allocation of"));
    EXPECT_TRUE(refused(&MemoryHandle::buffer_bytes, handle.allocation_bytes + 1, "must fit"));
    EXPECT_TRUE(refused(&MemoryHandle::buffer_bytes, 4, "a buffer of 4 bytes takes an allocation of"));
    EXPECT_TRUE(refused(&MemoryHandle::allocation_bytes, UINT64_MAX, "allocates"));
    // Files of CPU drivers have a size.
    EXPECT_TRUE(refused(&MemoryHandle::allocation_bytes, std::uint64_t{1} << 30U,
                        device().info().kind == DeviceKind::Cpu ? "holds" : "takes an allocation of"));
    handle.memory_type = 33;
    EXPECT_TRUE(expect_error(import_memory(device(), handle), ErrorKind::BadInput, "memory type 33"));
    handle.memory_type = 0;
    handle.type = HandleType::HostPointer;
    EXPECT_TRUE(expect_error(import_memory(device(), handle), ErrorKind::BadInput, "import_host_pointer"));
}

TEST_P(shared_memory, another_drivers_handle_is_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer here, exportable());
    ASSERT_OK_AND_ASSIGN(const MemoryHandle handle, export_memory(here));
    for (const std::string& name : yolk::testing::devices()) {
        if (name == device_name()) continue;
        EXPECT_TRUE(expect_error(import_memory(yolk::testing::shared_device(name).device, handle), ErrorKind::BadInput,
                                 "An opaque handle is for the device and the driver that it came from"));
    }
}

TEST_P(shared_memory, only_what_was_made_for_it_is_exported) {
    ASSERT_OK_AND_ASSIGN(const Buffer ordinary, device().create_buffer({.size_bytes = 64, .label = "ordinary"}));
    EXPECT_TRUE(
        expect_error(export_memory(ordinary), ErrorKind::BadInput, "the buffer [ordinary]: it was not made by"));
    EXPECT_TRUE(expect_error(export_memory(Buffer()), ErrorKind::BadInput, "empty"));
    ASSERT_OK_AND_ASSIGN(const Buffer here, exportable());
    ASSERT_OK_AND_ASSIGN(const MemoryHandle handle, export_memory(here));
    ASSERT_OK_AND_ASSIGN(const Buffer imported, import_memory(device(), handle));
    EXPECT_TRUE(expect_error(export_memory(imported), ErrorKind::BadInput, "create_exportable_buffer"));
    EXPECT_TRUE(expect_error(exportable(0), ErrorKind::BadInput, "0 bytes"));
    EXPECT_TRUE(expect_error(exportable(std::uint64_t{1} << 60U), ErrorKind::Unsupported, "Split it"));
}

// No CPU driver exports a dma-buf (lavapipe 26.1 imports them).
TEST_P(shared_memory, dma_buf_works_or_is_refused) {
    const BufferDesc desc{.size_bytes = kSize, .label = "shared"};
    const Result<Buffer> here = create_exportable_buffer(device(), desc, HandleType::DmaBuf);
    if (!support().dma_buf.can_export) {
        EXPECT_TRUE(expect_error(here, ErrorKind::Unsupported, "cannot export the buffer [shared] as dma-buf. It"));
    } else {
        ASSERT_OK(here);
        SecondDevice second(device_name());
        ASSERT_OK_AND_ASSIGN(const MemoryHandle handle, export_memory(*here));
        ASSERT_OK_AND_ASSIGN(const Buffer there, import_memory(second.device, handle));
        ASSERT_OK(write_noise(device(), dispatcher(), *here, 2));
        expect_noise(second.device, second.dispatcher, there, 2);
    }
    if (support().dma_buf.can_import) return;
    MemoryHandle handle{.type = HandleType::DmaBuf, .buffer_bytes = 64, .allocation_bytes = 64};
    EXPECT_TRUE(expect_error(import_memory(device(), handle), ErrorKind::Unsupported, "from dma-buf. It exports"));
}

TEST_P(shared_memory, host_pointers_work_or_are_refused) {
    constexpr std::size_t kPages = 16384;
    const std::unique_ptr<std::byte, void (*)(void*)> memory(
        static_cast<std::byte*>(std::aligned_alloc(65536, 4 * kPages)), std::free);
    std::memset(memory.get(), 0, 4 * kPages);
    const std::span<std::byte> bytes(memory.get(), kPages);
    if (!support().host_pointer.can_import) {
        EXPECT_TRUE(expect_error(import_host_pointer(device(), bytes), ErrorKind::Unsupported,
                                 "cannot import the buffer [host memory] from host pointer. It exports"));
        return;
    }
    {
        ASSERT_OK_AND_ASSIGN(const Buffer buffer, import_host_pointer(device(), bytes));
        ASSERT_OK(write_noise(device(), dispatcher(), buffer, 5));
        std::vector<std::int32_t> numbers(kCount);
        std::memcpy(numbers.data(), memory.get() + kOffset, kBytes);
        EXPECT_EQ(numbers, expected_noise(5, kCount));
        const std::int32_t written = 12345;  // and the other way
        std::memcpy(memory.get() + kOffset, &written, sizeof(written));
        ASSERT_OK_AND_ASSIGN(const auto got, download_ints(dispatcher(), {buffer, kOffset, 4}, 1));
        EXPECT_EQ(got.front(), written);
    }
    EXPECT_EQ(memory.get()[kPages], std::byte{0}) << "behind what was given";
    memory.get()[0] = std::byte{1};  // still the caller's
    for (const std::span<std::byte>& wrong :
         {bytes.subspan(64), bytes.first(100), bytes.first(0), std::span<std::byte>(memory.get() + 1, kPages)}) {
        EXPECT_TRUE(expect_error(import_host_pointer(device(), wrong), ErrorKind::BadInput,
                                 "takes addresses and sizes that are multiples of"));
    }
}

TEST_P(shared_memory, an_adopted_device_shares_what_its_owner_enabled) {
    CallersDevice plain(device_name());
    ASSERT_OK_AND_ASSIGN(const Device closed, adopt_device(plain.adopted));
    EXPECT_TRUE(expect_error(create_exportable_buffer(closed, {.size_bytes = kSize, .label = "shared"}),
                             ErrorKind::Unsupported, "It exports memory as nothing"));
    CallersDevice open(device_name(), true);
    ASSERT_OK_AND_ASSIGN(const Device adopted, adopt_device(open.adopted));
    ASSERT_OK_AND_ASSIGN(Dispatcher own, Dispatcher::create(adopted));
    ASSERT_OK_AND_ASSIGN(const Buffer here,
                         create_exportable_buffer(adopted, {.size_bytes = kSize, .label = "shared"}));
    ASSERT_OK_AND_ASSIGN(const MemoryHandle handle, export_memory(here));
    ASSERT_OK_AND_ASSIGN(const Buffer there, import_memory(device(), handle));
    ASSERT_OK(write_noise(adopted, own, here, 9));
    expect_noise(device(), dispatcher(), there, 9);
}

TEST_P(shared_memory, ownership_is_recorded_for_own_buffers_only) {
    SecondDevice second(device_name());
    ASSERT_OK_AND_ASSIGN(const Buffer here, exportable());
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(second.device, {.label = "other"}));
    release_shared(recorder, here);
    EXPECT_TRUE(expect_error(recorder.finish(), ErrorKind::BadInput, "[shared] was made by another device"));
    recorder.begin();
    acquire_shared(recorder, {});
    ASSERT_OK(recorder.finish());
}

std::vector<VkBufferMemoryBarrier> transfers;  ///< what was recorded, with its stages
std::vector<std::pair<VkPipelineStageFlags, VkPipelineStageFlags>> transfer_stages;
PFN_vkCmdPipelineBarrier real_barrier = nullptr;
void VKAPI_CALL note_barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkPipelineStageFlags to,
                             VkDependencyFlags flags, std::uint32_t memory_count, const VkMemoryBarrier* memory,
                             std::uint32_t buffer_count, const VkBufferMemoryBarrier* buffers,
                             std::uint32_t image_count, const VkImageMemoryBarrier* images) {
    for (std::uint32_t i = 0; i < buffer_count; ++i) {
        transfers.push_back(buffers[i]);
        transfer_stages.emplace_back(from, to);
    }
    real_barrier(commands, from, to, flags, memory_count, memory, buffer_count, buffers, image_count, images);
}

TEST_P(shared_memory, ownership_goes_to_the_outside_and_comes_back) {
    SecondDevice own(device_name());
    DeviceContext& context = own.device.impl()->context;
    real_barrier = std::exchange(context.vk.vkCmdPipelineBarrier, note_barrier);
    transfers.clear();
    transfer_stages.clear();
    ASSERT_OK_AND_ASSIGN(const Buffer shared,
                         create_exportable_buffer(own.device, {.size_bytes = kSize, .label = "shared"}));
    ASSERT_OK_AND_ASSIGN(Recorder recorder, Recorder::create(own.device));
    const BufferView part{shared, 256, 512};
    acquire_shared(recorder, part);
    release_shared(recorder, part);
    ASSERT_OK(own.dispatcher.run(recorder));

    constexpr VkPipelineStageFlags kWork = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    ASSERT_EQ(transfers.size(), 2U);
    for (const VkBufferMemoryBarrier& transfer : transfers) {
        EXPECT_EQ(transfer.sType, VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER);
        EXPECT_EQ(transfer.pNext, nullptr);
        EXPECT_EQ(transfer.buffer, shared.impl()->handle);
        EXPECT_EQ(transfer.offset, 256U);
        EXPECT_EQ(transfer.size, 512U);
    }
    EXPECT_EQ(transfers[0].srcQueueFamilyIndex, VK_QUEUE_FAMILY_EXTERNAL);
    EXPECT_EQ(transfers[0].dstQueueFamilyIndex, context.queue_family);
    EXPECT_EQ(transfers[0].srcAccessMask, 0U) << "the other side's, which its release names";
    EXPECT_EQ(transfers[0].dstAccessMask, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                                              VK_ACCESS_UNIFORM_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                                              VK_ACCESS_TRANSFER_WRITE_BIT);
    EXPECT_EQ(transfer_stages[0].first, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT)
        << "after the semaphores that were waited for";
    EXPECT_EQ(transfer_stages[0].second, kWork);
    EXPECT_EQ(transfers[1].srcQueueFamilyIndex, context.queue_family);
    EXPECT_EQ(transfers[1].dstQueueFamilyIndex, VK_QUEUE_FAMILY_EXTERNAL);
    EXPECT_EQ(transfers[1].srcAccessMask, VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    EXPECT_EQ(transfers[1].dstAccessMask, 0U);
    EXPECT_EQ(transfer_stages[1].first, kWork);
    EXPECT_EQ(transfer_stages[1].second, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
}

class shared_faults : public shared_memory {
   protected:
    void SetUp() override { static_cast<void>(yolk::testing::instance()); }
    yolk::testing::FaultInjector injector_;
};
YOLK_FOR_EACH_DEVICE(shared_faults);

TEST_P(shared_faults, any_call_of_sharing) {
    SecondDevice first(device_name());
    SecondDevice second(device_name());
    constexpr std::size_t kPageBytes = 65536;
    const std::unique_ptr<std::byte, void (*)(void*)> pages(
        static_cast<std::byte*>(std::aligned_alloc(kPageBytes, kPageBytes)), std::free);
    const auto share = [&]() -> Result<void> {
        YOLK_TRY(const Buffer here, create_exportable_buffer(first.device, {.size_bytes = kSize, .label = "shared"}));
        YOLK_TRY(const MemoryHandle handle, export_memory(here));
        YOLK_TRY(const Buffer there, import_memory(second.device, handle, "shared"));
        YOLK_TRY(const SharedTimeline timeline, SharedTimeline::create(first.device, {.label = "shared"}));
        YOLK_TRY_VOID(timeline.signal(1));
        if (!support().host_pointer.can_import) return {};
        YOLK_TRY(const Buffer own, import_host_pointer(first.device, {pages.get(), kPageBytes}, "shared"));
        return {};
    };
    ASSERT_OK(share());
    const std::ptrdiff_t before = open_descriptors();
    yolk::testing::Sweep sweep{
        .kinds = {yolk::testing::FaultKind::OutOfHostMemory, yolk::testing::FaultKind::OutOfDeviceMemory},
        .names = {"[shared]"}};
    sweep.tolerated = {"vkSetDebugUtilsObjectNameEXT"};
    sweep.bad_input = "does not take the handle as memory";  // the heap has room
    sweep.afterwards = share;
    sweep_calls(injector_, sweep, share);
    EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace yolk
