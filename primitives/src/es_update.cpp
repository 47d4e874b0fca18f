// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/es_update.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "es_update_slices.hpp"
#include "es_update_tiles.hpp"
#include "plan_checks.hpp"
#include "tuned_plan.hpp"
#include "yolk/abi/es_update.h"
#include "yolk/core/noise.hpp"
#include "yolk/core/shape.hpp"
#include "yolk/runtime/dispatcher.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_eu = abi::es_update;

constexpr std::uint64_t kCombineCost = 8;  ///< of one partial sum, added up
/// More scratch than this is not asked for: windows of so many partial sums keep any device busy.
constexpr std::uint64_t kEnoughScratchBytes = std::uint64_t{128} << 20U;

Result<void> check_es_update(const Device& device, const EsUpdateDesc& desc) {
    YOLK_TRY_VOID(es_update_space(device.info(), desc).check(*desc.config));
    YOLK_TRY_VOID(check_range(desc.rank, 1, kMaxRank, "rank of [es_update]"));
    YOLK_TRY_VOID(check_range(desc.population, 2, UINT32_MAX, "population of [es_update]"));
    if (desc.antithetic && desc.population % 2 != 0) {
        return bad_input("The population of [es_update] is " + std::to_string(desc.population) +
                         ", which is odd: members come in pairs. Give an even one, or turn antithetic sampling off.");
    }
    if (desc.parameters.parameters().empty()) {
        return bad_input("The parameter table of [es_update] is empty. Make it with ParameterTable::create.");
    }
    return check_binding_size(device, desc.parameters.size_bytes(), "the gradient of [es_update]");
}

/// Without antithetic sampling every member is a pair of its own.
std::uint32_t pairs_of(const EsUpdateDesc& desc) { return desc.antithetic ? desc.population / 2 : desc.population; }

/// One byte per pair, in whole words; or one float.
std::uint64_t weights_bytes(const EsUpdateDesc& desc) {
    const std::uint64_t pairs = pairs_of(desc);
    return desc.weights == FitnessWeights::I8 ? round_up(pairs, 4) : 4 * pairs;
}

