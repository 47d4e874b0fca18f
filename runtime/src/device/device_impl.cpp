// SPDX-License-Identifier: Apache-2.0
#include "device_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include "cooperative_matrix.hpp"
#include "instance_impl.hpp"
#include "physical_device_info.hpp"
#include "sharing_support.hpp"
#include "vk_result.hpp"
#include "yolk/internal/runtime/queue_family.hpp"
#include "yolk/log.hpp"

namespace yolk {
namespace {

/// What is enabled above the floor, chained behind `features`: what low precision takes, where the device has it.
struct OptionalFeatures {
    VkPhysicalDevice16BitStorageFeatures storage16{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
    VkPhysicalDeviceShaderIntegerDotProductFeatures dot{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES};
    VkPhysicalDeviceCooperativeMatrixFeaturesNV matrix_nv{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV};
    KhrCooperativeMatrixFeatures matrix_khr{};
    KhrShaderBfloat16Features bfloat16{};
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR};

    /// `captures`: pipelines are to leave reports.
    void enable(const DeviceFeatures& has, bool captures, VkPhysicalDeviceVulkan12Features& features,
                std::vector<const char*>& extensions) {
        features.shaderFloat16 = has.shader_float16 ? VK_TRUE : VK_FALSE;
        features.shaderInt8 = has.shader_int8 ? VK_TRUE : VK_FALSE;
        features.storageBuffer8BitAccess = has.storage_8bit ? VK_TRUE : VK_FALSE;
        const bool matrices = has.cooperative_matrix_nv || has.cooperative_matrix_khr;
        // With the model every kernel's atomics need device scope (VUID-RuntimeSpirv-vulkanMemoryModel-06265).
        features.vulkanMemoryModel = has.vulkan_memory_model && matrices ? VK_TRUE : VK_FALSE;
        features.vulkanMemoryModelDeviceScope = features.vulkanMemoryModel;
        void** tail = &features.pNext;
        if (has.storage_16bit) {
            storage16.storageBuffer16BitAccess = VK_TRUE;
            chain(tail, storage16);
        }
        if (has.shader_integer_dot_product) {
            dot.shaderIntegerDotProduct = VK_TRUE;
            chain(tail, dot);
            extensions.push_back(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
        }
        if (has.cooperative_matrix_nv) {
            matrix_nv.cooperativeMatrix = VK_TRUE;
            chain(tail, matrix_nv);
            extensions.push_back(VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME);
        }
        if (has.cooperative_matrix_khr) {
            matrix_khr.cooperativeMatrix = VK_TRUE;
            chain(tail, matrix_khr);
            extensions.push_back(kKhrCooperativeMatrix);
        }
        if (has.bfloat16_matrices) {
            bfloat16.shaderBFloat16Type = bfloat16.shaderBFloat16CooperativeMatrix = VK_TRUE;
            chain(tail, bfloat16);
            extensions.push_back(kKhrShaderBfloat16);
        }
        if (captures && has.pipeline_statistics) {
            executables.pipelineExecutableInfo = VK_TRUE;
            chain(tail, executables);
            extensions.push_back(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
        }
    }
};

Result<void> create_handle(VkPhysicalDevice physical, bool captures, DeviceContext& context) {
    const float priority = 1.0F;
    const VkDeviceQueueCreateInfo queue{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                        .queueFamilyIndex = context.queue_family,
                                        .queueCount = 1,
                                        .pQueuePriorities = &priority};
    VkPhysicalDeviceVulkan12Features features = needed_features();
    YOLK_TRY(std::vector<const char*> extensions, needed_extensions(physical, context.info.name));
    OptionalFeatures optional;
    optional.enable(context.info.features, captures, features, extensions);
    for (const char* extension : sharing_extensions(context.info.sharing)) extensions.push_back(extension);
    const VkDeviceCreateInfo info{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                  .pNext = &features,
                                  .queueCreateInfoCount = 1,
                                  .pQueueCreateInfos = &queue,
                                  .enabledExtensionCount = static_cast<std::uint32_t>(extensions.size()),
                                  .ppEnabledExtensionNames = extensions.data()};
    const VkResult result = vkCreateDevice(physical, &info, nullptr, &context.handle);
    return vk_check(result, fmt::format("create a logical device of '{}'", context.info.name));
}

template <class Function>
void load(VkInstance instance, const char* name, Function& function) {
    function = reinterpret_cast<Function>(vkGetInstanceProcAddr(instance, name));
}

/// An instance outlives its devices, one that cannot be destroyed as well. Never destroyed itself: the driver's threads
/// may still call back into it while the process ends.
void keep_for_ever(std::shared_ptr<Instance::Impl> instance) {
    static std::mutex mutex;
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
    static auto* const kept = new std::vector<std::shared_ptr<Instance::Impl>>;
    const std::lock_guard lock(mutex);
    kept->push_back(std::move(instance));
}

}  // namespace

VkPhysicalDeviceVulkan12Features needed_features() noexcept {
    return {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
            .scalarBlockLayout = VK_TRUE,
            .timelineSemaphore = VK_TRUE};
}

Result<std::vector<const char*>> needed_extensions(VkPhysicalDevice device, const std::string& name) {
    // Layered implementations (MoltenVK) want this one enabled where they offer it.
    constexpr const char* kPortability = "VK_KHR_portability_subset";
    YOLK_TRY(const std::vector<VkExtensionProperties> extensions, extensions_of(device, name));
    return contains(extensions, kPortability) ? std::vector{kPortability} : std::vector<const char*>();
}

Device::Impl::Impl() : all_findings_(1), current_findings_(&all_findings_.front()) {}

Device::Impl::~Impl() {
    if (context.handle == VK_NULL_HANDLE) return;
    // Nothing of ours runs any more: recorders and dispatchers have waited for that. vkDeviceWaitIdle would wait for
    // ever where work hangs, and for others' work on an adopted device.
    if (pipelines && context.health.good()) {
        if (const auto saved = pipelines->save(); !saved) {
            log_warning(fmt::format("The pipeline cache was not saved: {}", saved.error().message));
        }
    }
    descriptors.reset();
    pipelines.reset();
    memory.reset();
    if (!context.health.hung()) {
        if (!adopted) context.vk.vkDestroyDevice(context.handle, nullptr);
        return;
    }
    if (!adopted) {
        static_cast<void>(context.abandon(instance->messenger == VK_NULL_HANDLE ? 2 : 3));
        keep_for_ever(std::move(instance));
    }
    log_warning(fmt::format("Device '{}' hung: {} Vulkan handles{} were abandoned and are lost until the process ends.",
                            context.info.name, context.counters.abandoned_handles.load(),
                            adopted ? "" : ", its own and its instance's included,"));
}

void Device::Impl::set_findings(DeviceFindings findings) {
    const std::lock_guard lock(findings_mutex_);
    current_findings_.store(&all_findings_.emplace_back(std::move(findings)));
}

double Device::Impl::nanoseconds(std::uint64_t ticks) noexcept {
    std::uint64_t first = 0;
    if (first_ticks_.compare_exchange_strong(first, ticks)) first = ticks;
    // Differences modulo the counter's width; the upper half of it is before the first.
    const std::uint64_t mask =
        context.timestamp_bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << context.timestamp_bits) - 1;
    const std::uint64_t after = (ticks - first) & mask;
    const double elapsed =
        after <= mask / 2 ? static_cast<double>(after) : -static_cast<double>((first - ticks) & mask);
    return elapsed * context.info.limits.timestamp_period_ns;
}

Error DeviceContext::error(VkResult result, const std::string& what, const std::string& work) const {
    if (result != VK_ERROR_DEVICE_LOST) return vk_error(result, what);
    health.mark_lost(work);
    Error lost = failed(what);
    lost.native = static_cast<int>(result);
    return lost;
}

std::vector<MemoryHeapInfo> DeviceContext::heaps_now() const {
    std::vector<MemoryHeapInfo> heaps = info.heaps;
    fill_budgets(physical, info.features, heaps);
    return heaps;
}

bool DeviceContext::abandon(std::uint64_t handles) const noexcept {
    if (!health.hung()) return false;
    counters.abandoned_handles.fetch_add(handles);
    return true;
}

void DeviceContext::set_name(VkObjectType type, std::uint64_t object, const char* text) const noexcept {
    if (set_object_name == nullptr) return;
    const VkDebugUtilsObjectNameInfoEXT named{.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                              .objectType = type,
                                              .objectHandle = object,
                                              .pObjectName = text};
    set_object_name(handle, &named);  // a name that cannot be set is not worth an error
}

Result<std::shared_ptr<Device::Impl>> make_device(const std::shared_ptr<Instance::Impl>& instance, std::uint32_t index,
                                                  const DeviceOptions& options) {
    const VkPhysicalDevice physical = instance->physical_devices[index];
    auto impl = std::make_shared<Device::Impl>();
    impl->instance = instance;
    DeviceContext& context = impl->context;
    context.info = instance->infos[index];
    context.physical = physical;
    context.info.heaps = context.heaps_now();
    const auto family = select_queue_family(context.info.queue_families);
    if (!family) return unsupported("Device '{}' has no compute queue.", context.info.name);
    context.queue_family = *family;
    const bool captures = options.pipeline_capture != PipelineCapture::Nothing;
    YOLK_TRY_VOID(create_handle(physical, captures, context));
    YOLK_TRY_VOID(equip_device(*impl, instance->handle, instance->has_debug_utils, options));
    return impl;
}

Result<void> equip_device(Device::Impl& device, VkInstance instance, bool has_debug_utils,
                          const DeviceOptions& options) {
    DeviceContext& context = device.context;
    volkLoadDeviceTable(&context.vk, context.handle);  // before anything that may fail: the destructor wants it
    YOLK_TRY(context.memory_policy, settled_policy(options.memory_policy));
    context.timestamp_bits = context.info.limits.timestamp_period_ns > 0.0
                                 ? context.info.queue_families[context.queue_family].timestamp_bits
                                 : 0;
    context.max_timeline_difference = ask_timeline_difference(context.physical);
    if (options.max_submission_cost != 0) context.pace.fix(options.max_submission_cost);
    if (options.max_storage_buffer_range != 0) {
        std::uint64_t& range = context.info.limits.max_storage_buffer_range;
        range = std::min<std::uint64_t>(range, options.max_storage_buffer_range);
    }
    if (has_debug_utils) {
        load(instance, "vkSetDebugUtilsObjectNameEXT", context.set_object_name);
        load(instance, "vkCmdBeginDebugUtilsLabelEXT", context.begin_label);
        load(instance, "vkCmdEndDebugUtilsLabelEXT", context.end_label);
    }
    if (device.queue == VK_NULL_HANDLE)
        context.vk.vkGetDeviceQueue(context.handle, context.queue_family, 0, &device.queue);
    device.memory = std::make_unique<MemoryBlocks>(context);
    device.descriptors = std::make_unique<DescriptorPools>(context);
    device.pipelines = std::make_unique<PipelineCache>(context, options.pipeline_capture);
    return device.pipelines->open(options.pipeline_cache_folder);
}

}  // namespace yolk
