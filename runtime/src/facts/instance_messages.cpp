// SPDX-License-Identifier: Apache-2.0
#include "instance_messages.hpp"

#include "instance_impl.hpp"
#include "yolk/log.hpp"

namespace yolk {
namespace {

VKAPI_ATTR VkBool32 VKAPI_CALL on_layer_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                VkDebugUtilsMessageTypeFlagsEXT types,
                                                const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
    const auto* impl = static_cast<const Instance::Impl*>(user);
    // Messages of type "general" are the loader's and the drivers' chatter (a missing ICD file, a driver that is not
    // conformant): nothing that the application did. Debug level.
    if ((types & (VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT)) ==
        0) {
        log_debug(data->pMessage);
        return VK_FALSE;
    }
    ValidationMessage message;
    message.is_error = (severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT) != 0;
    message.id = data->pMessageIdName != nullptr ? data->pMessageIdName : "";
    message.text = data->pMessage;
    deliver_message(*impl, message);
    return VK_FALSE;
}

}  // namespace

VkDebugUtilsMessengerCreateInfoEXT messenger_info(Instance::Impl* impl) {
    return {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
            .messageSeverity =
                VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
            .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
            .pfnUserCallback = on_layer_message,
            .pUserData = impl};
}

void deliver_message(const Instance::Impl& impl, const ValidationMessage& message) {
    if (impl.on_message) {
        impl.on_message(message);
        return;
    }
    log(message.is_error ? LogLevel::Error : LogLevel::Warning, message.text);
}

}  // namespace yolk
