// SPDX-License-Identifier: Apache-2.0
#include "curvature_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace yolk {
namespace {

/// Batches of smaller products do without a uniform operand, which takes a dispatch per matrix: on lavapipe 200
/// products of 16 x 16 x 64 take a fifth to a third of the time without, 64 of 64 x 64 x 64 about the same, 8 of 128 x
/// 128 x 128 a fifth more.
constexpr std::uint64_t kUniformProducts = std::uint64_t{1} << 20U;

bool prefers_no_uniform(const MatmulDesc& desc) noexcept {
    return desc.batch > 1 && std::uint64_t{desc.m} * desc.n * desc.k < kUniformProducts;
}

std::vector<Knob<MatmulConfig>> knobs_of(const TuningSpace& space) {
    constexpr std::array<std::pair<const char*, std::uint32_t MatmulConfig::*>, 10> kFields{
        {{"workgroup_size", &MatmulConfig::workgroup_size},
         {"block_m", &MatmulConfig::block_m},
         {"block_n", &MatmulConfig::block_n},
         {"block_k", &MatmulConfig::block_k},
         {"tile_m", &MatmulConfig::tile_m},
         {"tile_n", &MatmulConfig::tile_n},
         {"vector_width", &MatmulConfig::vector_width},
         {"staged", &MatmulConfig::staged},
         {"uniform", &MatmulConfig::uniform},
         {"split_k", &MatmulConfig::split_k}}};
    std::vector<Knob<MatmulConfig>> knobs;
    for (const auto& [name, field] : kFields) {
        const auto knob = std::ranges::find(space.knobs(), std::string(name), &TuningKnob::name);
        if (knob != space.knobs().end()) knobs.push_back({name, field, knob->values});
    }
    return knobs;
}

}  // namespace

ConfigSpace<MatmulConfig> product_space(const char* family, const DeviceInfo& info, const ProductPair& products,
                                        TuningShape shape) {
    const ConfigSpace<MatmulConfig> of_first = matmul_space(info, products.first);
    const ConfigSpace<MatmulConfig> of_second = matmul_space(info, products.second);
    return {family, knobs_of(of_first.space()),
            [of_first, of_second](const MatmulConfig& config) -> Result<void> {
                YOLK_TRY_VOID(of_first.check(config));
                return of_second.check(config);
            },
            std::move(shape)};
}

MatmulConfig default_product_config(const DeviceInfo& info, const MatmulDesc& first, const MatmulDesc& second) {
    const ConfigSpace<MatmulConfig> space = product_space("product", info, {first, second}, {});
    for (const MatmulDesc* desc : {&first, &second}) {
        MatmulConfig config = default_matmul_config(info, *desc);
        if (config.uniform == 1 && prefers_no_uniform(*desc)) config.uniform = 0;
        for (const std::uint32_t vector_width : {config.vector_width, 1U}) {
            config.vector_width = vector_width;
            if (space.check(config)) return config;
            if (MatmulConfig plain = config; config.uniform == 1) {
                plain.uniform = 0;
                if (space.check(plain)) return plain;
            }
        }
    }
    return {.vector_width = 1};
}

Result<void> check_damping(float damping, const char* what) {
    if (damping == 0.0F || (damping >= 0x1p-40F && damping <= 0x1p40F)) return {};
    return bad_input(fmt::format("{} is {}; it must be 0 or from 2^-40 (9.1e-13) to 2^40 (1.1e12).", what, damping));
}

BufferView piece_of(const BufferView& scratch, std::uint64_t offset_bytes, std::uint64_t size_bytes) {
    if (size_bytes == 0) return {};
    return scratch.part(offset_bytes, size_bytes);
}

}  // namespace yolk