/// What the plan and the layout decide of the parameters of both kernels.
Result<abi_eu::Params> fixed_params(const Device& device, const EsUpdateDesc& desc, const TileLayout& layout) {
    YOLK_TRY(const std::uint64_t loops, loop_budget(device));
    YOLK_TRY(const Slices slices, choose_slices({.pair_count = pairs_of(desc),
                                                 .rank = desc.rank,
                                                 .wanted_pairs_per_slice = desc.config->pairs_per_slice,
                                                 .tile_blocks = layout.tile_blocks,
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

}  // namespace

struct EsUpdatePlan::Impl {
    const Device* device = nullptr;
    EsUpdateDesc desc;
    TileLayout layout;
    abi_eu::Params params{};  ///< all but what a generation and a window decide
    std::shared_ptr<const Buffer> entries;
    PipelineOf<abi_eu::Params> sum;
    PipelineOf<abi_eu::Params> combine;

    Result<void> make_pipelines();
    /// Of one unit, in all slices.
    [[nodiscard]] std::uint64_t unit_bytes() const noexcept { return kUnitBytes * params.slice_count; }
    [[nodiscard]] MemoryNeeds scratch() const noexcept {
        const std::uint64_t all = unit_bytes() * layout.unit_count;
        const std::uint64_t least = unit_bytes() * layout.largest_tile;
        const std::uint64_t enough = std::min(kEnoughScratchBytes, device->info().limits.max_storage_buffer_range);
        return {.size_bytes = std::min(all, std::max(least, enough)), .least_bytes = least};
    }
    [[nodiscard]] std::vector<TileWindow> windows(std::uint64_t scratch_bytes) const {
        if (layout.tile_count == 0) return {};
        return cut_tiles(layout, std::min(scratch_bytes, scratch().size_bytes) / unit_bytes());
    }
};

struct BoundEsUpdate::Impl {
    EsUpdateConfig config;
    std::uint32_t population = 0;
    std::uint32_t rank = 1;
    std::uint32_t frozen_count = 0;
    abi_eu::Params params{};
    std::vector<TileWindow> windows;
    std::shared_ptr<const Buffer> entries;  // kept alive for the bindings
    BindingOf<abi_eu::Params> sum;
    BindingOf<abi_eu::Params> combine;

    [[nodiscard]] abi_eu::Params params_at(const NoiseContext& when) const noexcept;
    /// `zeroed`: how many elements of frozen parameters, too.
    void record_window(Recorder& recorder, abi_eu::Params at, const TileWindow& window,
                       std::uint32_t zeroed) const noexcept;
};

EsUpdatePlan::EsUpdatePlan() noexcept = default;
EsUpdatePlan::~EsUpdatePlan() = default;
EsUpdatePlan::EsUpdatePlan(EsUpdatePlan&&) noexcept = default;
EsUpdatePlan& EsUpdatePlan::operator=(EsUpdatePlan&&) noexcept = default;
BoundEsUpdate::BoundEsUpdate() noexcept = default;
BoundEsUpdate::~BoundEsUpdate() = default;
BoundEsUpdate::BoundEsUpdate(BoundEsUpdate&&) noexcept = default;
BoundEsUpdate& BoundEsUpdate::operator=(BoundEsUpdate&&) noexcept = default;

Result<void> EsUpdatePlan::Impl::make_pipelines() {
    const bool integer = desc.weights == FitnessWeights::I8;
    const auto& narrow = integer ? kernels::kEsUpdateSumI8 : kernels::kEsUpdateSumF32;
    const auto& wide = integer ? kernels::kEsUpdateSumWideI8 : kernels::kEsUpdateSumWideF32;
    const SpecConstant workgroup_size{abi::es_update::kSpecWorkgroupSize, desc.config->workgroup_size};
    YOLK_TRY(sum, device->pipeline(desc.config->tile_blocks == 1 ? narrow : wide,
                                   std::array{workgroup_size, SpecConstant{abi::es_update::kSpecRank, desc.rank}}));
    YOLK_TRY(combine, device->pipeline(integer ? kernels::kEsUpdateCombineI8 : kernels::kEsUpdateCombineF32,
                                       std::array{workgroup_size, SpecConstant{abi::es_update::kSpecTileBlocks,
                                                                               desc.config->tile_blocks}}));
    return {};
}

MemoryNeeds EsUpdatePlan::scratch() const noexcept { return impl_->scratch(); }

std::uint64_t EsUpdatePlan::dispatch_count(std::uint64_t scratch_bytes) const {
    return std::max<std::uint64_t>(1, 2 * impl_->windows(scratch_bytes).size());
}

ConfigSpace<EsUpdateConfig> es_update_space(const DeviceInfo& /*info*/, const EsUpdateDesc& desc) {
    return {"es_update",
            {{"workgroup_size", &EsUpdateConfig::workgroup_size, workgroup_sizes()},
             {"pairs_per_slice",
              &EsUpdateConfig::pairs_per_slice,
              {1, 2, 3, 5, 7, 16, 24, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}},
             {"tile_blocks", &EsUpdateConfig::tile_blocks, {1, 2}}},
            {},
            {.variant =
                 fmt::format("{}{}", desc.weights == FitnessWeights::I8 ? "i8" : "f32", without_pairs(desc.antithetic)),
             .extents = {desc.parameters.element_count(), desc.population, desc.rank}}};
}

// Of 256 x 256 by 4,096 members twice as many elements for each draw of A: lavapipe 22.3 1.3 to 1.5 times as fast,
// SwiftShader 1.2; rank 4 alike (2026-11-22). A policy's few elements want invocations more.
EsUpdateConfig default_es_update_config(const DeviceInfo& info, const EsUpdateDesc& desc) {
    constexpr std::uint64_t kMany = 1U << 14U;
    if (info.kind != DeviceKind::Cpu || desc.parameters.element_count() < kMany) return {};
    return {.workgroup_size = 128, .tile_blocks = 2};
}

Result<EsUpdatePlan> plan_es_update(const Device& device, const EsUpdateDesc& desc) {
    if (!desc.config)
        return plan_tuned(device, desc, es_update_space(device.info(), desc),
                          default_es_update_config(device.info(), desc), &plan_es_update);
    YOLK_TRY_VOID(check_es_update(device, desc));
    auto impl = std::make_unique<EsUpdatePlan::Impl>();
    impl->device = &device;
    impl->desc = desc;
    impl->layout = lay_out_tiles(desc.parameters, desc.config->tile_blocks);
    YOLK_TRY(impl->params, fixed_params(device, desc, impl->layout));
    const auto bytes = std::as_bytes(std::span(impl->layout.entries));
    YOLK_TRY(Buffer entries, device.create_buffer({.size_bytes = bytes.size(), .label = "parameters of [es_update]"}));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    YOLK_TRY_VOID(dispatcher.upload(entries, bytes));
    impl->entries = std::make_shared<const Buffer>(std::move(entries));
    YOLK_TRY_VOID(impl->make_pipelines());
    EsUpdatePlan plan;
    plan.impl_ = std::move(impl);
    return plan;
}

Result<BoundEsUpdate> EsUpdatePlan::bind(const EsUpdateViews& views, const BufferView& scratch) const {
    const MemoryNeeds needs = impl_->scratch();
    YOLK_TRY_VOID(check_views(
        *impl_->device, "[es_update]",
        {{views.weights, weights_bytes(impl_->desc), "weights"},
         {views.summary, sizeof(abi::fitness::Summary), "summary"}},
        {{views.gradient, impl_->desc.parameters.size_bytes(), "gradient"}, {scratch, needs.least(), "scratch"}}));
    auto bound = std::make_unique<BoundEsUpdate::Impl>();
    bound->config = *impl_->desc.config;
    bound->population = impl_->desc.population;
    bound->rank = impl_->desc.rank;
    bound->frozen_count = impl_->layout.frozen_count;
    bound->windows = impl_->windows(scratch.size_bytes);
    bound->params = impl_->params;
    bound->entries = impl_->entries;
    // Where every parameter is frozen there are no partial sums, and a binding must hold something.
    const BufferView partials = needs.size_bytes == 0 ? views.gradient : scratch;
    const std::array<BufferView, abi::es_update::kBindingCount> all{views.weights, views.summary, *impl_->entries,
                                                                    partials, views.gradient};
    YOLK_TRY(bound->sum, impl_->device->bind(impl_->sum, all));
    YOLK_TRY(bound->combine, impl_->device->bind(impl_->combine, all));
    BoundEsUpdate result;
    result.impl_ = std::move(bound);
    return result;
}

abi_eu::Params BoundEsUpdate::Impl::params_at(const NoiseContext& when) const noexcept {
    abi_eu::Params at = params;
    at.seed_low = static_cast<std::uint32_t>(when.seed);
    at.seed_high = static_cast<std::uint32_t>(when.seed >> 32U);
    at.time = when.time;
    // Divisions and square roots of double are correctly rounded, so every host gives the same two factors.
    const double members = population;
    const double scale = std::sqrt(members) / members * static_cast<double>(when.sigma);
    at.matrix_factor = static_cast<float>(scale / std::sqrt(static_cast<double>(rank)) / kNoiseVariance);
    at.vector_factor = static_cast<float>(scale / std::sqrt(static_cast<double>(kNoiseVariance)));
    return at;
}

void BoundEsUpdate::Impl::record_window(Recorder& recorder, abi_eu::Params at, const TileWindow& window,
                                        std::uint32_t zeroed) const noexcept {
    constexpr std::uint64_t kEdge = abi::es_update::kTileEdge;
    at.first_tile = window.first_tile;
    at.tile_count = window.tile_count;
    at.first_unit = window.first_unit;
    at.unit_count = window.unit_count;
    at.frozen_count = zeroed;
    if (window.tile_count > 0) {
        // Per pair and rank column the noise of both sides and the products of a tile.
        const std::uint64_t blocks = config.tile_blocks;
        const std::uint64_t pair_cost = rank * ((1 + blocks) * kNoiseBlockCost + blocks * kEdge * kEdge);
        const std::uint64_t invocations = std::uint64_t{window.tile_count} * at.slice_count;
        recorder.dispatch(sum, at, grid_of(invocations, config.workgroup_size, pair_cost * at.pairs_per_slice));
        recorder.barrier(Barrier::ComputeToCompute);
    }
    recorder.dispatch(
        combine, at, grid_of(kEdge * window.unit_count + zeroed, config.workgroup_size, kCombineCost * at.slice_count));
}

void BoundEsUpdate::record(Recorder& recorder, const NoiseContext& when) const noexcept {
    const abi_eu::Params params = impl_->params_at(when);
    const ScopedLabel label(recorder, "es_update");
    if (impl_->windows.empty()) impl_->record_window(recorder, params, {}, impl_->frozen_count);
    for (std::size_t i = 0; i < impl_->windows.size(); ++i) {
        // Windows share the scratch: the next one overwrites what the last one has added up.
        if (i > 0) recorder.barrier(Barrier::ComputeToCompute);
        impl_->record_window(recorder, params, impl_->windows[i], i == 0 ? impl_->frozen_count : 0);
    }
}

}  // namespace yolk
