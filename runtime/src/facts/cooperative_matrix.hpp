// SPDX-License-Identifier: Apache-2.0
// Cooperative matrices as drivers tell of them, in both forms. The structures of the KHR form are declared here, since
// the headers of Debian 12 are older than it; layouts and numbers from the registry of Vulkan (vk.xml, 1.3.255 on).
#pragma once

#include <volk.h>

#include <vector>

#include "yolk/internal/runtime/device_info.hpp"

namespace yolk {

inline constexpr const char* kKhrCooperativeMatrix = "VK_KHR_cooperative_matrix";
inline constexpr auto kKhrCooperativeMatrixFeaturesType = static_cast<VkStructureType>(1000506000);
inline constexpr auto kKhrCooperativeMatrixPropertiesType = static_cast<VkStructureType>(1000506001);

/// VkPhysicalDeviceCooperativeMatrixFeaturesKHR
struct KhrCooperativeMatrixFeatures {
    VkStructureType sType = kKhrCooperativeMatrixFeaturesType;
    void* pNext = nullptr;
    VkBool32 cooperativeMatrix = VK_FALSE;
    VkBool32 cooperativeMatrixRobustBufferAccess = VK_FALSE;
};

inline constexpr const char* kKhrShaderBfloat16 = "VK_KHR_shader_bfloat16";
inline constexpr auto kKhrShaderBfloat16FeaturesType = static_cast<VkStructureType>(1000141000);

/// VkPhysicalDeviceShaderBfloat16FeaturesKHR
struct KhrShaderBfloat16Features {
    VkStructureType sType = kKhrShaderBfloat16FeaturesType;
    void* pNext = nullptr;
    VkBool32 shaderBFloat16Type = VK_FALSE;
    VkBool32 shaderBFloat16DotProduct = VK_FALSE;
    VkBool32 shaderBFloat16CooperativeMatrix = VK_FALSE;
};

/// VkCooperativeMatrixPropertiesKHR; component types and scopes have the numbers of the NV form.
struct KhrCooperativeMatrixProperties {
    VkStructureType sType = kKhrCooperativeMatrixPropertiesType;
    void* pNext = nullptr;
    std::uint32_t MSize = 0;
    std::uint32_t NSize = 0;
    std::uint32_t KSize = 0;
    std::uint32_t AType = 0;
    std::uint32_t BType = 0;
    std::uint32_t CType = 0;
    std::uint32_t ResultType = 0;
    VkBool32 saturatingAccumulation = VK_FALSE;
    std::uint32_t scope = 0;
};

/// Pure: what of an enumeration Yolk keeps, which is multiplications over a subgroup whose sums do not saturate.
[[nodiscard]] std::vector<CooperativeShape> shapes_of(const std::vector<VkCooperativeMatrixPropertiesNV>& listed);
[[nodiscard]] std::vector<CooperativeShape> shapes_of(const std::vector<KhrCooperativeMatrixProperties>& listed);

/// Asks the driver, for the forms that `features` has. What cannot be listed is not there. `instance` is the device's,
/// alive: newer loaders (1.4.309) abort the process that looks a function up in an instance that was destroyed.
[[nodiscard]] std::vector<CooperativeShape> list_cooperative_shapes(VkInstance instance, VkPhysicalDevice device,
                                                                    const DeviceFeatures& features);

}  // namespace yolk
