// SPDX-License-Identifier: Apache-2.0
// The one place where a VkResult becomes an Error.
#pragma once

#include <volk.h>

#include <string>

#include "yolk/result.hpp"

namespace yolk {

/// "VK_ERROR_DEVICE_LOST", or the number.
[[nodiscard]] std::string vk_result_name(VkResult result);

/// `what` completes "Cannot ...": "create the buffer [weights] of 4096 bytes". Out-of-memory results become
/// OutOfMemory, a lost device DeviceLost, all else Driver.
[[nodiscard]] Error vk_error(VkResult result, const std::string& what);

/// An error unless `result` is VK_SUCCESS.
[[nodiscard]] Result<void> vk_check(VkResult result, const std::string& what);

}  // namespace yolk
