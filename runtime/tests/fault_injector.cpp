// SPDX-License-Identifier: Apache-2.0
// Stands between this library and the loader: every function that volk asks for and that can fail comes wrapped. Part
// of yolk::testing; here, because Vulkan's headers stay in runtime/.
#include "yolk/internal/testing/fault_injector.hpp"

#include <volk.h>

#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "device_numbers.hpp"
#include "spoiled_module.hpp"
#include "wrapped_function.hpp"

namespace yolk::testing {

struct FaultInjector::State {
    enum class Mode { Nothing, Nth, NextKept };

    mutable std::mutex mutex;
    Mode mode = Mode::Nothing;
    FaultKind kind = FaultKind::OutOfHostMemory;
    std::uint64_t nth = 0;
    std::uint64_t calls = 0;
    bool polling = false;  ///< the call that was counted last asked for a counter
    std::string injected_into;
    /// (function, calls of it that went well before): where fail_next_kept() has been.
    std::set<std::tuple<std::string, std::uint64_t>> failed_kept;
    std::map<std::string, std::uint64_t> kept_so_far;
    std::uint64_t largest_allocation = UINT64_MAX;
    bool hang = false;
    bool empty = false;
    std::chrono::milliseconds wait_delay{0};
    bool spoil = false;
    bool spoil_low_precision = false;
    std::uint32_t only_device = 0;     // 0: all
    std::uint32_t devices_before = 0;  // that were made before this injector
};

namespace {

std::mutex current_mutex;
FaultInjector::State* current = nullptr;

std::mutex living_mutex;
std::map<std::string, std::int64_t> living;

using namespace wrapping;

unsigned way_of(FaultKind kind) {
    switch (kind) {
        case FaultKind::OutOfHostMemory: return kHost;
        case FaultKind::OutOfDeviceMemory: return kDevice;
        case FaultKind::DeviceLost: return kLost;
        case FaultKind::Refused: return kInitialization | kMap;
    }
    return 0;
}

VkResult result_of(unsigned way) {
    if ((way & kHost) != 0) return VK_ERROR_OUT_OF_HOST_MEMORY;
    if ((way & kDevice) != 0) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if ((way & kLost) != 0) return VK_ERROR_DEVICE_LOST;
    return (way & kMap) != 0 ? VK_ERROR_MEMORY_MAP_FAILED : VK_ERROR_INITIALIZATION_FAILED;
}

/// Kept objects beyond this many are no longer failed one by one: a path that makes some anew each time would never
/// end.
constexpr std::uint64_t kMostKept = 16;

}  // namespace

namespace wrapping {

void count(const char* type, std::int64_t change) {
    const std::lock_guard lock(living_mutex);
    living[type] += change;
}

VkResult injected(const char* function, unsigned ways) {
    using State = FaultInjector::State;
    const std::lock_guard outer(current_mutex);
    if (current == nullptr) return VK_SUCCESS;
    const std::lock_guard lock(current->mutex);
    const unsigned way = ways & way_of(current->kind);
    if (current->mode == State::Mode::Nothing || way == 0 || !current->injected_into.empty()) return VK_SUCCESS;
    if (current->mode == State::Mode::NextKept) {
        const std::uint64_t before = current->kept_so_far[function];
        if ((ways & kKept) == 0 || before >= kMostKept) return VK_SUCCESS;
        if (!current->failed_kept.emplace(function, before).second) return VK_SUCCESS;
    }
    // A wait on a GPU asks for a counter again and again; how often is chance, so that a sweep over calls would never
    // end.
    const bool polls = std::string_view(function) == "vkGetSemaphoreCounterValue";
    const bool polled = std::exchange(current->polling, polls);
    if (current->mode == State::Mode::Nth && polls && polled) return VK_SUCCESS;
    ++current->calls;
    if (current->mode == State::Mode::Nth && current->calls != current->nth) return VK_SUCCESS;
    current->injected_into = function;
    return result_of(way);
}

void count_kept(const char* function, unsigned ways) {
    if ((ways & kKept) == 0) return;
    const std::lock_guard outer(current_mutex);
    if (current == nullptr) return;
    const std::lock_guard lock(current->mutex);
    ++current->kept_so_far[function];
}

}  // namespace wrapping

namespace {

template <class T>
T setting(T FaultInjector::State::*field, T otherwise) {
    const std::lock_guard outer(current_mutex);
    if (current == nullptr) return otherwise;
    const std::lock_guard lock(current->mutex);
    return current->*field;
}

DeviceNumbers device_numbers;

/// Whether a setting is for this device, or the device of this queue.
template <class Handle>
bool is_for(Handle handle) {
    const std::uint32_t only = setting(&FaultInjector::State::only_device, 0U);
    return only == 0 || device_numbers.of(handle) == setting(&FaultInjector::State::devices_before, 0U) + only;
}

struct Plain {
    template <class Function, class... Arguments>
    static VkResult perform(Function real, Arguments... arguments) {
        return real(arguments...);
    }
};
struct LimitedAllocation {
    static VkResult perform(PFN_vkAllocateMemory real, VkDevice device, const VkMemoryAllocateInfo* info,
                            const VkAllocationCallbacks* allocator, VkDeviceMemory* memory) {
        const auto largest = setting(&FaultInjector::State::largest_allocation, std::uint64_t{UINT64_MAX});
        return info->allocationSize > largest ? VK_ERROR_OUT_OF_DEVICE_MEMORY : real(device, info, allocator, memory);
    }
};
struct Hanging {
    static VkResult perform(PFN_vkQueueSubmit real, VkQueue queue, std::uint32_t count, const VkSubmitInfo* infos,
                            VkFence fence) {
        if (!is_for(queue)) return real(queue, count, infos, fence);
        if (setting(&FaultInjector::State::hang, false)) return VK_SUCCESS;
        if (!setting(&FaultInjector::State::empty, false)) return real(queue, count, infos, fence);
        std::vector<VkSubmitInfo> emptied(infos, infos + count);
        for (VkSubmitInfo& info : emptied) info.commandBufferCount = 0;
        return real(queue, count, emptied.data(), fence);
    }
};
struct LateWaiting {
    static VkResult perform(PFN_vkWaitSemaphores real, VkDevice device, const VkSemaphoreWaitInfo* info,
                            std::uint64_t timeout) {
        // After the wait, so that one with a time-out does not begin late.
        const VkResult result = real(device, info, timeout);
        std::this_thread::sleep_for(setting(&FaultInjector::State::wait_delay, std::chrono::milliseconds(0)));
        return result;
    }
};
struct Spoiling {
    static VkResult perform(PFN_vkCreateShaderModule real, VkDevice device, const VkShaderModuleCreateInfo* info,
                            const VkAllocationCallbacks* allocator, VkShaderModule* module) {
        const bool spoil = setting(&FaultInjector::State::spoil, false);
        const bool low = setting(&FaultInjector::State::spoil_low_precision, false);
        if ((!spoil && !low) || !is_for(device)) return real(device, info, allocator, module);
        const std::vector<std::uint32_t> code =
            spoiled_module({info->pCode, info->codeSize / 4}, {.multiplications = spoil, .low_precision = low});
        VkShaderModuleCreateInfo spoiled = *info;
        spoiled.pCode = code.data();
        return real(device, &spoiled, allocator, module);
    }
};

// One struct per function: its name, how it may fail, what it makes, and the function itself.
#define YOLK_FALLIBLE(function, ways, makes, behaviour) \
    struct Call_##function : behaviour {                \
        static constexpr const char* kName = #function; \
        static constexpr unsigned kWays = ways;         \
        static constexpr const char* kMakes = makes;    \
        static inline Real<PFN_##function> real;        \
    };
#define YOLK_DESTROYER(function, type)                 \
    struct Call_##function {                           \
        static constexpr const char* kUnmakes = #type; \
        static inline Real<PFN_##function> real;       \
    };

