// SPDX-License-Identifier: Apache-2.0
#include "vk_result.hpp"

namespace yolk {
namespace {

const char* known_name(VkResult result) noexcept {
#define YOLK_NAME(value) \
    case value: return #value
    switch (result) {
        YOLK_NAME(VK_SUCCESS);
        YOLK_NAME(VK_NOT_READY);
        YOLK_NAME(VK_TIMEOUT);
        YOLK_NAME(VK_INCOMPLETE);
        YOLK_NAME(VK_ERROR_OUT_OF_HOST_MEMORY);
        YOLK_NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY);
        YOLK_NAME(VK_ERROR_INITIALIZATION_FAILED);
        YOLK_NAME(VK_ERROR_DEVICE_LOST);
        YOLK_NAME(VK_ERROR_MEMORY_MAP_FAILED);
        YOLK_NAME(VK_ERROR_LAYER_NOT_PRESENT);
        YOLK_NAME(VK_ERROR_EXTENSION_NOT_PRESENT);
        YOLK_NAME(VK_ERROR_FEATURE_NOT_PRESENT);
        YOLK_NAME(VK_ERROR_INCOMPATIBLE_DRIVER);
        YOLK_NAME(VK_ERROR_TOO_MANY_OBJECTS);
        YOLK_NAME(VK_ERROR_FRAGMENTED_POOL);
        YOLK_NAME(VK_ERROR_OUT_OF_POOL_MEMORY);
        YOLK_NAME(VK_ERROR_INVALID_EXTERNAL_HANDLE);
        YOLK_NAME(VK_ERROR_FRAGMENTATION);
        YOLK_NAME(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS);
        YOLK_NAME(VK_ERROR_UNKNOWN);
        default: return nullptr;
    }
#undef YOLK_NAME
}

ErrorKind error_kind(VkResult result) noexcept {
    switch (result) {
        case VK_ERROR_OUT_OF_HOST_MEMORY:
        case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        case VK_ERROR_OUT_OF_POOL_MEMORY: return ErrorKind::OutOfMemory;
        case VK_ERROR_DEVICE_LOST: return ErrorKind::DeviceLost;
        default: return ErrorKind::Driver;
    }
}

const char* advice(ErrorKind kind) noexcept {
    switch (kind) {
        case ErrorKind::OutOfMemory: return "Make the request smaller or free memory of the device and the host.";
        case ErrorKind::DeviceLost: return "The device is gone: drop what was made from it and make a new one.";
        default: return "Run with the validation layer to see what the driver objects to.";
    }
}

}  // namespace

std::string vk_result_name(VkResult result) {
    const char* name = known_name(result);
    return name != nullptr ? std::string(name) : "VkResult " + std::to_string(static_cast<int>(result));
}

Error vk_error(VkResult result, const std::string& what) {
    const ErrorKind kind = error_kind(result);
    return {kind, "Cannot " + what + ": the driver returned " + vk_result_name(result) + ". " + advice(kind),
            static_cast<int>(result)};
}

Result<void> vk_check(VkResult result, const std::string& what) {
    if (result == VK_SUCCESS) return {};
    return vk_error(result, what);
}

}  // namespace yolk
