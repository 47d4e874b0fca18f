// SPDX-License-Identifier: Apache-2.0
// Choosing a queue family: a pure function of a device's table of them, tested with those of real GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "yolk/internal/runtime/device_info.hpp"

namespace yolk {

/// Index of the family whose queue all work goes to; nothing where none has compute. Families with timestamps come
/// before those without, for the tuner's times; then those without graphics before those with; then the lower index.
/// A queue without graphics lets long kernels run beside a desktop's frames in place of holding them up, and drivers
/// give it more time: amdgpu takes a graphics queue for hung after 10 s, a compute queue after 60. All its shader units
/// serve both kinds of queue on NVIDIA, AMD and Intel.
[[nodiscard]] std::optional<std::uint32_t> select_queue_family(std::span<const QueueFamilyInfo> families) noexcept;

}  // namespace yolk
