// SPDX-License-Identifier: Apache-2.0
// What operands of 16 bits add to matmul. Pure functions of plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/internal/abi/matmul.h"
#include "yolk/internal/runtime/low_precision.hpp"
#include "yolk/internal/shaders/kernel.hpp"
#include "yolk/matmul.hpp"

namespace yolk {

[[nodiscard]] bool has_16bit_operands(const MatmulDesc& desc) noexcept;

/// Domains of the knobs: what the device and the operands open.
[[nodiscard]] std::vector<std::uint32_t> storage16_values(const DeviceInfo& info, const MatmulDesc& desc);
[[nodiscard]] std::vector<std::uint32_t> operand_paths(const DeviceInfo& info, const MatmulDesc& desc);

/// What operands of 16 bits exclude.
[[nodiscard]] Result<void> check_formats(const MatmulDesc& desc, const MatmulConfig& config);

/// The kernel of operands of 16 bits.
[[nodiscard]] const Kernel<abi::matmul::Params>& formats_kernel(const MatmulDesc& desc,
                                                                const MatmulConfig& config) noexcept;

}  // namespace yolk
