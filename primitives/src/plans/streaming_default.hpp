// SPDX-License-Identifier: Apache-2.0
// The default of kernels that go through memory once, an item like the other.
#pragma once

#include <cstdint>

#include "yolk/internal/runtime/device_info.hpp"

namespace yolk {

struct StreamingDefault {
    std::uint32_t workgroup_size = 64;
    std::uint32_t items_per_invocation = 1;
};

/// Many items: on CPU drivers each workgroup has a price of its own, so there are few (large ones, four items each:
/// lavapipe 22.3 1.0 to 1.2 times as fast as 64 of one item, SwiftShader 1.2 to 1.9; measured 2026-11-22 with
/// `yolk bench kernel --kernel convert --all` and gather, concat, elementwise, noise). Few: more workgroups than
/// cores.
[[nodiscard]] constexpr StreamingDefault streaming_default(const DeviceInfo& info, std::uint64_t items) noexcept {
    constexpr std::uint64_t kMany = 1U << 14U;
    if (info.kind == DeviceKind::Cpu && items >= kMany) return {.workgroup_size = 256, .items_per_invocation = 4};
    return {};
}

/// Whether texel buffers are the faster input of kernels that go through memory once. lavapipe 22.3 is 2 to 4 times as
/// fast with them. SwiftShader takes 1.2 to 1.5 times as long; its texel buffers have the fewest elements that Vulkan
/// allows (2026-11-28, softmax, normalize, reduce and elementwise).
[[nodiscard]] constexpr bool streams_texels(const DeviceInfo& info) noexcept {
    constexpr std::uint32_t kFewest = 65536;
    return info.kind == DeviceKind::Cpu && info.limits.max_texel_buffer_elements > kFewest;
}

}  // namespace yolk
