// SPDX-License-Identifier: Apache-2.0
// The debug messenger: what the layers say becomes ValidationMessages.
#pragma once

#include <volk.h>

#include "yolk/internal/runtime/instance.hpp"

namespace yolk {

/// How the messenger of an instance is made; `impl` receives the messages and must outlive it.
[[nodiscard]] VkDebugUtilsMessengerCreateInfoEXT messenger_info(Instance::Impl* impl);

/// To the impl's on_message, or to the log without one.
void deliver_message(const Instance::Impl& impl, const ValidationMessage& message);

}  // namespace yolk
