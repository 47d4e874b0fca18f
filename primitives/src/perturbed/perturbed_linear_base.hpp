// SPDX-License-Identifier: Apache-2.0
// x W^T of a perturbed layer as a product of its own, made by matmul. Pure functions of plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/matmul.hpp"
#include "yolk/perturbed_linear.hpp"

namespace yolk {

/// Values of PerturbedLinearConfig::base.
inline constexpr std::uint32_t kBaseInChain = 0;
inline constexpr std::uint32_t kBaseByMatmul = 1;
inline constexpr std::uint32_t kBaseOnMatrixUnits = 2;

/// What multiplies x by W; the perturbation is fp32, and far less.
[[nodiscard]] constexpr ArithmeticUnit unit_of_base(std::uint32_t base) noexcept {
    return base == kBaseOnMatrixUnits ? ArithmeticUnit::MatrixF16 : ArithmeticUnit::Fp32Lanes;
}

/// [instances, n], or [rows, n] of a shared x; dense. With a configuration where `base` says how.
[[nodiscard]] MatmulDesc base_product(const DeviceInfo& info, const PerturbedLinearDesc& desc, std::uint32_t base);

/// The domain of the knob: with 2 where the device and the operands open the path.
[[nodiscard]] std::vector<std::uint32_t> base_values(const DeviceInfo& info, const PerturbedLinearDesc& desc);

/// What a base of its own excludes.
[[nodiscard]] Result<void> check_base(const PerturbedLinearDesc& desc, const PerturbedLinearConfig& config);

}  // namespace yolk
