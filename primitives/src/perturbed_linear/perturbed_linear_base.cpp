// SPDX-License-Identifier: Apache-2.0
#include "perturbed_linear_base.hpp"

#include <array>
#include <optional>

#include "matmul_formats.hpp"
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

/// The largest blocks that divide the product; nothing where matrix units may not take it.
std::optional<MatmulConfig> units_config(const DeviceInfo& info, const MatmulDesc& product) {
    const std::optional<CooperativeShape> shape = cooperative_shape(info);
    if (!shape || product.determinism != Determinism::Fast) return {};
    const ConfigSpace<MatmulConfig> space = space_of(info, product);
    constexpr std::array<std::uint32_t, 3> kFragments{4, 2, 1};
    for (const std::uint32_t rows : kFragments) {
        for (const std::uint32_t columns : kFragments) {
            const MatmulConfig config{.workgroup_size = info.limits.subgroup_size,
                                      .block_m = rows * shape->m,
                                      .block_n = columns * shape->n,
                                      .block_k = 4,
                                      .tile_m = 1,
                                      .tile_n = 4,
                                      .vector_width = 1,
                                      .operand_path = kCooperativeOperands};
            if (space.check(config)) return config;
        }
    }
    return {};
}

}  // namespace

MatmulDesc base_product(const DeviceInfo& info, const PerturbedLinearDesc& desc, std::uint32_t base) {
    MatmulDesc product = base_product(desc);
    if (base == kBaseOnMatrixUnits) product.config = units_config(info, product);
    return product;
}

std::vector<std::uint32_t> base_values(const DeviceInfo& info, const PerturbedLinearDesc& desc) {
    if (units_config(info, base_product(desc))) return {kBaseInChain, kBaseByMatmul, kBaseOnMatrixUnits};
    return {kBaseInChain, kBaseByMatmul};
}

Result<void> check_base(const PerturbedLinearConfig& config) {
    if (config.base == kBaseInChain) return {};
    if (config.fused == 0 && config.operand_path == kDirectOperands && config.block_k == 4) return {};
    return bad_input("With base 1 or 2, fused and uniform must be 0 and block_k 4.");
}

}  // namespace yolk
