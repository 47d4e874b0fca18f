// SPDX-License-Identifier: Apache-2.0
// noise: the elements of a noise stream for a range of pairs (docs/kernels/noise.md). Class E as integers, P as floats.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/primitives/operation.hpp"

namespace yolk::abi::noise {
struct Params;
}

namespace yolk {

enum class NoiseFormat {
    I32,  ///< integers in [-30, 30]
    F32,  ///< unit variance: times 1/sqrt(85)
};
constexpr auto enum_words(NoiseFormat /*type*/) { return std::to_array<std::string_view>({"i32", "f32"}); }

/// Tuning parameters; any valid configuration gives the same bytes.
struct NoiseConfig {
    std::uint32_t workgroup_size = 64;        ///< 1, 4, 8, 16, 32, 64, 128, 256
    std::uint32_t blocks_per_invocation = 1;  ///< 1 ... 8
};

struct NoiseViews {
    BufferView out;  ///< [pair_count, element_count] of 4-byte elements
};

struct NoiseDesc {
    using Config = NoiseConfig;
    using Views = NoiseViews;
    using Params = abi::noise::Params;
    /// Elements of pairs stream.pair ... stream.pair + pair_count - 1.
    using Call = void(const NoiseStream& stream);

    std::uint32_t element_count = 0;  ///< per pair; 0 is legal
    std::uint32_t pair_count = 1;
    NoiseFormat format = NoiseFormat::I32;
    std::optional<NoiseConfig> config{};  ///< unset: the device's table, else the heuristic for streams of items
};

template <>
const Operation<NoiseDesc>& operation_of<NoiseDesc>();
using NoisePlan = Plan<NoiseDesc>;
using BoundNoise = Bound<NoiseDesc>;
/// One dispatch, no scratch.
inline constexpr Planner<NoiseDesc> plan_noise;

}  // namespace yolk
