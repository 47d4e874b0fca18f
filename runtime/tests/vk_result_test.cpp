// SPDX-License-Identifier: Apache-2.0
#include "vk_result.hpp"

#include <gmock/gmock.h>

namespace yolk {
namespace {

using ::testing::HasSubstr;

TEST(vk_result, success_is_no_error) { EXPECT_TRUE(vk_check(VK_SUCCESS, "do anything").has_value()); }

TEST(vk_result, kinds) {
    EXPECT_EQ(vk_error(VK_ERROR_OUT_OF_HOST_MEMORY, "x").kind, ErrorKind::OutOfMemory);
    EXPECT_EQ(vk_error(VK_ERROR_OUT_OF_DEVICE_MEMORY, "x").kind, ErrorKind::OutOfMemory);
    EXPECT_EQ(vk_error(VK_ERROR_OUT_OF_POOL_MEMORY, "x").kind, ErrorKind::OutOfMemory);
    EXPECT_EQ(vk_error(VK_ERROR_DEVICE_LOST, "x").kind, ErrorKind::DeviceLost);
    EXPECT_EQ(vk_error(VK_ERROR_INITIALIZATION_FAILED, "x").kind, ErrorKind::Driver);
    EXPECT_EQ(vk_error(VK_TIMEOUT, "x").kind, ErrorKind::Driver);
}

TEST(vk_result, the_message_names_the_work_and_the_result) {
    const Result<void> failed = vk_check(VK_ERROR_DEVICE_LOST, "submit [generation]");
    ASSERT_FALSE(failed.has_value());
    EXPECT_THAT(failed.error().message,
                HasSubstr("Cannot submit [generation]: the driver returned VK_ERROR_DEVICE_LOST."));
    EXPECT_EQ(failed.error().native, static_cast<int>(VK_ERROR_DEVICE_LOST));
}

TEST(vk_result, an_unknown_result_shows_its_number) {
    EXPECT_EQ(vk_result_name(static_cast<VkResult>(-1000999999)), "VkResult -1000999999");
}

}  // namespace
}  // namespace yolk
