// SPDX-License-Identifier: Apache-2.0
// What matmul takes on a GPU where nothing is known. Pure functions of plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/primitives/matmul.hpp"
#include "yolk/runtime/device_info.hpp"

namespace yolk {

/// Rows and columns of the register tile that an invocation of a staged product may have at most.
struct RegisterTile {
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    friend bool operator==(const RegisterTile&, const RegisterTile&) = default;
};

/// The largest tile that compiles without spills and leaves a quarter of the waves in flight: 8 x 8 where a lane may
/// have some 128 registers (NVIDIA, Apple, AMD from RDNA on), 8 x 4 on AMD's GCN and Qualcomm's, whose subgroups all
/// have 64 lanes, 4 x 4 where no compiler was asked (docs/kernels/matmul.md).
[[nodiscard]] RegisterTile largest_tile(const DeviceInfo& info) noexcept;

/// Whether there are as many workgroups as keep a large GPU busy.
[[nodiscard]] bool has_enough_groups(const MatmulDesc& desc, const MatmulConfig& config) noexcept;

/// Staged configurations, the most wanted first, each with its operands read four elements at a time and then one by
/// one; not all are legal for every shape. `desc` is a layout's, `most` the largest register tile.
[[nodiscard]] std::vector<MatmulConfig> matmul_for_gpus(const MatmulDesc& desc, RegisterTile most);

}  // namespace yolk
