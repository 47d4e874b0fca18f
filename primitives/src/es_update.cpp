// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/es_update.hpp"

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "es_update_slices.hpp"
#include "plan_checks.hpp"
#include "yolk/abi/es_update.h"
#include "yolk/core/noise.hpp"
#include "yolk/core/shape.hpp"
#include "yolk/runtime/dispatcher.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {
namespace {

using abi::es_update::ParameterEntry;
using abi::es_update::Params;

constexpr std::uint32_t kMaxRank = 32;
constexpr std::uint64_t kCombineCost = 8;  ///< of one partial sum, added up

struct Layout {
    std::vector<ParameterEntry> entries;
    std::uint64_t tile_count = 0;
    std::uint32_t partial_count = 0;
};

std::uint64_t tiles_of(const ParameterDesc& parameter) {
    constexpr std::uint64_t kEdge = abi::es_update::kTileEdge;
    if (parameter.perturbation == Perturbation::Frozen) return 0;
    if (parameter.perturbation == Perturbation::Vector) {
        return ceil_div(std::uint64_t{parameter.rows} * parameter.columns, kEdge);
    }
    return ceil_div<std::uint64_t>(parameter.rows, kEdge) * ceil_div<std::uint64_t>(parameter.columns, kEdge);
}

std::uint32_t kind_of(Perturbation perturbation) {
    if (perturbation == Perturbation::Frozen) return abi::es_update::kKindFrozen;
    return perturbation == Perturbation::Vector ? abi::es_update::kKindVector : abi::es_update::kKindMatrix;
}

Layout lay_out(const ParameterTable& table) {
    Layout layout;
    for (std::uint32_t id = 0; id < table.parameters().size(); ++id) {
        const ParameterDesc& parameter = table.parameters()[id];
        const bool is_vector = parameter.perturbation == Perturbation::Vector;
        layout.entries.push_back({.kind = kind_of(parameter.perturbation),
                                  .rows = is_vector ? parameter.rows * parameter.columns : parameter.rows,
                                  .columns = is_vector ? 1 : parameter.columns,
                                  .offset = table.offset(ParameterId{id}),
                                  .partial_offset = layout.partial_count,
                                  .first_tile = static_cast<std::uint32_t>(layout.tile_count)});
        layout.tile_count += tiles_of(parameter);
        if (parameter.perturbation != Perturbation::Frozen) layout.partial_count += parameter.rows * parameter.columns;
    }
    return layout;
}

Result<void> validate(const Device& device, const EsUpdateDesc& desc) {
    YOLK_TRY_VOID(check_range(desc.config.workgroup_size, 1, kMaxWorkgroupSize, "workgroup_size of [es_update]"));
    YOLK_TRY_VOID(
        check_range(desc.config.pairs_per_slice, 1, kExactProductsPerSlice, "pairs_per_slice of [es_update]"));
    YOLK_TRY_VOID(check_range(desc.rank, 1, kMaxRank, "rank of [es_update]"));
    YOLK_TRY_VOID(check_range(desc.population, 2, UINT32_MAX, "population of [es_update]"));
    if (desc.population % 2 != 0) {
        return bad_input("The population of [es_update] is " + std::to_string(desc.population) +
                         ", which is odd: members come in pairs. Give an even one.");
    }
    if (desc.parameters.parameters().empty()) {
        return bad_input("The parameter table of [es_update] is empty. Make it with ParameterTable::create.");
    }
    return check_binding_size(device, desc.parameters.size_bytes(), "the gradient of [es_update]");
}

/// One byte per pair, in whole words; or one float.
std::uint64_t weights_bytes(const EsUpdateDesc& desc) {
    const std::uint64_t pairs = desc.population / 2;
    return desc.weights == FitnessWeights::I8 ? round_up(pairs, 4) : 4 * pairs;
}

}  // namespace

struct EsUpdatePlan::Impl {
    const Device* device = nullptr;
    EsUpdateDesc desc;
    SliceProblem problem;
    Slices slices;    ///< with all the scratch that is wanted
    Params params{};  ///< all but what a generation and the scratch decide
    std::shared_ptr<const Buffer> entries;
    PipelineOf<Params> sum;
    PipelineOf<Params> combine;

    [[nodiscard]] MemoryNeeds scratch() const noexcept {
        const std::uint64_t slice_bytes = std::uint64_t{4} * params.partial_count;
        return {.size_bytes = slice_bytes * slices.slice_count, .least_bytes = slice_bytes * slices.fewest_slices};
    }
};

struct BoundEsUpdate::Impl {
    EsUpdateConfig config;
    std::uint32_t population = 0;
    std::uint32_t rank = 1;
    Params params{};
    std::shared_ptr<const Buffer> entries;  // kept alive for the bindings
    BindingOf<Params> sum;
    BindingOf<Params> combine;
};

