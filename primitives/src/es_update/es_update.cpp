// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/es_update.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "es_update_slices.hpp"
#include "es_update_tiles.hpp"
#include "operation_plan.hpp"
#include "yolk/abi/es_update.h"
#include "yolk/core/noise.hpp"
#include "yolk/core/shape.hpp"
#include "yolk/primitives/rollout.hpp"
#include "yolk/runtime/dispatcher.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_eu = abi::es_update;

constexpr std::uint64_t kCombineCost = 8;  ///< of one partial sum, added up
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
    return {};
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
    return pairs_of(desc) * std::uint64_t{std::bit_ceil(desc.rank)} <= most;
}

/// One invocation for each tile and slice fills no GPU with a policy's few tiles, so slices are short where groups are
/// few: 2,048 workgroups of 64, if the pairs allow. Longer slices write fewer partial sums.
EsUpdateConfig for_gpus(const EsUpdateDesc& desc) {
    constexpr std::uint64_t kEnoughGroups = 2048;
    constexpr std::uint64_t kShortest = 16;
    constexpr std::uint64_t kLongest = kExactProductsPerStagedSlice;
    const std::uint64_t pairs = pairs_of(desc);
    if (!fits_staged(desc)) return {.workgroup_size = kGroupTiles};
    const std::uint64_t groups = lay_out_tiles(desc.parameters, 1).group_count;
    const std::uint64_t wanted = std::bit_floor(pairs * groups / kEnoughGroups);
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
        std::uint64_t{kExactProductsPerStagedSlice} * kEnoughSlices, pairs_of(desc), desc.rank);
}

ViewShape pair_weights_view(const EsUpdateDesc& desc) {
    return {.extents = {{"bytes", weights_bytes(desc)}}, .dtype = DType::I8};
}
ViewShape update_summary_view(const EsUpdateDesc& /*desc*/) {
    return {.extents = {{"words", sizeof(abi::fitness::Summary) / kElementBytes}}, .dtype = DType::U32};
}
ViewShape update_gradient_view(const EsUpdateDesc& desc) { return {{{"elements", desc.parameters.element_count()}}}; }

}  // namespace

struct EsUpdatePipelines {
    TileLayout layout;
    abi_eu::Params params{};  ///< all but what a generation and a window decide
    std::shared_ptr<const Buffer> entries;
    PipelineOf<abi_eu::Params> sum;
    PipelineOf<abi_eu::Params> combine;
    MemoryNeeds scratch{};

    /// Of one unit, in all slices.
    [[nodiscard]] std::uint64_t unit_bytes() const noexcept { return kUnitBytes * params.slice_count; }
    [[nodiscard]] std::vector<TileWindow> windows(std::uint64_t scratch_bytes) const {
        if (layout.tile_count == 0) return {};
        return cut_tiles(layout, std::min(scratch_bytes, scratch.size_bytes) / unit_bytes());
    }
};

