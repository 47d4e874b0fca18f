// SPDX-License-Identifier: Apache-2.0
// What stands in the place of a Vulkan function: it may fail instead of calling it, and counts what is made and unmade.
// Of the fault injector; who fails what is decided there.
#pragma once

#include <volk.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <type_traits>

namespace yolk::testing::wrapping {

// Ways in which a function may fail.
inline constexpr unsigned kHost = 1, kDevice = 2, kLost = 4, kInitialization = 8, kMap = 16;
inline constexpr unsigned kMemory = kHost | kDevice;
/// What it makes stays with the device.
inline constexpr unsigned kKept = 32;

/// What a call must return instead of being made; VK_SUCCESS where it is to be made.
[[nodiscard]] VkResult injected(const char* function, unsigned ways);
/// A call of a function that makes what stays with the device went well.
void count_kept(const char* function, unsigned ways);
/// Objects of a type that are alive: `change` more.
void count(const char* type, std::int64_t change);

/// The function behind a wrapper. A device's own is found by its loader's dispatch table, which is the first word of a
/// VkDevice, and of its queues and command buffers: instances with layers and without give different functions.
template <class Function>
class Real {
   public:
    void set(Function function) {
        const std::lock_guard lock(mutex_);
        common_ = function;
    }
    void set(VkDevice device, Function function) {
        const std::lock_guard lock(mutex_);
        of_devices_[*reinterpret_cast<void**>(device)] = function;
    }
    template <class First>
    [[nodiscard]] Function of([[maybe_unused]] First first) const {
        const std::lock_guard lock(mutex_);
        if constexpr (std::is_same_v<First, VkDevice> || std::is_same_v<First, VkQueue> ||
                      std::is_same_v<First, VkCommandBuffer>) {
            const auto found = of_devices_.find(*reinterpret_cast<void**>(first));
            if (found != of_devices_.end()) return found->second;
        }
        return common_;
    }

   private:
    mutable std::mutex mutex_;
    Function common_ = nullptr;
    std::map<void*, Function> of_devices_;
};

/// A function that can fail, and what it makes (null: nothing that is counted).
template <class Function>
struct Fallible;
template <class First, class... Rest>
struct Fallible<VkResult(VKAPI_PTR*)(First, Rest...)> {
    template <class Call>
    static VKAPI_ATTR VkResult VKAPI_CALL call(First first, Rest... rest) {
        if (const VkResult instead = injected(Call::kName, Call::kWays); instead != VK_SUCCESS) return instead;
        const VkResult result = Call::perform(Call::real.of(first), first, rest...);
        if (result == VK_SUCCESS) {
            count_kept(Call::kName, Call::kWays);
            if (Call::kMakes != nullptr) count(Call::kMakes, 1);
        }
        return result;
    }
};

template <class Function>
struct Destroyer;
template <class Owner, class Handle>
struct Destroyer<void(VKAPI_PTR*)(Owner, Handle, const VkAllocationCallbacks*)> {
    template <class Call>
    static VKAPI_ATTR void VKAPI_CALL call(Owner owner, Handle handle, const VkAllocationCallbacks* allocator) {
        if (handle != VK_NULL_HANDLE) count(Call::kUnmakes, -1);
        Call::real.of(owner)(owner, handle, allocator);
    }
};
template <class Handle>
struct Destroyer<void(VKAPI_PTR*)(Handle, const VkAllocationCallbacks*)> {
    template <class Call>
    static VKAPI_ATTR void VKAPI_CALL call(Handle handle, const VkAllocationCallbacks* allocator) {
        if (handle != VK_NULL_HANDLE) count(Call::kUnmakes, -1);
        Call::real.of(handle)(handle, allocator);
    }
};

}  // namespace yolk::testing::wrapping
