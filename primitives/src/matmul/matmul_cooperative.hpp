// SPDX-License-Identifier: Apache-2.0
// matmul on matrix units: which products, in which blocks. Pure functions of plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "yolk/internal/abi/matmul.h"
#include "yolk/internal/runtime/low_precision.hpp"
#include "yolk/internal/shaders/kernel.hpp"
#include "yolk/matmul.hpp"

namespace yolk {

[[nodiscard]] constexpr bool is_on_matrix_units(const MatmulConfig& config) noexcept {
    return config.operand_path == kCooperativeOperands || config.operand_path == kStagedCooperativeOperands ||
           config.operand_path == kTwiceStagedCooperativeOperands;
}

/// Whether matrix units may take the product: operands of fp16 or of bf16, Fast, and a shape whose multiples m, n and k
/// are, with rows where the units want them. `desc` is a layout's.
[[nodiscard]] bool fits_matrix_units(const DeviceInfo& info, const MatmulDesc& desc);

/// Of a configuration of matrix units: all of its geometry.
[[nodiscard]] Result<void> check_cooperative(const DeviceInfo& info, const MatmulDesc& desc,
                                             const MatmulConfig& config);

/// The sums that each subgroup of a workgroup makes.
struct SubgroupTile {
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    friend bool operator==(const SubgroupTile&, const SubgroupTile&) = default;
};
/// block_m x block_n dealt to the workgroup's subgroups, as near to a square as whole fragments of `shape`, at most
/// eight by eight, and a lane's registers allow; nothing where they do not come out even.
[[nodiscard]] std::optional<SubgroupTile> subgroup_tile(const DeviceInfo& info, const CooperativeShape& shape,
                                                        const MatmulConfig& config) noexcept;

/// What a product takes that is to be on matrix units: staged, in the largest blocks of which there are enough for a
/// GPU; straight from the buffers where no staged block divides it; nothing where matrix units may not take it.
[[nodiscard]] std::optional<MatmulConfig> cooperative_config(const DeviceInfo& info, const MatmulDesc& product);

/// Whether the matrix units' sums are what out must hold, where the units can write it.
[[nodiscard]] bool writes_out_directly(const MatmulDesc& desc) noexcept;

[[nodiscard]] const Kernel<abi::matmul::Params>& cooperative_kernel(const DeviceInfo& info, const MatmulDesc& desc,
                                                                    const MatmulConfig& config) noexcept;
/// The loops of an invocation: fragments of its subgroup, those along k of a step, steps, and the vectors of each
/// operand that it stages in one; none where nothing is staged.
struct UnitsLoops {
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
    std::uint64_t fragments_k = 0;
    std::uint64_t steps = 0;
    std::vector<std::uint32_t> portions{};
};
[[nodiscard]] std::uint64_t units_loop_cost(const UnitsLoops& loops) noexcept;

/// k that one dispatch adds: all of them, or an error where `budget`, of an invocation's loops, does not allow it.
[[nodiscard]] Result<std::uint32_t> cooperative_chunk(std::uint64_t budget, const DeviceInfo& info,
                                                      const MatmulDesc& desc, const MatmulConfig& config);
[[nodiscard]] std::vector<SpecConstant> cooperative_constants(const DeviceInfo& info, const MatmulDesc& desc,
                                                              const MatmulConfig& config);

}  // namespace yolk
