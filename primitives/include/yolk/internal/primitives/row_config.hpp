// SPDX-License-Identifier: Apache-2.0
// What the kernels that work on rows (programs of rows, such as softmax) may be tuned by.
#pragma once

#include <cstdint>

#include "yolk/internal/runtime/device_info.hpp"

namespace yolk {

/// Any valid configuration gives the same bytes.
struct RowConfig {
    /// 0: invocations share a row, in shared memory; 1: an invocation has a row of its own, without a barrier.
    std::uint32_t row_per_invocation = 0;
    std::uint32_t rows_per_workgroup = 2;  ///< 1, 2, 4, 8; with row_per_invocation also 16, 32, 64, 128, 256
    /// How many share a row: 32, 64, 128, 256, in workgroups of at most 256; 32 with row_per_invocation.
    std::uint32_t lanes_per_row = 32;
    std::uint32_t texel_input = 0;  ///< 1: inputs are read as texel buffers; with row_per_invocation
    /// 4: of a row of a multiple of 4 elements that lie side by side, four at once; with row_per_invocation
    std::uint32_t elements_per_load = 1;
};

/// What to take where nothing was measured: rows shared by 32 on GPUs, a row per invocation on CPU drivers.
[[nodiscard]] RowConfig default_row_config(const DeviceInfo& info) noexcept;

}  // namespace yolk
