// SPDX-License-Identifier: Apache-2.0
// digest: an order-free 128-bit digest of arrays of words, made where they are (docs/kernels/digest.md). Class E.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/internal/primitives/operation.hpp"

namespace yolk::abi::digest {
struct Params;
}

namespace yolk {

/// Tuning parameters; any valid configuration gives the same bytes.
struct DigestConfig {
    std::uint32_t workgroup_size = 64;        ///< 1, 4, 8, 16, 32, 64, 128, 256
    std::uint32_t blocks_per_invocation = 1;  ///< 1, 2, 4, 8, 16
};

struct DigestViews {
    BufferView in;    ///< uint32 [count], of any meaning
    BufferView sums;  ///< in, out, uint32 [abi::digest::kSumWords]: what the array adds to. Zeros before the first one
};

struct DigestDesc {
    using Config = DigestConfig;
    using Views = DigestViews;
    using Params = abi::digest::Params;
    /// `array`: a number of the caller's for the array. Several arrays may add to one `sums` without a barrier between
    /// them.
    using Call = void(std::uint32_t array);

    std::uint32_t count = 0;               ///< words; 0 is legal and adds nothing
    std::optional<DigestConfig> config{};  ///< unset: the device's table, else larger workgroups for many words
};

template <>
const Operation<DigestDesc>& operation_of<DigestDesc>();
using DigestPlan = Plan<DigestDesc>;
using BoundDigest = Bound<DigestDesc>;
/// One dispatch, no scratch.
inline constexpr Planner<DigestDesc> plan_digest;

}  // namespace yolk
