// SPDX-License-Identifier: Apache-2.0
#include "matmul_for_gpus.hpp"

#include <array>

#include "yolk/core/shape.hpp"

namespace yolk {
namespace {

constexpr std::uint32_t kAmd = 0x1002;
constexpr std::uint32_t kNvidia = 0x10de;
constexpr std::uint32_t kApple = 0x106b;
constexpr std::uint32_t kQualcomm = 0x5143;

/// Up to so many rows (or columns) the other operand is read once, whatever the tile: one flat block.
constexpr std::uint32_t kSkinny = 16;
/// Fewer workgroups leave compute units of a large GPU idle; then smaller blocks, or pieces of k, are worth their cost.
constexpr std::uint64_t kEnoughGroups = 64;
/// Steps of k that a piece has at least: what it costs to begin and to add up is little beside them.
constexpr std::uint32_t kLeastPiece = 64;

constexpr MatmulConfig staged(std::uint32_t block_m, std::uint32_t block_n, std::uint32_t block_k, RegisterTile tile) {
    return {.workgroup_size = block_m / tile.rows * (block_n / tile.columns),
            .block_m = block_m,
            .block_n = block_n,
            .block_k = block_k,
            .tile_m = tile.rows,
            .tile_n = tile.columns,
            .operand_path = kStagedOperands};
}

std::uint64_t groups_of(const MatmulDesc& desc, const MatmulConfig& config) noexcept {
    return std::uint64_t{ceil_div(desc.m, config.block_m)} * ceil_div(desc.n, config.block_n) * desc.batch;
}

/// From the largest block to the smallest, for the first that gives enough workgroups.
MatmulConfig blocks_for(const MatmulDesc& desc, RegisterTile tile) {
    constexpr RegisterTile kSmall{4, 4};
    if (desc.m <= kSkinny) return staged(16, 64, 8, kSmall);
    if (desc.n <= kSkinny) return staged(64, 16, 8, kSmall);
    const RegisterTile middle = tile == kSmall ? kSmall : RegisterTile{8, 4};
    for (const MatmulConfig& config :
         {staged(16 * tile.rows, 16 * tile.columns, 16, tile), staged(64, 64, 8, middle)}) {
        if (has_enough_groups(desc, config)) return config;
    }
    return staged(32, 32, 8, kSmall);
}

/// Pieces of k, where the outputs alone do not make enough workgroups.
std::uint32_t pieces_for(const MatmulDesc& desc, const MatmulConfig& config) {
    if (desc.determinism == Determinism::Exact) return 1;
    for (const std::uint32_t pieces : {4U, 8U}) {
        const bool enough = pieces * groups_of(desc, config) >= 2 * kEnoughGroups;
        const bool longer = desc.k / (2 * pieces) >= kLeastPiece;
        if (!has_enough_groups(desc, config) && desc.k / pieces >= kLeastPiece && (enough || !longer || pieces == 8))
            return pieces;
    }
    return 1;
}

}  // namespace

bool has_enough_groups(const MatmulDesc& desc, const MatmulConfig& config) noexcept {
    return groups_of(desc, config) >= kEnoughGroups;
}

RegisterTile largest_tile(const DeviceInfo& info) noexcept {
    if (info.vendor_id == kNvidia || info.vendor_id == kApple) return {8, 8};
    if (info.vendor_id == kAmd) return info.limits.min_subgroup_size == 32 ? RegisterTile{8, 8} : RegisterTile{8, 4};
    return info.vendor_id == kQualcomm ? RegisterTile{8, 4} : RegisterTile{4, 4};
}

std::vector<MatmulConfig> matmul_for_gpus(const MatmulDesc& desc, RegisterTile most) {
    MatmulConfig wanted = blocks_for(desc, most);
    std::vector<MatmulConfig> all;
    for (const std::uint32_t pieces : {pieces_for(desc, wanted), 1U}) {
        wanted.split_k = pieces;
        for (const std::uint32_t width : {4U, 1U}) {
            wanted.vector_width = width;
            all.push_back(wanted);
        }
    }
    return all;
}

}  // namespace yolk