#define YOLK_FALLIBLES(X)                                                           \
    X(vkCreateInstance, kMemory | kInitialization, "VkInstance", Plain)             \
    X(vkEnumerateInstanceExtensionProperties, kMemory, nullptr, Plain)              \
    X(vkEnumerateInstanceLayerProperties, kMemory, nullptr, Plain)                  \
    X(vkEnumeratePhysicalDevices, kMemory, nullptr, Plain)                          \
    X(vkEnumerateDeviceExtensionProperties, kMemory, nullptr, Plain)                \
    X(vkCreateDebugUtilsMessengerEXT, kHost, "VkDebugUtilsMessengerEXT", Plain)     \
    X(vkCreateDevice, kMemory | kInitialization | kLost, "VkDevice", Plain)         \
    X(vkAllocateMemory, kMemory | kKept, "VkDeviceMemory", LimitedAllocation)       \
    X(vkMapMemory, kMemory | kMap | kKept, nullptr, Plain)                          \
    X(vkFlushMappedMemoryRanges, kMemory, nullptr, Plain)                           \
    X(vkInvalidateMappedMemoryRanges, kMemory, nullptr, Plain)                      \
    X(vkBindBufferMemory, kMemory, nullptr, Plain)                                  \
    X(vkCreateBuffer, kMemory, "VkBuffer", Plain)                                   \
    X(vkCreateBufferView, kMemory, "VkBufferView", Plain)                           \
    X(vkCreatePipelineCache, kMemory, "VkPipelineCache", Plain)                     \
    X(vkGetPipelineCacheData, kMemory, nullptr, Plain)                              \
    X(vkCreateShaderModule, kMemory | kKept, "VkShaderModule", Spoiling)            \
    X(vkCreateDescriptorSetLayout, kMemory | kKept, "VkDescriptorSetLayout", Plain) \
    X(vkCreatePipelineLayout, kMemory | kKept, "VkPipelineLayout", Plain)           \
    X(vkCreateComputePipelines, kMemory | kKept, "VkPipeline", Plain)               \
    X(vkCreateDescriptorPool, kMemory | kKept, "VkDescriptorPool", Plain)           \
    X(vkAllocateDescriptorSets, kMemory, "VkDescriptorSet", Plain)                  \
    X(vkCreateCommandPool, kMemory, "VkCommandPool", Plain)                         \
    X(vkAllocateCommandBuffers, kMemory, nullptr, Plain)                            \
    X(vkResetCommandPool, kDevice, nullptr, Plain)                                  \
    X(vkResetCommandBuffer, kMemory, nullptr, Plain)                                \
    X(vkBeginCommandBuffer, kMemory, nullptr, Plain)                                \
    X(vkEndCommandBuffer, kMemory, nullptr, Plain)                                  \
    X(vkCreateQueryPool, kMemory, "VkQueryPool", Plain)                             \
    X(vkGetQueryPoolResults, kMemory | kLost, nullptr, Plain)                       \
    X(vkCreateSemaphore, kMemory, "VkSemaphore", Plain)                             \
    X(vkWaitSemaphores, kMemory | kLost, nullptr, LateWaiting)                      \
    X(vkGetSemaphoreCounterValue, kMemory | kLost, nullptr, Plain)                  \
    X(vkQueueSubmit, kMemory | kLost, nullptr, Hanging)                             \
    X(vkSignalSemaphore, kMemory, nullptr, Plain)                                   \
    X(vkGetMemoryFdKHR, kHost, nullptr, Plain)                                      \
    X(vkGetMemoryHostPointerPropertiesEXT, kHost, nullptr, Plain)                   \
    X(vkSetDebugUtilsObjectNameEXT, kMemory, nullptr, Plain)