struct EsUpdateBindings {
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

namespace {

Result<void> make_pipelines(const Device& device, const EsUpdateDesc& desc, EsUpdatePipelines& made) {
    const bool integer = desc.weights == FitnessWeights::I8;
    const auto& narrow = integer ? kernels::kEsUpdateSumI8 : kernels::kEsUpdateSumF32;
    const auto& wide = integer ? kernels::kEsUpdateSumWideI8 : kernels::kEsUpdateSumWideF32;
    const auto& staged = integer ? kernels::kEsUpdateSumStagedI8 : kernels::kEsUpdateSumStagedF32;
    const auto& sum = desc.config->staged != 0 ? staged : desc.config->tile_blocks == 1 ? narrow : wide;
    const SpecConstant workgroup_size{abi_eu::kSpecWorkgroupSize, desc.config->workgroup_size};
    YOLK_TRY(made.sum, device.pipeline(sum, std::array{workgroup_size, SpecConstant{abi_eu::kSpecRank, desc.rank}}));
    YOLK_TRY(
        made.combine,
        device.pipeline(integer ? kernels::kEsUpdateCombineI8 : kernels::kEsUpdateCombineF32,
                        std::array{workgroup_size, SpecConstant{abi_eu::kSpecTileBlocks, desc.config->tile_blocks}}));
    return {};
}

MemoryNeeds partial_sums(const Device& device, const EsUpdatePipelines& made) {
    const std::uint64_t all = made.unit_bytes() * made.layout.unit_count;
    const std::uint64_t least = made.unit_bytes() * made.layout.largest_tile;
    const std::uint64_t enough = std::min(kEnoughScratchBytes, device.info().limits.max_storage_buffer_range);
    return {.size_bytes = std::min(all, std::max(least, enough)), .least_bytes = least};
}

Result<PipelinesOf<EsUpdateDesc>> build_es_update(const Device& device, const EsUpdateDesc& desc) {
    auto made = std::make_shared<EsUpdatePipelines>();
    made->layout = lay_out_tiles(desc.parameters, desc.config->tile_blocks);
    YOLK_TRY(made->params, fixed_params(device, desc, made->layout));
    const auto bytes = std::as_bytes(std::span(made->layout.entries));
    YOLK_TRY(Buffer entries, device.create_buffer({.size_bytes = bytes.size(), .label = "parameters of [es_update]"}));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    YOLK_TRY_VOID(dispatcher.upload(entries, bytes));
    made->entries = std::make_shared<const Buffer>(std::move(entries));
    YOLK_TRY_VOID(make_pipelines(device, desc, *made));
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
    bound->config = *desc.config;
    bound->population = desc.population;
    bound->rank = desc.rank;
    bound->frozen_count = made->layout.frozen_count;
    bound->windows = made->windows(scratch.size_bytes);
    bound->params = made->params;
    bound->entries = made->entries;
    // Where every parameter is frozen there are no partial sums, and a binding must hold something.
    const BufferView partials = made->scratch.size_bytes == 0 ? views.gradient : scratch;
    const std::array<BufferView, abi_eu::kBindingCount> all{views.weights, views.summary, *made->entries, partials,
                                                            views.gradient};
    YOLK_TRY(bound->sum, device.bind(made->sum, all));
    YOLK_TRY(bound->combine, device.bind(made->combine, all));
    return BindingsOf<EsUpdateDesc>(std::move(bound));
}

void record_es_update(Recorder& recorder, const BindingsOf<EsUpdateDesc>& bound, const EsUpdateDesc& /*desc*/,
                      const NoiseContext& when) noexcept {
    const abi_eu::Params params = bound->params_at(when);
    if (bound->windows.empty()) bound->record_window(recorder, params, {}, bound->frozen_count);
    for (std::size_t i = 0; i < bound->windows.size(); ++i) {
        // Windows share the scratch: the next one overwrites what the last one has added up.
        if (i > 0) recorder.barrier(Barrier::ComputeToCompute);
        bound->record_window(recorder, params, bound->windows[i], i == 0 ? bound->frozen_count : 0);
    }
}

/// Parameters of so many elements: CartPole's policy where some width has them, else one matrix of so many rows; 0
/// rows: as square as can be.
Result<ParameterTable> parameters_of(std::uint32_t elements, std::uint32_t rows) {
    constexpr std::uint32_t kWidest = 256;
    if (rows == 0 && elements > 2 && (elements - 2) % 7 == 0 && (elements - 2) / 7 <= kWidest) {
        const PolicyNetwork policy{.widths = {4, (elements - 2) / 7, 2}};
        return ParameterTable::create(policy.parameters());
    }
    if (rows == 0) {
        rows = static_cast<std::uint32_t>(std::sqrt(static_cast<double>(elements)));
        while (rows > 1 && elements % rows != 0) --rows;
    }
    if (rows == 0 || elements % rows != 0) return bad_input("No matrix has these elements.");
    return ParameterTable::create({{.name = "w", .rows = rows, .columns = elements / rows}});
}

std::string print_elements(const EsUpdateDesc& desc) { return std::to_string(desc.parameters.element_count()); }
bool parse_elements(EsUpdateDesc& desc, std::string_view text) {
    std::uint32_t elements = 0;
    if (!detail::parse_number(text, elements)) return false;
    Result<ParameterTable> table = parameters_of(elements, 0);
    if (table) desc.parameters = *std::move(table);
    return table.has_value();
}

/// 0: the table that `elements` alone gives, and tables of which no text tells.
std::string print_rows(const EsUpdateDesc& desc) {
    const auto parameters = desc.parameters.parameters();
    if (parameters.size() != 1 || parameters[0].perturbation != Perturbation::LowRank) return "0";
    const Result<ParameterTable> square = parameters_of(desc.parameters.element_count(), 0);
    const bool is_that =
        square && square->parameters().size() == 1 && square->parameters()[0].rows == parameters[0].rows;
    return is_that ? "0" : std::to_string(parameters[0].rows);
}
bool parse_rows(EsUpdateDesc& desc, std::string_view text) {
    std::uint32_t rows = 0;
    if (!detail::parse_number(text, rows)) return false;
    if (rows == 0) return true;
    Result<ParameterTable> table = parameters_of(desc.parameters.element_count(), rows);
    if (table) desc.parameters = *std::move(table);
    return table.has_value();
}

Fields<EsUpdateDesc> es_update_fields() {
    using Desc = EsUpdateDesc;
    return {"es_update",
            {Field<Desc>{.info = {.name = "elements",
                                  .role = FieldRole::Extent,
                                  .allowed = "a number from 1 to 2147483647, of all parameters",
                                  .fallback = "450"},
                         .print = &print_elements,
                         .parse = &parse_elements},
             extent<&Desc::population>("population").from(2), extent<&Desc::rank>("rank").from(1, kMaxRank),
             Field<Desc>{.info = {.name = "rows",
                                  .role = FieldRole::Neither,
                                  .allowed = "0, or a divisor of elements: of the one matrix that they are",
                                  .fallback = "0"},
                         .print = &print_rows,
                         .parse = &parse_rows},
             variant<&Desc::weights>("weights"), variant<&Desc::antithetic>("pairs")}};
}

}  // namespace

abi_eu::Params EsUpdateBindings::params_at(const NoiseContext& when) const noexcept {
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

void EsUpdateBindings::record_window(Recorder& recorder, abi_eu::Params at, const TileWindow& window,
                                     std::uint32_t zeroed) const noexcept {
    constexpr std::uint64_t kEdge = abi::es_update::kTileEdge;
    at.first_tile = window.first_tile;
    at.tile_count = window.tile_count;
    at.first_unit = window.first_unit;
    at.unit_count = window.unit_count;
    at.first_group = window.first_group;
    at.group_count = window.group_count;
    at.frozen_count = zeroed;
    if (window.tile_count > 0) {
        // Per pair and rank column the noise of both sides, or a group's share of it, and the products of a tile.
        const bool staged = config.staged != 0;
        const std::uint64_t blocks = config.tile_blocks;
        const std::uint64_t noise_cost = staged ? kNoiseBlockCost / 4 : (1 + blocks) * kNoiseBlockCost;
        const std::uint64_t pair_cost = rank * (noise_cost + blocks * kEdge * kEdge);
        const std::uint64_t tiles = staged ? std::uint64_t{window.group_count} * kGroupTiles : window.tile_count;
        const std::uint64_t invocations = tiles * at.slice_count;
        recorder.dispatch(sum, at, grid_of(invocations, config.workgroup_size, pair_cost * at.pairs_per_slice));
        recorder.barrier(Barrier::ComputeToCompute);
    }
    recorder.dispatch(
        combine, at, grid_of(kEdge * window.unit_count + zeroed, config.workgroup_size, kCombineCost * at.slice_count));
}

std::uint64_t es_update_dispatches(const EsUpdatePlan& plan, std::uint64_t scratch_bytes) {
    return std::max<std::uint64_t>(1, 2 * plan.pipelines()->windows(scratch_bytes).size());
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
                  {"gradient", ViewRole::Output, &Views::gradient, &update_gradient_view}},
        .knobs = &es_update_knobs,
        .legal = &legal_es_update,
        .heuristic = &es_update_heuristic,
        .check = &check_es_update,
        .build = &build_es_update,
        .scratch = &es_update_scratch,
        .bind = &bind_es_update,
        .record = &record_es_update,
    };
    return kOperation;
}
template class Plan<EsUpdateDesc>;

}  // namespace yolk
