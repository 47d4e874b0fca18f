// SPDX-License-Identifier: Apache-2.0
// What low precision adds to matmul: operands of 16 bits, and matrix units. Pure functions of plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/abi/matmul.h"
#include "yolk/primitives/matmul.hpp"
#include "yolk/runtime/low_precision.hpp"
#include "yolk/shaders/kernel.hpp"

namespace yolk {

[[nodiscard]] bool has_16bit_operands(const MatmulDesc& desc) noexcept;
/// Whether matrix units may take the product: fp16 operands, Fast, and a shape whose multiples m, n and k are, with
/// rows where the units want them. `desc` is a layout's.
[[nodiscard]] bool fits_matrix_units(const DeviceInfo& info, const MatmulDesc& desc);

/// Domains of the knobs: what the device and the operands open.
[[nodiscard]] std::vector<std::uint32_t> storage16_values(const DeviceInfo& info, const MatmulDesc& desc);
[[nodiscard]] std::vector<std::uint32_t> operand_paths(const DeviceInfo& info, const MatmulDesc& desc);

/// What operands of 16 bits exclude.
[[nodiscard]] Result<void> check_formats(const MatmulDesc& desc, const MatmulConfig& config);
/// Of a configuration of matrix units: all of its geometry.
[[nodiscard]] Result<void> check_cooperative(const DeviceInfo& info, const MatmulDesc& desc,
                                             const MatmulConfig& config);

/// Whether the matrix units' sums are what out must hold, where the units can write it.
[[nodiscard]] bool writes_out_directly(const MatmulDesc& desc) noexcept;

/// The kernel of operands of 16 bits.
[[nodiscard]] const Kernel<abi::matmul::Params>& formats_kernel(const MatmulDesc& desc,
                                                                const MatmulConfig& config) noexcept;
[[nodiscard]] const Kernel<abi::matmul::Params>& cooperative_kernel(const CooperativeShape& shape) noexcept;
/// k that one dispatch adds: all of them, or an error where `budget`, of an invocation's loops, does not allow it.
[[nodiscard]] Result<std::uint32_t> cooperative_chunk(std::uint64_t budget, const MatmulDesc& desc,
                                                      const MatmulConfig& config, const CooperativeShape& shape);
[[nodiscard]] std::vector<SpecConstant> cooperative_constants(const MatmulDesc& desc, const MatmulConfig& config,
                                                              const CooperativeShape& shape);

}  // namespace yolk