#define YOLK_DESTROYERS(X)                                       \
    X(vkDestroyInstance, VkInstance)                             \
    X(vkDestroyDebugUtilsMessengerEXT, VkDebugUtilsMessengerEXT) \
    X(vkDestroyDevice, VkDevice)                                 \
    X(vkFreeMemory, VkDeviceMemory)                              \
    X(vkDestroyBuffer, VkBuffer)                                 \
    X(vkDestroyBufferView, VkBufferView)                         \
    X(vkDestroyPipelineCache, VkPipelineCache)                   \
    X(vkDestroyShaderModule, VkShaderModule)                     \
    X(vkDestroyDescriptorSetLayout, VkDescriptorSetLayout)       \
    X(vkDestroyPipelineLayout, VkPipelineLayout)                 \
    X(vkDestroyPipeline, VkPipeline)                             \
    X(vkDestroyDescriptorPool, VkDescriptorPool)                 \
    X(vkDestroyCommandPool, VkCommandPool)                       \
    X(vkDestroyQueryPool, VkQueryPool)                           \
    X(vkDestroySemaphore, VkSemaphore)

YOLK_FALLIBLES(YOLK_FALLIBLE)
YOLK_DESTROYERS(YOLK_DESTROYER)

Real<PFN_vkFreeDescriptorSets> real_free_descriptor_sets;
VKAPI_ATTR VkResult VKAPI_CALL free_descriptor_sets(VkDevice device, VkDescriptorPool pool, std::uint32_t sets,
                                                    const VkDescriptorSet* handles) {
    count("VkDescriptorSet", -std::int64_t{sets});
    return real_free_descriptor_sets.of(device)(device, pool, sets, handles);
}