EsUpdatePlan::EsUpdatePlan() noexcept = default;
EsUpdatePlan::~EsUpdatePlan() = default;
EsUpdatePlan::EsUpdatePlan(EsUpdatePlan&&) noexcept = default;
EsUpdatePlan& EsUpdatePlan::operator=(EsUpdatePlan&&) noexcept = default;
BoundEsUpdate::BoundEsUpdate() noexcept = default;
BoundEsUpdate::~BoundEsUpdate() = default;
BoundEsUpdate::BoundEsUpdate(BoundEsUpdate&&) noexcept = default;
BoundEsUpdate& BoundEsUpdate::operator=(BoundEsUpdate&&) noexcept = default;

MemoryNeeds EsUpdatePlan::scratch() const noexcept { return impl_->scratch(); }

std::uint32_t EsUpdatePlan::dispatch_count() const noexcept { return impl_->params.tile_count == 0 ? 1 : 2; }

Result<EsUpdatePlan> plan_es_update(const Device& device, const EsUpdateDesc& desc) {
    YOLK_TRY_VOID(validate(device, desc));
    const Layout layout = lay_out(desc.parameters);
    YOLK_TRY(const std::uint64_t loops, loop_budget(device));
    auto impl = std::make_unique<EsUpdatePlan::Impl>();
    impl->problem = {.pair_count = desc.population / 2,
                     .rank = desc.rank,
                     .wanted_pairs_per_slice = desc.config.pairs_per_slice,
                     .tile_count = layout.tile_count,
                     .partial_count = layout.partial_count,
                     .max_scratch_bytes = device.info().limits.max_storage_buffer_range,
                     .loop_budget = loops};
    YOLK_TRY(impl->slices, choose_slices(impl->problem));
    impl->device = &device;
    impl->desc = desc;
    impl->params.pair_count = desc.population / 2;
    impl->params.tile_count = static_cast<std::uint32_t>(layout.tile_count);
    impl->params.parameter_count = static_cast<std::uint32_t>(layout.entries.size());
    impl->params.element_count = desc.parameters.element_count();
    impl->params.partial_count = layout.partial_count;
    const auto bytes = std::as_bytes(std::span(layout.entries));
    YOLK_TRY(Buffer entries, device.create_buffer({.size_bytes = bytes.size(), .label = "parameters of [es_update]"}));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    YOLK_TRY_VOID(dispatcher.upload(entries, bytes));
    impl->entries = std::make_shared<const Buffer>(std::move(entries));
    const bool integer = desc.weights == FitnessWeights::I8;
    const std::array<SpecConstant, 2> constants{
        {{abi::es_update::kSpecWorkgroupSize, desc.config.workgroup_size}, {abi::es_update::kSpecRank, desc.rank}}};
    YOLK_TRY(impl->sum, device.pipeline(integer ? kernels::kEsUpdateSumI8 : kernels::kEsUpdateSumF32, constants));
    YOLK_TRY(impl->combine, device.pipeline(integer ? kernels::kEsUpdateCombineI8 : kernels::kEsUpdateCombineF32,
                                            std::span(constants).first(1)));
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
    bound->config = impl_->desc.config;
    bound->population = impl_->desc.population;
    bound->rank = impl_->desc.rank;
    Slices slices = impl_->slices;
    if (scratch.size_bytes < needs.size_bytes) {
        SliceProblem problem = impl_->problem;
        problem.max_scratch_bytes = scratch.size_bytes;
        YOLK_TRY(slices, choose_slices(problem));
    }
    bound->params = impl_->params;
    bound->params.pairs_per_slice = slices.pairs_per_slice;
    bound->params.slice_count = slices.slice_count;
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

void BoundEsUpdate::record(Recorder& recorder, const NoiseTime& when) const noexcept {
    Params params = impl_->params;
    params.seed_low = static_cast<std::uint32_t>(when.seed);
    params.seed_high = static_cast<std::uint32_t>(when.seed >> 32U);
    params.time = when.time;
    // Divisions and square roots of double are correctly rounded, so every host gives the same two factors.
    const double members = impl_->population;
    const double scale = std::sqrt(members) / members * static_cast<double>(when.sigma);
    params.matrix_factor = static_cast<float>(scale / std::sqrt(static_cast<double>(impl_->rank)) / kNoiseVariance);
    params.vector_factor = static_cast<float>(scale / std::sqrt(static_cast<double>(kNoiseVariance)));
    const ScopedLabel label(recorder, "es_update");
    if (params.tile_count > 0) {
        // Per pair and rank column two blocks of noise and the products of a tile.
        constexpr std::uint64_t kEdge = abi::es_update::kTileEdge;
        const std::uint64_t pair_cost = impl_->rank * (2 * kNoiseBlockCost + kEdge * kEdge);
        const std::uint64_t invocations = std::uint64_t{params.tile_count} * params.slice_count;
        recorder.dispatch(impl_->sum, params,
                          grid_of(invocations, impl_->config.workgroup_size, pair_cost * params.pairs_per_slice));
        recorder.barrier(Barrier::ComputeToCompute);
    }
    recorder.dispatch(impl_->combine, params,
                      grid_of(params.element_count, impl_->config.workgroup_size, kCombineCost * params.slice_count));
}

}  // namespace yolk
