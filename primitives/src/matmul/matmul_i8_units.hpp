// SPDX-License-Identifier: Apache-2.0
// matmul_i8 on matrix units: which products, in which blocks. Pure functions of plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "yolk/internal/abi/matmul_i8.h"
#include "yolk/internal/runtime/low_precision.hpp"
#include "yolk/internal/shaders/kernel.hpp"
#include "yolk/matmul_i8.hpp"

namespace yolk {

[[nodiscard]] constexpr bool is_on_matrix_units(const MatmulI8Config& config) noexcept {
    return config.dot == kI8OnMatrixUnits || config.dot == kI8OnMatrixUnitsTwice;
}

/// Whether matrix units may take the product: a shape whose multiples m, n and k are, with rows where the units want
/// them. `desc` is a layout's.
[[nodiscard]] bool fits_matrix_units(const DeviceInfo& info, const MatmulI8Desc& desc);

/// What a workgroup makes, and how many k it stages at once.
struct I8Block {
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    std::uint32_t depth = 0;
};
/// Of a configuration of matrix units; errors: its geometry.
[[nodiscard]] Result<I8Block> i8_block(const DeviceInfo& info, const MatmulI8Desc& desc, const MatmulI8Config& config);

/// The largest block of which there are enough for a GPU; nothing where matrix units may not take the product, or where
/// there are too few.
[[nodiscard]] std::optional<MatmulI8Config> i8_config_on_units(const DeviceInfo& info, const MatmulI8Desc& desc);

[[nodiscard]] const Kernel<abi::matmul_i8::Params>& i8_units_kernel(const DeviceInfo& info) noexcept;
[[nodiscard]] std::vector<SpecConstant> i8_units_constants(const DeviceInfo& info, const MatmulI8Config& config,
                                                           const I8Block& block);
/// Of an invocation's loops, as the shader writes them (its head).
[[nodiscard]] std::uint64_t i8_units_loop_cost(const DeviceInfo& info, const MatmulI8Desc& desc,
                                               const MatmulI8Config& config, const I8Block& block);

}  // namespace yolk
