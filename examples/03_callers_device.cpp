// SPDX-License-Identifier: Apache-2.0
// An engine with its own VkDevice, queue and command buffer lets Yolk record into them.
#include <vulkan/vulkan.h>

#include <cstdio>
#include <mutex>
#include <vector>

#include "yolk/noise.hpp"
#include "yolk/vulkan.hpp"

namespace {

struct Engine {
    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical_device = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    VkQueue queue = VK_NULL_HANDLE;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    std::uint32_t family = 0;
    std::mutex queue_mutex;

    ~Engine() {
        if (pool != VK_NULL_HANDLE) vkDestroyCommandPool(device, pool, nullptr);
        if (device != VK_NULL_HANDLE) vkDestroyDevice(device, nullptr);
        if (instance != VK_NULL_HANDLE) vkDestroyInstance(instance, nullptr);
    }
};

yolk::Result<void> start(Engine& engine) {
    const auto good = [](VkResult r) {
        return r == VK_SUCCESS ? yolk::Result<void>() : yolk::bad_input("the engine's own call failed");
    };
    VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
    application.apiVersion = VK_API_VERSION_1_2;
    VkInstanceCreateInfo instance{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    instance.pApplicationInfo = &application;
    YOLK_TRY_VOID(good(vkCreateInstance(&instance, nullptr, &engine.instance)));
    std::uint32_t one = 1;
    vkEnumeratePhysicalDevices(engine.instance, &one, &engine.physical_device);

    YOLK_TRY(auto needs, yolk::device_needs(engine.instance, engine.physical_device));  // what to enable
    engine.family = needs.queue_family;
    const float priority = 1.0F;
    VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    queue.queueFamilyIndex = engine.family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo device{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &needs.features};
    device.queueCreateInfoCount = 1;
    device.pQueueCreateInfos = &queue;
    device.enabledExtensionCount = static_cast<std::uint32_t>(needs.extensions.size());
    device.ppEnabledExtensionNames = needs.extensions.data();
    YOLK_TRY_VOID(good(vkCreateDevice(engine.physical_device, &device, nullptr, &engine.device)));
    vkGetDeviceQueue(engine.device, engine.family, 0, &engine.queue);
    const VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, nullptr, 0, engine.family};
    YOLK_TRY_VOID(good(vkCreateCommandPool(engine.device, &pool, nullptr, &engine.pool)));
    const VkCommandBufferAllocateInfo commands{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr, engine.pool,
                                               VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
    return good(vkAllocateCommandBuffers(engine.device, &commands, &engine.commands));
}

yolk::Result<std::vector<std::int32_t>> run(Engine& engine) {
    YOLK_TRY_VOID(start(engine));
    YOLK_TRY(const auto device, yolk::adopt_device({engine.instance, engine.physical_device, engine.device,
                                                    engine.queue, engine.family, &engine.queue_mutex}));
    YOLK_TRY(const auto plan, yolk::plan_noise(device, {.element_count = 8, .pair_count = 1}));
    YOLK_TRY(const auto out, device.create_buffer({.size_bytes = 32, .label = "out"}));
    YOLK_TRY(const auto bound, plan.bind({.out = out}, {}));

    const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    vkBeginCommandBuffer(engine.commands, &begin);  // the engine's own commands may stand before and after
    YOLK_TRY(auto recorder, yolk::record_into(device, engine.commands));
    bound.record(recorder, {.seed = 42, .parameter = 5, .domain = yolk::Domain::A, .pair = 3, .time = 7});
    YOLK_TRY_VOID(recorder.finish());
    vkEndCommandBuffer(engine.commands);
    VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &engine.commands;
    engine.queue_mutex.lock();
    vkQueueSubmit(engine.queue, 1, &submit, VK_NULL_HANDLE);
    engine.queue_mutex.unlock();
    YOLK_TRY(auto dispatcher, yolk::Dispatcher::create(device));
    std::vector<std::int32_t> values(8);
    YOLK_TRY_VOID(
        dispatcher.download(out, std::as_writable_bytes(std::span(values))));  // after the engine's submission
    return values;
}

}  // namespace

int main() {
    Engine engine;
    const auto values = run(engine);
    if (!values) return std::fprintf(stderr, "%s\n", values.error().message.c_str()), 1;
    return *values == std::vector{-8, 13, 2, -6, 13, -15, -9, 6} ? 0 : 1;
}
