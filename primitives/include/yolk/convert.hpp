// SPDX-License-Identifier: Apache-2.0
// convert: arrays of fp32 to fp16 or bf16 and back (docs/kernels/convert.md). Class E: integer work on bit patterns,
// for every one of them, NaN, infinities and denormals among them.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/internal/primitives/float_format.hpp"
#include "yolk/internal/primitives/operation.hpp"

namespace yolk::abi::convert {
struct Params;
}

namespace yolk {

/// Tuning parameters; any valid configuration gives the same bytes.
struct ConvertConfig {
    std::uint32_t workgroup_size = 64;       ///< 1, 4, 8, 16, 32, 64, 128, 256
    std::uint32_t words_per_invocation = 1;  ///< 1, 2, 4, 8: pairs of elements
};

struct ConvertViews {
    BufferView in;   ///< float_bytes(from, count)
    BufferView out;  ///< float_bytes(to, count); of an odd count of 16-bit elements the last half word becomes zero
};

struct ConvertDesc {
    using Config = ConvertConfig;
    using Views = ConvertViews;
    using Params = abi::convert::Params;

    std::uint32_t count = 0;  ///< elements; 0 is legal
    FloatFormat from = FloatFormat::F32;
    FloatFormat to = FloatFormat::F16;      ///< one of the two is F32, the other is not
    std::optional<ConvertConfig> config{};  ///< unset: the device's table, else its heuristic
};

template <>
const Operation<ConvertDesc>& operation_of<ConvertDesc>();
using ConvertPlan = Plan<ConvertDesc>;
using BoundConvert = Bound<ConvertDesc>;
/// One dispatch, no scratch. Errors besides those of every plan: formats that are both fp32 or both not.
inline constexpr Planner<ConvertDesc> plan_convert;

}  // namespace yolk