PFN_vkGetInstanceProcAddr real_get_instance = nullptr;
PFN_vkGetDeviceProcAddr real_get_device = nullptr;
PFN_vkVoidFunction VKAPI_CALL get_device(VkDevice device, const char* name);

/// The wrapper of `function`, which it will call; `function` itself where it has none.
/// `device` is null for what all share.
PFN_vkVoidFunction wrapped(std::string_view name, PFN_vkVoidFunction function, VkDevice device = VK_NULL_HANDLE) {
    if (function == nullptr) return nullptr;
    const auto keep = [device, function]<class Function>(Real<Function>& real) {
        const auto typed = reinterpret_cast<Function>(function);
        if (device == VK_NULL_HANDLE) {
            real.set(typed);
        } else {
            real.set(device, typed);
        }
    };
#define YOLK_WRAP_FALLIBLE(f, ways, makes, behaviour)                                    \
    if (name == #f) {                                                                    \
        keep(Call_##f::real);                                                            \
        return reinterpret_cast<PFN_vkVoidFunction>(&Fallible<PFN_##f>::call<Call_##f>); \
    }
#define YOLK_WRAP_DESTROYER(f, type)                                                      \
    if (name == #f) {                                                                     \
        keep(Call_##f::real);                                                             \
        return reinterpret_cast<PFN_vkVoidFunction>(&Destroyer<PFN_##f>::call<Call_##f>); \
    }
    YOLK_FALLIBLES(YOLK_WRAP_FALLIBLE)
    YOLK_DESTROYERS(YOLK_WRAP_DESTROYER)
    if (name == "vkFreeDescriptorSets") {
        keep(real_free_descriptor_sets);
        return reinterpret_cast<PFN_vkVoidFunction>(&free_descriptor_sets);
    }
    if (name == "vkGetDeviceProcAddr") {
        real_get_device = reinterpret_cast<PFN_vkGetDeviceProcAddr>(function);
        return reinterpret_cast<PFN_vkVoidFunction>(&get_device);
    }
    return function;
}

PFN_vkVoidFunction VKAPI_CALL get_device(VkDevice device, const char* name) {
    if (std::string_view(name) == "vkCreateShaderModule") device_numbers.add(device);  // each is asked for once
    return wrapped(name, real_get_device(device, name), device);
}
PFN_vkVoidFunction VKAPI_CALL get_instance(VkInstance instance, const char* name) {
    return wrapped(name, real_get_instance(instance, name));
}

template <class Function>
void wrap(Function& function, const char* name) {
    function = reinterpret_cast<Function>(wrapped(name, reinterpret_cast<PFN_vkVoidFunction>(function)));
}

/// Once per process: without an injector the wrappers only count.
void install() {
    if (real_get_instance != nullptr) return;
    if (vkGetInstanceProcAddr == nullptr && volkInitialize() != VK_SUCCESS) return;
    real_get_instance = vkGetInstanceProcAddr;
    volkInitializeCustom(get_instance);  // what a later instance loads
    // What an earlier one has loaded.
    wrap(vkCreateDevice, "vkCreateDevice");
    wrap(vkDestroyInstance, "vkDestroyInstance");
    wrap(vkEnumeratePhysicalDevices, "vkEnumeratePhysicalDevices");
    wrap(vkEnumerateDeviceExtensionProperties, "vkEnumerateDeviceExtensionProperties");
    wrap(vkGetDeviceProcAddr, "vkGetDeviceProcAddr");
    wrap(vkCreateDebugUtilsMessengerEXT, "vkCreateDebugUtilsMessengerEXT");
    wrap(vkDestroyDebugUtilsMessengerEXT, "vkDestroyDebugUtilsMessengerEXT");
}

}  // namespace

FaultInjector::FaultInjector() : state_(std::make_unique<State>()) {
    install();
    state_->devices_before = device_numbers.made();
    const std::lock_guard lock(current_mutex);
    current = state_.get();
}
FaultInjector::~FaultInjector() {
    const std::lock_guard lock(current_mutex);
    current = nullptr;
}

void FaultInjector::fail_nth_call(std::uint64_t n, FaultKind kind) {
    const std::lock_guard lock(state_->mutex);
    state_->mode = State::Mode::Nth;
    state_->kind = kind;
    state_->nth = n;
    state_->calls = 0;
    state_->polling = false;
    state_->injected_into.clear();
}
void FaultInjector::fail_next_kept(FaultKind kind) {
    const std::lock_guard lock(state_->mutex);
    if (state_->mode != State::Mode::NextKept || state_->kind != kind) {
        state_->failed_kept.clear();
        state_->kept_so_far.clear();
    }
    state_->mode = State::Mode::NextKept;
    state_->kind = kind;
    state_->calls = 0;
    state_->injected_into.clear();
}
void FaultInjector::fail_nothing() {
    const std::lock_guard lock(state_->mutex);
    state_->mode = State::Mode::Nothing;
    state_->injected_into.clear();
}
void FaultInjector::fail_allocations_above(std::uint64_t bytes) {
    const std::lock_guard lock(state_->mutex);
    state_->largest_allocation = bytes;
}
void FaultInjector::hang_submissions(bool hang) {
    const std::lock_guard lock(state_->mutex);
    state_->hang = hang;
}
void FaultInjector::empty_submissions(bool empty) {
    const std::lock_guard lock(state_->mutex);
    state_->empty = empty;
}
void FaultInjector::only_on_device(std::uint32_t nth) {
    const std::lock_guard lock(state_->mutex);
    state_->only_device = nth;
}
void FaultInjector::delay_waits(std::chrono::milliseconds delay) {
    const std::lock_guard lock(state_->mutex);
    state_->wait_delay = delay;
}
void FaultInjector::spoil_multiplications(bool spoil) {
    const std::lock_guard lock(state_->mutex);
    state_->spoil = spoil;
}
void FaultInjector::spoil_low_precision(bool spoil) {
    const std::lock_guard lock(state_->mutex);
    state_->spoil_low_precision = spoil;
}
std::string FaultInjector::injected_into() const {
    const std::lock_guard lock(state_->mutex);
    return state_->injected_into;
}
std::uint64_t FaultInjector::calls() const {
    const std::lock_guard lock(state_->mutex);
    return state_->calls;
}

std::string living_objects() {
    const std::lock_guard lock(living_mutex);
    std::string text;
    for (const auto& [type, count] : living) {
        if (count != 0) text += (text.empty() ? "" : ", ") + type + " " + std::to_string(count);
    }
    return text;
}

}  // namespace yolk::testing
