// SPDX-License-Identifier: Apache-2.0
#include "perturbed_linear_base.hpp"

#include "matmul_cooperative.hpp"
#include "perturbed_linear_shape.hpp"

namespace yolk {
namespace {

MatmulDesc base_product(const PerturbedLinearDesc& desc) {
    return {.m = desc.shared_input ? desc.rows : desc.members * desc.rows,
            .n = outer_size(desc),
            .k = inner_size(desc),
            .a = {.format = desc.input_format},
            .b = {.transposed = !desc.transposed, .format = desc.weights_format},
            .determinism = desc.determinism};
}

}  // namespace

MatmulDesc base_product(const DeviceInfo& info, const PerturbedLinearDesc& desc, std::uint32_t base) {
    MatmulDesc product = base_product(desc);
    if (base == kBaseOnMatrixUnits) product.config = cooperative_config(info, product);
    return product;
}

std::vector<std::uint32_t> base_values(const DeviceInfo& info, const PerturbedLinearDesc& desc) {
    if (cooperative_config(info, base_product(desc))) return {kBaseInChain, kBaseByMatmul, kBaseOnMatrixUnits};
    return {kBaseInChain, kBaseByMatmul};
}

// Texel buffers are for CPU drivers, which gain nothing from more than eight lanes.
Result<void> check_base(const PerturbedLinearDesc& desc, const PerturbedLinearConfig& config) {
    if (config.base == kBaseInChain) return {};
    const bool by_texel = config.operand_path == kTexelOperands && desc.shared_input && config.workgroup_size == 8;
    if (config.fused == 0 && config.block_k == 4 && (by_texel || config.operand_path == kDirectOperands)) return {};
    return bad_input(
        "With base 1 or 2, fused must be 0, block_k 4, and operand_path 0, or 3 if x is shared and workgroup_size 8.");
}

}  // namespace yolk
