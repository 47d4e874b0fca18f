// SPDX-License-Identifier: Apache-2.0
#include "yolk/es_update.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "es_update_plan.hpp"
#include "es_update_slices.hpp"
#include "es_update_text.hpp"
#include "operation_plan.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/abi/es_update.h"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/shaders/catalogue.hpp"
#include "yolk/rollout.hpp"

namespace yolk {
namespace {

namespace abi_eu = abi::es_update;
namespace abi_us = abi::update_share;

/// More scratch than this is not asked for: windows of so many partial sums keep any device busy.
constexpr std::uint64_t kEnoughScratchBytes = std::uint64_t{128} << 20U;

Result<void> check_es_update(const EsUpdateDesc& desc) {
    if (desc.antithetic && desc.population % 2 != 0) {
        return bad_input("The population of [es_update] is " + std::to_string(desc.population) +
                         ", which is odd: members come in pairs. Give an even one, or turn antithetic sampling off.");
    }
    if (desc.parameters.parameters().empty()) {
        return bad_input("The parameter table of [es_update] is empty. Make it with ParameterTable::create.");
    }
    if (desc.output == EsUpdateOutput::Sums && desc.weights != FitnessWeights::I8) {
        return bad_input(
            "The output of [es_update] is sums and its weights are f32; sums are exact, and so of i8 weights only.");
    }
    return check_range(desc.rank, 1, kMaxRank, "rank of [es_update]");  // no matrix may have it
}

std::uint32_t largest_rank(const EsUpdateDesc& desc) { return rank_passes(desc.parameters, desc.rank).back().rank; }

/// One byte per pair, in whole words; or one float.
std::uint64_t weights_bytes(const EsUpdateDesc& desc) {
    const std::uint64_t pairs = pairs_of(desc);
    return desc.weights == FitnessWeights::I8 ? round_up(pairs, 4) : 4 * pairs;
}

/// What the plan and the layout decide of the parameters of both kernels.
Result<abi_eu::Params> fixed_params(const Device& device, const EsUpdateDesc& desc, const EsUpdatePass& pass) {
    const TileLayout& layout = pass.layout;
    YOLK_TRY(const std::uint64_t loops, loop_budget(device));
    YOLK_TRY(const Slices slices, choose_slices({.pair_count = pairs_of(desc),
                                                 .rank = pass.rank,
                                                 .wanted_pairs_per_slice = desc.config->pairs_per_slice,
                                                 .tile_blocks = layout.tile_blocks,
                                                 .staged = desc.config->staged != 0,
                                                 .integer_weights = desc.weights == FitnessWeights::I8,
                                                 .tile_bytes = kUnitBytes * layout.largest_tile,
                                                 .max_scratch_bytes = device.info().limits.max_storage_buffer_range,
                                                 .loop_budget = loops}));
    abi_eu::Params params{};
    params.pair_count = pairs_of(desc);
    params.pairs_per_slice = slices.pairs_per_slice;
    params.slice_count = slices.slice_count;
    params.parameter_count = static_cast<std::uint32_t>(layout.entries.size());
    return params;
}

/// Whether the slices of es_update_sum_staged, which are exact in floats, are not more than one combine should add up;
/// those of es_update_sum are longer.
bool fits_staged(const EsUpdateDesc& desc) {
    const std::uint64_t most = std::uint64_t{kExactProductsPerStagedSlice} * kEnoughSlices;
    return pairs_of(desc) * std::uint64_t{std::bit_ceil(largest_rank(desc))} <= most;
}

/// Groups of tiles that a dispatch has, of the pass that has most.
std::uint64_t most_groups(const EsUpdateDesc& desc) {
    std::uint64_t most = 0;
    for (const RankPass& pass : rank_passes(desc.parameters, desc.rank))
        most = std::max<std::uint64_t>(most, lay_out_tiles(desc.parameters, 1, pass).group_count);
    return most;
}

/// One invocation for each tile and slice fills no GPU with a policy's few tiles, so slices are short where groups are
/// few: 256 workgroups of 64, if the pairs allow. Longer slices write fewer partial sums. An H200 (driver 580.159),
/// 4,096 members: 65,536 elements with slices of 128 pairs 44 us, of 16 145; 450 elements with 32 pairs 15.5 us, with
/// 16 or 64 18.5.
EsUpdateConfig for_gpus(const EsUpdateDesc& desc) {
    constexpr std::uint64_t kEnoughGroups = 256;
    constexpr std::uint64_t kShortest = 32;
    constexpr std::uint64_t kLongest = kExactProductsPerStagedSlice;
    const std::uint64_t pairs = pairs_of(desc);
    if (!fits_staged(desc)) return {.workgroup_size = kGroupTiles};
    const std::uint64_t wanted = std::bit_floor(pairs * most_groups(desc) / kEnoughGroups);
    return {.workgroup_size = kGroupTiles,
            .pairs_per_slice = static_cast<std::uint32_t>(std::clamp(wanted, kShortest, kLongest)),
            .staged = 1};
}

// Of 256 x 256 by 4,096 members twice as many elements for each draw of A: lavapipe 22.3 1.3 to 1.5 times as fast,
// SwiftShader 1.2; rank 4 alike (2026-11-22). A policy's few elements want invocations more.
EsUpdateConfig es_update_heuristic(const DeviceInfo& info, const EsUpdateDesc& desc) {
    constexpr std::uint64_t kMany = 1U << 14U;
    if (info.kind != DeviceKind::Cpu) return for_gpus(desc);
    if (desc.parameters.element_count() < kMany) return {};
    return {.workgroup_size = 128, .tile_blocks = 2};
}

std::vector<Knob<EsUpdateConfig>> es_update_knobs(const DeviceInfo& /*info*/, const EsUpdateDesc& /*desc*/) {
    return {{"workgroup_size", &EsUpdateConfig::workgroup_size, workgroup_sizes()},
            {"pairs_per_slice",
             &EsUpdateConfig::pairs_per_slice,
             {1, 2, 3, 5, 7, 16, 24, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}},
            {"tile_blocks", &EsUpdateConfig::tile_blocks, {1, 2}},
            {"staged", &EsUpdateConfig::staged, {0, 1}}};
}

Result<void> legal_es_update(const DeviceInfo& /*info*/, const EsUpdateDesc& desc, const EsUpdateConfig& config) {
    if (config.staged == 0) return {};
    if (config.workgroup_size != kGroupTiles || config.tile_blocks != 1)
        return bad_input("staged is 1, which needs workgroup_size {} and tile_blocks 1.", kGroupTiles);
    if (fits_staged(desc)) return {};
    return bad_input(
        "staged is 1, which takes at most {} products of a pair and a column; {} pairs at rank {} are more.",
        std::uint64_t{kExactProductsPerStagedSlice} * kEnoughSlices, pairs_of(desc), largest_rank(desc));
}

ViewShape pair_weights_view(const EsUpdateDesc& desc) {
    return {.extents = {{"bytes", weights_bytes(desc)}}, .dtype = DType::I8};
}
bool makes_sums(const EsUpdateDesc& desc) { return desc.output == EsUpdateOutput::Sums; }
ViewShape update_summary_view(const EsUpdateDesc& desc) {
    return {.extents = {{"words", sizeof(abi::fitness::Summary) / kElementBytes}},
            .dtype = DType::U32,
            .used = !makes_sums(desc)};
}
ViewShape update_gradient_view(const EsUpdateDesc& desc) {
    return {.extents = {{"elements", desc.parameters.element_count()}}, .used = !makes_sums(desc)};
}
ViewShape update_sums_view(const EsUpdateDesc& desc) {
    return {.extents = {{"elements", desc.parameters.element_count()}, {"words", 2}},
            .dtype = DType::U32,
            .used = makes_sums(desc)};
}

/// Of a gradient.
Result<void> make_pipelines(const Device& device, const EsUpdateDesc& desc, EsUpdatePass& made) {
    const bool integer = desc.weights == FitnessWeights::I8;
    const auto& narrow = integer ? kernels::kEsUpdateSumI8 : kernels::kEsUpdateSumF32;
    const auto& wide = integer ? kernels::kEsUpdateSumWideI8 : kernels::kEsUpdateSumWideF32;
    const auto& staged = integer ? kernels::kEsUpdateSumStagedI8 : kernels::kEsUpdateSumStagedF32;
    const auto& sum = desc.config->staged != 0 ? staged : desc.config->tile_blocks == 1 ? narrow : wide;
    const SpecConstant workgroup_size{abi_eu::kSpecWorkgroupSize, desc.config->workgroup_size};
    YOLK_TRY(made.kernels.sum,
             device.pipeline(sum, std::array{workgroup_size, SpecConstant{abi_eu::kSpecRank, made.rank}}));
    YOLK_TRY(
        made.kernels.combine,
        device.pipeline(integer ? kernels::kEsUpdateCombineI8 : kernels::kEsUpdateCombineF32,
                        std::array{workgroup_size, SpecConstant{abi_eu::kSpecTileBlocks, desc.config->tile_blocks}}));
    return {};
}

/// Of sums.
Result<void> make_share_pipelines(const Device& device, const EsUpdateDesc& desc, EsUpdatePass& made) {
    const auto& sum = desc.config->staged != 0        ? kernels::kUpdateShareSumStaged
                      : desc.config->tile_blocks == 1 ? kernels::kUpdateShareSum
                                                      : kernels::kUpdateShareSumWide;
    const SpecConstant workgroup_size{abi_us::kSpecWorkgroupSize, desc.config->workgroup_size};
    YOLK_TRY(made.kernels.share_sum,
             device.pipeline(sum, std::array{workgroup_size, SpecConstant{abi_us::kSpecRank, made.rank}}));
    YOLK_TRY(
        made.kernels.share_combine,
        device.pipeline(kernels::kUpdateShareCombine,
                        std::array{workgroup_size, SpecConstant{abi_us::kSpecTileBlocks, desc.config->tile_blocks}}));
    return {};
}

MemoryNeeds partial_sums(const Device& device, const EsUpdatePipelines& made) {
    std::uint64_t all = 0;
    std::uint64_t least = 0;
    for (const EsUpdatePass& pass : made.passes) {
        all = std::max(all, pass.unit_bytes() * pass.layout.unit_count);
        least = std::max(least, pass.unit_bytes() * pass.layout.largest_tile);
    }
    const std::uint64_t enough = std::min(kEnoughScratchBytes, device.info().limits.max_storage_buffer_range);
    return {.size_bytes = std::min(all, std::max(least, enough)), .least_bytes = least};
}

/// The tables of all passes, in one buffer.
Result<void> upload_entries(const Device& device, EsUpdatePipelines& made) {
    const auto bytes_of = [](const EsUpdatePass& pass) { return std::as_bytes(std::span(pass.layout.entries)); };
    const std::uint64_t stride = round_up(bytes_of(made.passes.front()).size(), kViewAlignment);
    const std::uint64_t all = stride * (made.passes.size() - 1) + bytes_of(made.passes.back()).size();
    YOLK_TRY(made.entries, device.create_buffer({.size_bytes = all, .label = "parameters of [es_update]"}));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    std::uint64_t offset = 0;
    for (EsUpdatePass& pass : made.passes) {
        pass.entries = {made.entries, offset, bytes_of(pass).size()};
        YOLK_TRY_VOID(dispatcher.upload(pass.entries, bytes_of(pass)));
        offset += stride;
    }
    return {};
}

Result<PipelinesOf<EsUpdateDesc>> build_es_update(const Device& device, const EsUpdateDesc& desc) {
    auto made = std::make_shared<EsUpdatePipelines>();
    for (const RankPass& of : rank_passes(desc.parameters, desc.rank)) {
        EsUpdatePass& pass = made->passes.emplace_back();
        pass.rank = of.rank;
        pass.layout = lay_out_tiles(desc.parameters, desc.config->tile_blocks, of);
        YOLK_TRY(pass.params, fixed_params(device, desc, pass));
        YOLK_TRY_VOID((makes_sums(desc) ? make_share_pipelines : make_pipelines)(device, desc, pass));
    }
    YOLK_TRY_VOID(upload_entries(device, *made));
    made->scratch = partial_sums(device, *made);
    return PipelinesOf<EsUpdateDesc>(std::move(made));
}

MemoryNeeds es_update_scratch(const EsUpdateDesc& /*desc*/, const PipelinesOf<EsUpdateDesc>& made) {
    return made->scratch;
}

Result<BindingsOf<EsUpdateDesc>> bind_es_update(const Device& device, const EsUpdateDesc& desc,
                                                const PipelinesOf<EsUpdateDesc>& made, const EsUpdateViews& views,
                                                const BufferView& scratch) {
    auto bound = std::make_shared<EsUpdateBindings>();
    bound->made = made;
    // Where every parameter is frozen there are no partial sums, and a binding must hold something.
    const BufferView& out = makes_sums(desc) ? views.sums : views.gradient;
    const BufferView partials = made->scratch.size_bytes == 0 ? out : scratch;
    for (const EsUpdatePass& pass : made->passes) {
        auto& [windows, kernels] = bound->passes.emplace_back();
        windows = pass.windows(made->usable(scratch.size_bytes));
        if (makes_sums(desc)) {
            const std::array<BufferView, abi_us::kBindingCount> all{views.weights, pass.entries, partials, out};
            YOLK_TRY(kernels.share_sum, device.bind(pass.kernels.share_sum, all));
            YOLK_TRY(kernels.share_combine, device.bind(pass.kernels.share_combine, all));
        } else {
            const std::array<BufferView, abi_eu::kBindingCount> all{views.weights, views.summary, pass.entries,
                                                                    partials, out};
            YOLK_TRY(kernels.sum, device.bind(pass.kernels.sum, all));
            YOLK_TRY(kernels.combine, device.bind(pass.kernels.combine, all));
        }
    }
    return BindingsOf<EsUpdateDesc>(std::move(bound));
}

/// There is always a result, as a gradient or as sums, so no call is empty.
bool is_never_empty(const EsUpdateDesc& /*desc*/) { return false; }

}  // namespace

std::uint64_t es_update_dispatches(const EsUpdatePlan& plan, std::uint64_t scratch_bytes) {
    const EsUpdatePipelines& made = *plan.pipelines();
    std::uint64_t windows = 0;
    for (const EsUpdatePass& pass : made.passes) windows += pass.windows(made.usable(scratch_bytes)).size();
    return std::max<std::uint64_t>(1, 2 * windows);
}

template <>
const Operation<EsUpdateDesc>& operation_of<EsUpdateDesc>() {
    using Desc = EsUpdateDesc;
    using Views = EsUpdateViews;
    static const Operation<Desc> kOperation{
        .name = "es_update",
        .fields = es_update_fields(),
        .views = {{"weights", ViewRole::Input, &Views::weights, &pair_weights_view},
                  {"summary", ViewRole::Input, &Views::summary, &update_summary_view},
                  {"gradient", ViewRole::Output, &Views::gradient, &update_gradient_view},
                  {"sums", ViewRole::Output, &Views::sums, &update_sums_view}},
        .knobs = &es_update_knobs,
        .legal = &legal_es_update,
        .heuristic = &es_update_heuristic,
        .check = &check_es_update,
        .is_empty = &is_never_empty,
        .build = &build_es_update,
        .scratch = &es_update_scratch,
        .bind = &bind_es_update,
        .record = &record_es_update,
    };
    return kOperation;
}
template class Plan<EsUpdateDesc>;

}  // namespace yolk
