// SPDX-License-Identifier: Apache-2.0
#include "curvature_plan.hpp"

#include <cmath>

namespace yolk {
namespace {

/// Batches of smaller products do without a uniform operand, which takes a dispatch per matrix: on lavapipe 200
/// products of 16 x 16 x 64 take a fifth to a third of the time without, 64 of 64 x 64 x 64 about the same, 8 of 128 x
/// 128 x 128 a fifth more.
constexpr std::uint64_t kUniformProducts = std::uint64_t{1} << 20U;

bool prefers_no_uniform(const MatmulDesc& desc) noexcept {
    return desc.batch > 1 && std::uint64_t{desc.m} * desc.n * desc.k < kUniformProducts;
}

}  // namespace

std::vector<Knob<MatmulConfig>> product_knobs(const DeviceInfo& info, const ProductPair& products) {
    return matmul_knobs(info, products.first);
}

Result<void> legal_products(const DeviceInfo& info, const ProductPair& products, const MatmulConfig& config) {
    YOLK_TRY_VOID(legal_matmul(info, products.first, config));
    return legal_matmul(info, products.second, config);
}

MatmulConfig product_heuristic(const DeviceInfo& info, const ProductPair& products) {
    const ConfigSpace<MatmulConfig> of_first = space_of(info, products.first);
    const ConfigSpace<MatmulConfig> of_second = space_of(info, products.second);
    const auto fits = [&](const MatmulConfig& config) {
        return of_first.check(config).has_value() && of_second.check(config).has_value();
    };
    for (const MatmulDesc* desc : {&products.first, &products.second}) {
        MatmulConfig config = heuristic_of(info, *desc);
        if (config.operand_path == kUniformOperand && prefers_no_uniform(*desc)) config.operand_path = kDirectOperands;
        for (const std::uint32_t vector_width : {config.vector_width, 1U}) {
            config.vector_width = vector_width;
            if (fits(config)) return config;
            if (MatmulConfig plain = config; config.operand_path == kUniformOperand) {
                plain.operand_path = kDirectOperands;
                if (fits(plain)) return plain;
            }
        }
    }
    return {.vector_width = 1};
}

Result<void> check_damping(float damping, const char* what) {
    if (damping == 0.0F || (damping >= 0x1p-40F && damping <= 0x1p40F)) return {};
    return bad_input("{} is {}; it must be 0 or from 2^-40 (9.1e-13) to 2^40 (1.1e12).", what, damping);
}

BufferView piece_of(const BufferView& scratch, std::uint64_t offset_bytes, std::uint64_t size_bytes) {
    if (size_bytes == 0) return {};
    return scratch.part(offset_bytes, size_bytes);
}

}  // namespace yolk
