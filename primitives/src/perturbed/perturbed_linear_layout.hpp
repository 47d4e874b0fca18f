// SPDX-License-Identifier: Apache-2.0
// What a plan of perturbed_linear and its bindings share: sizes, scratch, and how long chains are split.
#pragma once

#include <cstdint>

#include "perturbed_linear_base.hpp"
#include "perturbed_linear_shape.hpp"
#include "yolk/device.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/perturbed_linear.hpp"

namespace yolk {

/// Everything that plan and bound plan share: sizes in bytes, and how many k one dispatch of each half may add.
struct PerturbedLinearLayout {
    PerturbedLinearDesc desc;
    PerturbedLinearConfig config;
    std::uint64_t weights_bytes = 0;
    std::uint64_t input_bytes = 0;
    std::uint64_t output_bytes = 0;
    std::uint64_t projection_bytes = 0;
    std::uint64_t base_bytes = 0;             ///< of x W^T in scratch, where it is a product of its own of a shared x
    std::uint64_t product_scratch_bytes = 0;  ///< of the matmul that makes it
    std::uint32_t project_chunk = 0;
    std::uint32_t output_chunk = 0;

    [[nodiscard]] std::uint32_t instances() const noexcept { return desc.members * desc.rows; }
    [[nodiscard]] bool is_empty() const noexcept { return output_bytes == 0; }
    [[nodiscard]] bool is_fused() const noexcept { return config.fused == 1; }
    [[nodiscard]] bool has_base() const noexcept { return config.base != kBaseInChain; }
    // Scratch: the projection, the base, the matmul's own.
    [[nodiscard]] std::uint64_t base_offset() const noexcept { return round_up(projection_bytes, kViewAlignment); }
    [[nodiscard]] std::uint64_t product_scratch_offset() const noexcept {
        return base_offset() + round_up(base_bytes, kViewAlignment);
    }
    [[nodiscard]] std::uint64_t scratch_bytes() const noexcept {
        if (product_scratch_bytes > 0) return product_scratch_offset() + product_scratch_bytes;
        return base_bytes > 0 ? base_offset() + base_bytes : projection_bytes;
    }
    [[nodiscard]] std::uint32_t k() const noexcept { return inner_size(desc); }
    [[nodiscard]] std::uint32_t n() const noexcept { return outer_size(desc); }
};

/// Ranges of the description.
[[nodiscard]] Result<void> check_perturbed_linear(const PerturbedLinearDesc& desc);
/// Fills the sizes but product_scratch_bytes. Errors: overflow, a view above the device's binding limit.
[[nodiscard]] Result<void> measure_perturbed_linear(const Device& device, PerturbedLinearLayout& layout);
/// Fills the chunks, by the loops as the shaders write them (their heads). Error: not one step fits.
[[nodiscard]] Result<void> split_perturbed_linear(const Device& device, PerturbedLinearLayout& layout);

}  // namespace yolk
