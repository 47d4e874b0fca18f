// SPDX-License-Identifier: Apache-2.0
#include "driver_watch.hpp"

#include <volk.h>

#include <atomic>
#include <cerrno>
#include <type_traits>

#include "device_impl.hpp"

namespace yolk::testing {
namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): Vulkan's functions and malloc carry no user data
thread_local int driver_depth = 0;  ///< above 0 inside a call into the driver
std::atomic<std::uint64_t> calls = 0;
std::atomic<std::uint64_t> objects = 0;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

struct InDriver {
    InDriver() noexcept { ++driver_depth; }
    ~InDriver() { --driver_depth; }
    InDriver(const InDriver&) = delete;
    InDriver& operator=(const InDriver&) = delete;
};

/// The wrapper of one function; `Slot` tells functions of the same type apart.
template <auto Slot, bool makes_object, class Function>
struct Wrapper;
template <auto Slot, bool makes_object, class R, class... Arguments>
struct Wrapper<Slot, makes_object, R(VKAPI_PTR*)(Arguments...)> {
    static inline R(VKAPI_PTR* real)(Arguments...) = nullptr;
    static R VKAPI_CALL call(Arguments... arguments) {
        calls.fetch_add(1);
        if (makes_object) objects.fetch_add(1);
        const InDriver inside;
        return real(arguments...);
    }
};

template <bool makes_object, auto... Slots, class Table>
void wrap(Table& table) {
    const auto one = [&table]<auto Slot>() {
        using Function = std::remove_reference_t<decltype(table.*Slot)>;
        if (table.*Slot == nullptr) return;
        Wrapper<Slot, makes_object, Function>::real = table.*Slot;
        table.*Slot = &Wrapper<Slot, makes_object, Function>::call;
    };
    (one.template operator()<Slots>(), ...);
}

using T = VolkDeviceTable;

/// Everything in Vulkan 1.2 that makes an object.
void wrap_creation(T& table) {
    wrap<true, &T::vkAllocateMemory, &T::vkAllocateCommandBuffers, &T::vkAllocateDescriptorSets, &T::vkCreateBuffer,
         &T::vkCreateBufferView, &T::vkCreateCommandPool, &T::vkCreateComputePipelines, &T::vkCreateDescriptorPool,
         &T::vkCreateDescriptorSetLayout, &T::vkCreateDescriptorUpdateTemplate, &T::vkCreateEvent, &T::vkCreateFence,
         &T::vkCreateFramebuffer, &T::vkCreateGraphicsPipelines, &T::vkCreateImage, &T::vkCreateImageView,
         &T::vkCreatePipelineCache, &T::vkCreatePipelineLayout, &T::vkCreateQueryPool, &T::vkCreateRenderPass,
         &T::vkCreateRenderPass2, &T::vkCreateSampler, &T::vkCreateSamplerYcbcrConversion, &T::vkCreateSemaphore,
         &T::vkCreateShaderModule>(table);
}

/// What recording, submitting, waiting and reading back call.
void wrap_use(T& table) {
    wrap<false, &T::vkResetCommandPool, &T::vkBeginCommandBuffer, &T::vkEndCommandBuffer, &T::vkCmdBindPipeline,
         &T::vkCmdBindDescriptorSets, &T::vkCmdPushConstants, &T::vkCmdDispatch, &T::vkCmdDispatchBase,
         &T::vkCmdPipelineBarrier, &T::vkCmdCopyBuffer, &T::vkCmdFillBuffer, &T::vkCmdResetQueryPool,
         &T::vkCmdWriteTimestamp, &T::vkQueueSubmit, &T::vkWaitSemaphores, &T::vkGetSemaphoreCounterValue,
         &T::vkGetQueryPoolResults, &T::vkFlushMappedMemoryRanges, &T::vkInvalidateMappedMemoryRanges>(table);
}

}  // namespace

struct DriverWatch::Saved {
    std::shared_ptr<Device::Impl> device;
    VolkDeviceTable table;
    PFN_vkCmdBeginDebugUtilsLabelEXT begin_label;
    PFN_vkCmdEndDebugUtilsLabelEXT end_label;
    std::uint64_t calls_before = calls.load();
    std::uint64_t objects_before = objects.load();
};

DriverWatch::DriverWatch(const Device& device) : saved_(std::make_unique<Saved>()) {
    saved_->device = device.impl();
    DeviceContext& context = saved_->device->context;
    saved_->table = context.vk;
    saved_->begin_label = context.begin_label;
    saved_->end_label = context.end_label;
    wrap_creation(context.vk);
    wrap_use(context.vk);
    wrap<false, &DeviceContext::begin_label, &DeviceContext::end_label>(context);
}

DriverWatch::~DriverWatch() {
    DeviceContext& context = saved_->device->context;
    context.vk = saved_->table;
    context.begin_label = saved_->begin_label;
    context.end_label = saved_->end_label;
}

std::uint64_t DriverWatch::objects_created() const noexcept { return objects.load() - saved_->objects_before; }
std::uint64_t DriverWatch::driver_calls() const noexcept { return calls.load() - saved_->calls_before; }

}  // namespace yolk::testing

#if YOLK_COUNTS_THE_HEAP
// glibc lets a program bring its own malloc; its own stays reachable by these names, so `free` need not be replaced.
namespace yolk::testing {
namespace {
thread_local std::uint64_t allocations = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
void count() noexcept { allocations += driver_depth == 0 ? 1 : 0; }
}  // namespace
std::uint64_t own_allocations() noexcept { return allocations; }
}  // namespace yolk::testing

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): glibc's names
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

void* malloc(std::size_t size) {
    yolk::testing::count();
    return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
    yolk::testing::count();
    return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
    yolk::testing::count();
    return __libc_realloc(memory, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
    yolk::testing::count();
    return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
    if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
    void* const made = memalign(alignment, size);
    if (made == nullptr) return ENOMEM;
    *memory = made;
    return 0;
}
}
#endif
