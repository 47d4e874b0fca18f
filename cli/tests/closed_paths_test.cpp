// SPDX-License-Identifier: Apache-2.0
#include "closed_paths.hpp"

#include <gmock/gmock.h>

namespace yolk::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DeviceInfo with_everything() {
    DeviceInfo info;
    info.limits.subgroup_size = 32;
    info.features.storage_16bit = info.features.shader_float16 = info.features.vulkan_memory_model = true;
    info.features.cooperative_matrix_khr = info.features.shader_integer_dot_product = true;
    info.features.bfloat16_matrices = info.features.shader_int8 = true;
    for (const auto& [operands, sums] : {std::pair{ComponentType::F16, ComponentType::F32},
                                         {ComponentType::BF16, ComponentType::F32},
                                         {ComponentType::I8, ComponentType::I32}})
        info.cooperative_shapes.push_back({16, 16, 16, operands, operands, sums, sums, true});
    return info;
}

std::vector<std::string> names(const std::vector<ClosedPath>& paths) {
    std::vector<std::string> found;
    for (const ClosedPath& path : paths) found.push_back(path.name);
    return found;
}

TEST(closed_paths, are_those_of_the_kernel) {
    EXPECT_THAT(names(closed_paths("matmul", {}, {})),
                ElementsAre("storage16", "cooperative-matrix", "cooperative-bf16"));
    EXPECT_THAT(names(closed_paths("perturbed_linear", {}, {})), ElementsAre("storage16", "cooperative-matrix"));
    EXPECT_THAT(names(closed_paths("matmul_i8", {}, {})), ElementsAre("int8-dot", "cooperative-int8"));
    EXPECT_THAT(closed_paths("noise", {}, {}), IsEmpty());
    for (const char* kernel : {"matmul", "perturbed_linear", "matmul_i8"})
        EXPECT_THAT(closed_paths(kernel, with_everything(), {}), IsEmpty()) << kernel;
}

TEST(closed_paths, say_what_is_missing_or_wrong) {
    DeviceInfo info = with_everything();
    info.features.cooperative_matrix_khr = false;
    const auto missing = closed_paths("matmul", info, {});
    ASSERT_THAT(names(missing), ElementsAre("cooperative-matrix", "cooperative-bf16"));
    EXPECT_THAT(missing[0].reason,
                HasSubstr("needs shaderFloat16, vulkanMemoryModelDeviceScope, and VK_KHR_cooperative_matrix"));
    const auto wrong =
        closed_paths("matmul", with_everything(), {{LowPrecisionPath::CooperativeMatrix, "element [0, 1] is 7"}});
    ASSERT_THAT(names(wrong), ElementsAre("cooperative-matrix"));
    EXPECT_EQ(wrong[0].reason, "gave wrong results: element [0, 1] is 7");
}

}  // namespace
}  // namespace yolk::cli
