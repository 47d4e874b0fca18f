// SPDX-License-Identifier: Apache-2.0
#include "matmul_for_gpus.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "yolk/internal/core/shape.hpp"

namespace yolk {
namespace {

constexpr std::uint32_t kAmd = 0x1002;
constexpr std::uint32_t kNvidia = 0x10de;
constexpr std::uint32_t kApple = 0x106b;
constexpr std::uint32_t kQualcomm = 0x5143;

/// Up to so many rows (or columns) the other operand is read once, whatever the tile: one flat block.
constexpr std::uint32_t kSkinny = 16;
/// The compute units of a GPU that does not say how many it has.
constexpr std::uint32_t kUsualUnits = 64;
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

std::uint32_t units_of(const DeviceInfo& info) noexcept {
    return info.limits.compute_units != 0 ? info.limits.compute_units : kUsualUnits;
}

std::uint64_t groups_of(const MatmulDesc& desc, const MatmulConfig& config) noexcept {
    return std::uint64_t{ceil_div(desc.m, config.block_m)} * ceil_div(desc.n, config.block_n) * desc.batch;
}

/// Whether half of what the blocks compute lies outside of the matrix, as where it is smaller than a block.
bool wastes_half(const MatmulDesc& desc, const MatmulConfig& config) noexcept {
    const std::uint64_t computed = round_up(desc.m, config.block_m) * round_up(desc.n, config.block_n);
    return computed >= 2 * std::uint64_t{desc.m} * desc.n;
}

/// From the largest block to the smallest, for the first that gives enough workgroups.
MatmulConfig blocks_for(const DeviceInfo& info, const MatmulDesc& desc, RegisterTile tile) {
    constexpr RegisterTile kSmall{4, 4};
    if (desc.m <= kSkinny) return staged(16, 64, 8, kSmall);
    if (desc.n <= kSkinny) return staged(64, 16, 8, kSmall);
    // Measured on an H200 (driver 580.159): 2,048^3 in 390 us, with 16 of k at once 468, but exact 699 and 656; 1,024^3
    // 64, in blocks of 64 by 64 with 8 of k and tiles of 8 x 4 69; 512^3 15, with 8 of k 21.
    constexpr RegisterTile kLarge{8, 8};
    const bool measured = info.vendor_id == kNvidia && tile == kLarge;
    const RegisterTile middle = tile == kSmall ? kSmall : RegisterTile{8, 4};
    const std::array blocks =
        measured ? std::array{staged(128, 128, desc.determinism == Determinism::Exact ? 16 : 8, kLarge),
                              staged(128, 64, 16, kLarge), staged(64, 64, 16, kLarge)}
                 : std::array{staged(16 * tile.rows, 16 * tile.columns, 16, tile), staged(64, 64, 8, middle),
                              staged(64, 64, 8, middle)};
    for (const MatmulConfig& config : blocks) {
        if (has_enough_groups(info, desc, config) && !wastes_half(desc, config)) return config;
    }
    const MatmulConfig small = staged(32, 32, measured ? 16 : 8, kSmall);
    // An exact chain is as long as k, whatever the number of blocks. With four sums to an invocation each of its steps
    // is shorter: 64 x 64 over 1,024 takes an H200 18 us, in blocks of 32 by 32 35.
    const bool idle = 4 * groups_of(desc, small) <= 2 * std::uint64_t{units_of(info)};
    if (measured && idle && desc.determinism == Determinism::Exact) return staged(16, 16, 16, {1, 4});
    return small;
}

/// Pieces of k, where the outputs alone do not make enough workgroups.
std::uint32_t pieces_for(const DeviceInfo& info, const MatmulDesc& desc, const MatmulConfig& config) {
    if (desc.determinism == Determinism::Exact) return 1;
    for (const std::uint32_t pieces : {4U, 8U}) {
        const bool enough = pieces * groups_of(desc, config) >= 2 * units_of(info);
        const bool longer = desc.k / (2 * pieces) >= kLeastPiece;
        if (!has_enough_groups(info, desc, config) && desc.k / pieces >= kLeastPiece &&
            (enough || !longer || pieces == 8))
            return pieces;
    }
    return 1;
}

}  // namespace

bool has_enough_groups(const DeviceInfo& info, const MatmulDesc& desc, const MatmulConfig& config) noexcept {
    return groups_of(desc, config) >= units_of(info);
}

RegisterTile largest_tile(const DeviceInfo& info) noexcept {
    if (info.vendor_id == kNvidia || info.vendor_id == kApple) return {8, 8};
    if (info.vendor_id == kAmd) return info.limits.min_subgroup_size == 32 ? RegisterTile{8, 8} : RegisterTile{8, 4};
    return info.vendor_id == kQualcomm ? RegisterTile{8, 4} : RegisterTile{4, 4};
}

// With 64 sums of a lane a GPU has a quarter of its waves (64 lanes of navi31: 4 of 16). On NVIDIA shared memory is the
// limit then: for 64 x 32 sums a subgroup of 32 lanes reads 6 fragments of 512 bytes for each 8 multiplications, 96
// cycles of its quarter of a multiprocessor for some 100 of the matrix unit; for 64 x 64 sums 128 for 200.
std::vector<UnitsBlock> blocks_on_units(const DeviceInfo& info) {
    std::vector<UnitsBlock> blocks;
    // 64 of k are lines of 128 bytes. On an H200 (driver 580.159) 4,096^3 takes 864 us so, with 32 of k in two stages
    // 1,287; 1,024^3 15.6, with 32 of k 20.6.
    if (info.vendor_id == kNvidia) blocks = {{128, 128, 128, 1, 64}, {64, 64, 64, 2, 64}};
    for (const auto& [rows, columns] :
         {std::pair{128U, 128U}, {128U, 64U}, {64U, 128U}, {64U, 64U}, {64U, 32U}, {32U, 64U}, {32U, 32U}})
        blocks.push_back({rows, columns, 64, 1, 32});
    return blocks;
}

bool pays_on_units(const DeviceInfo& info, const MatmulDesc& product, const MatmulConfig& on_units) noexcept {
    return std::min(product.m, product.n) > kSkinny && has_enough_groups(info, product, on_units);
}

std::vector<MatmulConfig> matmul_for_gpus(const DeviceInfo& info, const MatmulDesc& desc, RegisterTile most) {
    MatmulConfig wanted = blocks_for(info, desc, most);
    std::vector<MatmulConfig> all;
    for (const std::uint32_t pieces : {pieces_for(info, desc, wanted), 1U}) {
        wanted.split_k = pieces;
        for (const std::uint32_t width : {4U, 1U}) {
            wanted.vector_width = width;
            all.push_back(wanted);
        }
    }
    return all;
}

}  // namespace yolk
