// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/instance.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "instance_impl.hpp"
#include "instance_messages.hpp"
#include "physical_device_info.hpp"
#include "vk_list.hpp"
#include "yolk/log.hpp"

namespace yolk {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

Result<bool> has_layer(std::string_view name) {
    YOLK_TRY(const std::vector<VkLayerProperties> layers,
             vk_list<VkLayerProperties>("list the Vulkan layers", vkEnumerateInstanceLayerProperties));
    return std::any_of(layers.begin(), layers.end(),
                       [&](const VkLayerProperties& layer) { return name == layer.layerName; });
}

Result<bool> has_instance_extension(const char* layer, std::string_view name) {
    const auto list = vk_list<VkExtensionProperties>(
        "list the instance extensions", [layer](std::uint32_t* count, VkExtensionProperties* items) {
            return vkEnumerateInstanceExtensionProperties(layer, count, items);
        });
    // Without any driver the loader of Debian 12 has no extensions to tell of; that is not an error here.
    if (!list && list.error().native == VK_ERROR_INCOMPATIBLE_DRIVER) return false;
    if (!list) return list.error();
    return contains(*list, name);
}

Result<void> check_loader_version() {
    // Vulkan 1.0 loaders lack the function; every loader of 1.1 or newer accepts any apiVersion.
    if (vkEnumerateInstanceVersion != nullptr) return {};
    return unsupported(
        "The Vulkan loader of this machine is of version 1.0, and Yolk needs Vulkan 1.2. Install a newer loader: on "
        "Debian and Ubuntu the package libvulkan1.");
}

/// What to turn on, found before the instance is made.
struct Wanted {
    std::vector<const char*> layers;
    std::vector<const char*> extensions;
    bool debug_utils = false;
};

Result<Wanted> find_wanted(const InstanceOptions& options) {
    Wanted wanted;
    if (options.validation) {
        YOLK_TRY(const bool installed, has_layer(kValidationLayer));
        if (!installed) {
            return unsupported(
                "Validation was asked for, but the layer VK_LAYER_KHRONOS_validation is not installed. Install it (on "
                "Debian and Ubuntu the package vulkan-validationlayers) or run without validation.");
        }
        wanted.layers.push_back(kValidationLayer);
        wanted.extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
    }
    YOLK_TRY(const bool from_loader, has_instance_extension(nullptr, VK_EXT_DEBUG_UTILS_EXTENSION_NAME));
    wanted.debug_utils = from_loader || options.validation;  // the layer brings the extension
    if (wanted.debug_utils) wanted.extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    return wanted;
}

/// VK_ERROR_INCOMPATIBLE_DRIVER (no driver at all) leaves the handle null: an instance without devices.
Result<void> create_instance(const InstanceOptions& options, const Wanted& wanted, Instance::Impl& impl) {
    constexpr std::array<VkValidationFeatureEnableEXT, 1> kEnabled{
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    VkValidationFeaturesEXT validation{.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                       .enabledValidationFeatureCount = static_cast<std::uint32_t>(kEnabled.size()),
                                       .pEnabledValidationFeatures = kEnabled.data()};
    // Chained to the instance as well, so that messages of vkCreateInstance and vkDestroyInstance arrive.
    VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info(&impl);

    const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                        .pApplicationName = "yolk",
                                        .pEngineName = "yolk",
                                        .apiVersion = VK_API_VERSION_1_2};
    VkInstanceCreateInfo info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                              .pNext = wanted.debug_utils ? &messenger : nullptr,
                              .pApplicationInfo = &application,
                              .enabledLayerCount = static_cast<std::uint32_t>(wanted.layers.size()),
                              .ppEnabledLayerNames = wanted.layers.data(),
                              .enabledExtensionCount = static_cast<std::uint32_t>(wanted.extensions.size()),
                              .ppEnabledExtensionNames = wanted.extensions.data()};
    if (options.validation) {
        validation.pNext = info.pNext;
        info.pNext = &validation;
    }
    const VkResult created = vkCreateInstance(&info, nullptr, &impl.handle);
    if (created == VK_ERROR_INCOMPATIBLE_DRIVER) {
        impl.handle = VK_NULL_HANDLE;
        return {};
    }
    YOLK_TRY_VOID(vk_check(created, "create the Vulkan instance"));
    volkLoadInstanceOnly(impl.handle);
    impl.has_debug_utils = wanted.debug_utils;
    if (!wanted.debug_utils) return {};
    return vk_check(vkCreateDebugUtilsMessengerEXT(impl.handle, &messenger, nullptr, &impl.messenger),
                    "create the debug messenger");
}

Result<void> enumerate_devices(Instance::Impl& impl) {
    auto listed = vk_list<VkPhysicalDevice>("enumerate the Vulkan devices",
                                            [&impl](std::uint32_t* count, VkPhysicalDevice* items) {
                                                return vkEnumeratePhysicalDevices(impl.handle, count, items);
                                            });
    if (!listed && listed.error().native == VK_ERROR_INITIALIZATION_FAILED) {
        // What the loader says when every driver's initialization failed: no device, and no reason to stop `yolk
        // devices`.
        log_warning("The installed Vulkan drivers failed to initialize; no device is available.");
        return {};
    }
    YOLK_TRY(impl.physical_devices, std::move(listed));
    for (std::uint32_t i = 0; i < impl.physical_devices.size(); ++i) {
        YOLK_TRY(DeviceInfo info, physical_device_info(impl.handle, impl.physical_devices[i], i));
        impl.infos.push_back(std::move(info));
    }
    return {};
}

}  // namespace

Result<void> load_vulkan() {
    // volk keeps its function pointers in globals; loaded once, and not from two threads at once.
    static std::mutex mutex;
    const std::scoped_lock lock(mutex);
    if (volkGetInstanceVersion() != 0 || volkInitialize() == VK_SUCCESS) return {};
    return unsupported(
        "There is no Vulkan loader (libvulkan.so.1) on this machine. Install it and a driver: on Debian and Ubuntu "
        "the packages libvulkan1 and mesa-vulkan-drivers, and for an NVIDIA GPU NVIDIA's own driver package.");
}

Instance::Impl::~Impl() {
    if (messenger != VK_NULL_HANDLE) vkDestroyDebugUtilsMessengerEXT(handle, messenger, nullptr);
    if (handle != VK_NULL_HANDLE) vkDestroyInstance(handle, nullptr);
}

Result<Instance> Instance::create(const InstanceOptions& options) {
    YOLK_TRY_VOID(load_vulkan());
    YOLK_TRY_VOID(check_loader_version());
    YOLK_TRY(const Wanted wanted, find_wanted(options));
    auto impl = std::make_shared<Impl>();
    impl->on_message = options.on_message;
    YOLK_TRY_VOID(create_instance(options, wanted, *impl));
    if (impl->handle != VK_NULL_HANDLE) YOLK_TRY_VOID(enumerate_devices(*impl));
    return Instance(std::move(impl));
}

std::span<const DeviceInfo> Instance::devices() const noexcept { return impl_->infos; }

}  // namespace yolk
