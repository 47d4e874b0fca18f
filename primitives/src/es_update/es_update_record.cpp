// SPDX-License-Identifier: Apache-2.0
// Recording of es_update: windows of tiles, the whole or a share of it.
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "es_update_plan.hpp"
#include "plan_checks.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/core/shape.hpp"

namespace yolk {
namespace {

namespace abi_eu = abi::es_update;
namespace abi_us = abi::update_share;

constexpr std::uint64_t kCombineCost = 8;  ///< of one partial sum, added up

/// What a share comes to: tiles, and pairs [first, end).
struct ShareExtent {
    TileRange tiles;
    std::uint32_t first_pair = 0;
    std::uint32_t end_pair = 0;
    bool has_frozen = false;
};

/// The end of what begins at `first`; nothing where that leaves `all`.
std::optional<std::uint32_t> end_of(std::uint32_t first, std::uint32_t count, std::uint32_t all) noexcept {
    if (first > all) return std::nullopt;
    if (count == EsUpdateShare::kAllThatFollow) return all;
    if (count > all - first) return std::nullopt;
    return first + count;
}

Error outside(const char* what, std::uint32_t first, std::uint32_t count, std::uint32_t all) {
    return bad_input("A share of [es_update] has {} {} from {} on; there are {}.", count, what, first, all);
}

Result<ShareExtent> extent_of(const TileLayout& layout, const EsUpdateDesc& desc, const EsUpdateShare& share) {
    const std::uint32_t pairs = pairs_of(desc);
    const auto end_strip = end_of(share.first_strip, share.strip_count, layout.strip_count);
    if (!end_strip) return outside("strips", share.first_strip, share.strip_count, layout.strip_count);
    const auto end_pair = end_of(share.first_pair, share.pair_count, pairs);
    if (!end_pair) return outside("pairs", share.first_pair, share.pair_count, pairs);
    if (desc.output == EsUpdateOutput::Gradient && (share.first_pair != 0 || *end_pair != pairs)) {
        return bad_input(
            "A gradient of [es_update] was asked for of pairs {} to {}; it is made of all {}, and sums of some.",
            share.first_pair, *end_pair, pairs);
    }
    return ShareExtent{.tiles = tiles_of_strips(layout, share.first_strip, *end_strip - share.first_strip),
                       .first_pair = share.first_pair,
                       .end_pair = *end_pair,
                       .has_frozen = share.first_strip == 0 && share.strip_count != 0};
}

abi_eu::Params params_at(const EsUpdatePass& pass, const EsUpdateDesc& desc, const NoiseContext& when) noexcept {
    abi_eu::Params at = pass.params;
    at.seed_low = static_cast<std::uint32_t>(when.seed);
    at.seed_high = static_cast<std::uint32_t>(when.seed >> 32U);
    at.time = when.time;
    // Divisions and square roots of double are correctly rounded, so every host gives the same two factors.
    const double members = desc.population;
    const double scale = std::sqrt(members) / members * static_cast<double>(when.sigma);
    at.matrix_factor = static_cast<float>(scale / std::sqrt(static_cast<double>(pass.rank)) / kNoiseVariance);
    at.vector_factor = static_cast<float>(scale / std::sqrt(static_cast<double>(kNoiseVariance)));
    return at;
}

abi_us::Params share_params(const abi_eu::Params& at, const ShareExtent& extent) noexcept {
    return {.seed_low = at.seed_low,
            .seed_high = at.seed_high,
            .time = at.time,
            .first_pair = extent.first_pair,
            .end_pair = extent.end_pair,
            .pairs_per_slice = at.pairs_per_slice,
            .slice_count = at.slice_count,
            .parameter_count = at.parameter_count,
            .first_tile = at.first_tile,
            .tile_count = at.tile_count,
            .first_group = at.first_group,
            .group_count = at.group_count,
            .first_unit = at.first_unit,
            .unit_count = at.unit_count,
            .frozen_count = at.frozen_count};
}

void put_window(abi_eu::Params& at, const TileWindow& window, std::uint32_t zeroed) noexcept {
    at.first_tile = window.first_tile;
    at.tile_count = window.tile_count;
    at.first_unit = window.first_unit;
    at.unit_count = window.unit_count;
    at.first_group = window.first_group;
    at.group_count = window.group_count;
    at.frozen_count = zeroed;
}

LinearGrid sum_grid(const EsUpdateDesc& desc, std::uint32_t rank, const abi_eu::Params& at) noexcept {
    constexpr std::uint64_t kEdge = abi_eu::kTileEdge;
    // Per pair and rank column the noise of both sides, or a group's share of it, and the products of a tile.
    const bool staged = desc.config->staged != 0;
    const std::uint64_t blocks = desc.config->tile_blocks;
    const std::uint64_t noise_cost = staged ? kNoiseBlockCost / 4 : (1 + blocks) * kNoiseBlockCost;
    const std::uint64_t pair_cost = rank * (noise_cost + blocks * kEdge * kEdge);
    const std::uint64_t tiles = staged ? std::uint64_t{at.group_count} * kGroupTiles : at.tile_count;
    return grid_of(tiles * at.slice_count, desc.config->workgroup_size, pair_cost * at.pairs_per_slice);
}

/// Windows of one pass.
struct WindowRecording {
    const EsUpdateDesc* desc;
    const EsUpdateKernels<BindingOf>* kernels;
    std::uint32_t rank;
    abi_eu::Params params;  // but for the window
};

/// `zeroed`: how many elements of frozen parameters, too.
void record_window(Recorder& recorder, const WindowRecording& of, const ShareExtent& extent, const TileWindow& window,
                   std::uint32_t zeroed) noexcept {
    const EsUpdateDesc& desc = *of.desc;
    abi_eu::Params at = of.params;
    put_window(at, window, zeroed);
    const bool sums = desc.output == EsUpdateOutput::Sums;
    const abi_us::Params share_at = share_params(at, extent);
    if (window.tile_count > 0 && at.slice_count > 0) {
        const LinearGrid grid = sum_grid(desc, of.rank, at);
        if (sums)
            recorder.dispatch(of.kernels->share_sum, share_at, grid);
        else
            recorder.dispatch(of.kernels->sum, at, grid);
        recorder.barrier(Barrier::ComputeToCompute);
    }
    const LinearGrid grid = grid_of(std::uint64_t{abi_eu::kTileEdge} * window.unit_count + zeroed,
                                    desc.config->workgroup_size, kCombineCost * at.slice_count);
    if (sums)
        recorder.dispatch(of.kernels->share_combine, share_at, grid);
    else
        recorder.dispatch(of.kernels->combine, at, grid);
}

}  // namespace

void record_es_update(Recorder& recorder, const BindingsOf<EsUpdateDesc>& bound, const EsUpdateDesc& desc,
                      const NoiseContext& when, OrDefault<EsUpdateShare> share) noexcept {
    const std::vector<EsUpdatePass>& passes = bound->made->passes;
    std::uint32_t zeroed = passes.front().layout.frozen_count;
    bool is_first = true;
    for (std::size_t i = 0; i < passes.size(); ++i) {
        const EsUpdatePass& pass = passes[i];
        const Result<ShareExtent> extent = extent_of(pass.layout, desc, share.value);
        if (!extent) return recorder.refuse(extent.error());
        if (!extent->has_frozen) zeroed = 0;
        WindowRecording of{.desc = &desc,
                           .kernels = &bound->passes[i].kernels,
                           .rank = pass.rank,
                           .params = params_at(pass, desc, when)};
        of.params.slice_count = ceil_div(extent->end_pair - extent->first_pair, of.params.pairs_per_slice);
        for (const TileWindow& window : bound->passes[i].windows) {
            const TileWindow part = part_of(pass.layout, window, extent->tiles);
            if (part.tile_count == 0) continue;
            // Windows share the scratch: the next one overwrites what the last one has added up.
            if (!std::exchange(is_first, false)) recorder.barrier(Barrier::ComputeToCompute);
            record_window(recorder, of, *extent, part, std::exchange(zeroed, 0));
        }
        const bool is_last = i + 1 == passes.size();
        if (is_last && is_first && zeroed > 0) record_window(recorder, of, *extent, {}, zeroed);
    }
}

}  // namespace yolk
