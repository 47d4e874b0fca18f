// SPDX-License-Identifier: Apache-2.0
#include "cooperative_matrix.hpp"

#include <algorithm>
#include <iterator>

namespace yolk {
namespace {

/// `type` is the structure's; empty where the function is missing or fails.
template <class Properties>
std::vector<Properties> list(VkInstance instance, VkPhysicalDevice device, const char* function,
                             const Properties& blank) {
    using Function = VkResult(VKAPI_PTR*)(VkPhysicalDevice, std::uint32_t*, Properties*);
    const auto ask = reinterpret_cast<Function>(vkGetInstanceProcAddr(instance, function));
    std::uint32_t count = 0;
    if (ask == nullptr || ask(device, &count, nullptr) != VK_SUCCESS) return {};
    std::vector<Properties> properties(count, blank);
    if (ask(device, &count, properties.data()) != VK_SUCCESS) return {};
    properties.resize(count);
    return properties;
}

/// The two forms differ in the name of the result's type.
template <class Properties, class Type>
std::vector<CooperativeShape> subgroup_shapes(const std::vector<Properties>& listed, Type Properties::*result,
                                              bool khr) {
    std::vector<CooperativeShape> shapes;
    for (const Properties& one : listed) {
        if (one.scope != VK_SCOPE_SUBGROUP_NV) continue;
        shapes.push_back({.m = one.MSize,
                          .n = one.NSize,
                          .k = one.KSize,
                          .a = static_cast<ComponentType>(one.AType),
                          .b = static_cast<ComponentType>(one.BType),
                          .c = static_cast<ComponentType>(one.CType),
                          .result = static_cast<ComponentType>(one.*result),
                          .khr = khr});
    }
    return shapes;
}

}  // namespace

std::vector<CooperativeShape> shapes_of(const std::vector<VkCooperativeMatrixPropertiesNV>& listed) {
    return subgroup_shapes(listed, &VkCooperativeMatrixPropertiesNV::DType, false);
}

std::vector<CooperativeShape> shapes_of(const std::vector<KhrCooperativeMatrixProperties>& listed) {
    // A multiplication may be of a saturating row only where it says that it saturates, which none of Yolk's does.
    std::vector<KhrCooperativeMatrixProperties> plain;
    std::ranges::copy_if(listed, std::back_inserter(plain), [](const KhrCooperativeMatrixProperties& one) {
        return one.saturatingAccumulation == VK_FALSE;
    });
    return subgroup_shapes(plain, &KhrCooperativeMatrixProperties::ResultType, true);
}

std::vector<CooperativeShape> list_cooperative_shapes(VkInstance instance, VkPhysicalDevice device,
                                                      const DeviceFeatures& features) {
    std::vector<CooperativeShape> shapes;
    if (features.cooperative_matrix_khr) {
        shapes = shapes_of(list(instance, device, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
                                KhrCooperativeMatrixProperties{}));
    }
    if (features.cooperative_matrix_nv) {
        const VkCooperativeMatrixPropertiesNV blank{.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_NV};
        const auto nv = shapes_of(list(instance, device, "vkGetPhysicalDeviceCooperativeMatrixPropertiesNV", blank));
        shapes.insert(shapes.end(), nv.begin(), nv.end());
    }
    return shapes;
}

}  // namespace yolk
