// SPDX-License-Identifier: Apache-2.0
// The kernel that tests of the runtime dispatch, and what it must give.
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/dispatcher.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {

inline constexpr std::uint32_t kNoiseWorkgroup = 32;

/// One pair of `count` elements of a stream that `time` tells apart.
[[nodiscard]] inline abi::noise::Params noise_params(std::uint32_t time, std::uint32_t count) {
    return {.seed_low = 42,
            .seed_high = 1,
            .parameter_and_domain = 5,
            .first_pair = 3,
            .time = time,
            .element_count = count,
            .pair_count = 1};
}

[[nodiscard]] inline GroupCount noise_groups(std::uint32_t count) {
    return fold_groups((count + 8 * kNoiseWorkgroup - 1) / (8 * kNoiseWorkgroup));
}

[[nodiscard]] inline std::vector<std::int32_t> expected_noise(std::uint32_t time, std::uint32_t count) {
    const NoiseStream stream{
        .seed = 42 + (std::uint64_t{1} << 32U), .parameter = 5, .domain = Domain::A, .pair = 3, .time = time};
    std::vector<std::int32_t> elements(count);
    for (std::uint32_t i = 0; i < count; ++i) elements[i] = noise_block(stream, i / 8)[i % 8];
    return elements;
}

using NoiseBinding = BindingOf<abi::noise::Params>;

[[nodiscard]] inline Result<NoiseBinding> bind_noise(const Device& device, const BufferView& out) {
    const SpecConstant constants[] = {{abi::noise::kSpecWorkgroupSize, kNoiseWorkgroup}};
    YOLK_TRY(const auto pipeline, device.pipeline(kernels::kNoiseI32, constants));
    return device.bind(pipeline, std::span(&out, 1));
}

[[nodiscard]] inline Result<std::vector<std::int32_t>> download_ints(Dispatcher& dispatcher, const BufferView& view,
                                                                     std::uint32_t count) {
    std::vector<std::int32_t> values(count);
    YOLK_TRY_VOID(dispatcher.download(view, std::as_writable_bytes(std::span(values))));
    return values;
}

}  // namespace yolk
