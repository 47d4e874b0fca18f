// SPDX-License-Identifier: Apache-2.0
// What matmul takes on a GPU where nothing is known. Pure functions of plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/matmul.hpp"

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

/// Whether there is a workgroup for each compute unit. Fewer leave some of them idle; then smaller blocks, or pieces of
/// k, are worth their cost.
[[nodiscard]] bool has_enough_groups(const DeviceInfo& info, const MatmulDesc& desc,
                                     const MatmulConfig& config) noexcept;

/// A block of a workgroup on matrix units (matmul_cooperative.hpp).
struct UnitsBlock {
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    std::uint32_t sums_per_lane = 0;
    std::uint32_t stages = 0;  ///< blocks of operands in shared memory
    std::uint32_t depth = 0;   ///< of k at once; less where it does not divide k or does not fit
};

/// Those that a product takes on matrix units, the largest first.
[[nodiscard]] std::vector<UnitsBlock> blocks_on_units(const DeviceInfo& info);

/// Whether `on_units` is the default where units may take the product. Of few rows or columns memory is the limit, and
/// with few workgroups pieces of k help more.
[[nodiscard]] bool pays_on_units(const DeviceInfo& info, const MatmulDesc& product,
                                 const MatmulConfig& on_units) noexcept;

/// Staged configurations, the most wanted first, each with its operands read four elements at a time and then one by
/// one; not all are legal for every shape. `desc` is a layout's, `most` the largest register tile.
[[nodiscard]] std::vector<MatmulConfig> matmul_for_gpus(const DeviceInfo& info, const MatmulDesc& desc,
                                                        RegisterTile most);

}  // namespace yolk
