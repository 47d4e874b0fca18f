// SPDX-License-Identifier: Apache-2.0
#include "yolk/rollout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "operation_plan.hpp"
#include "rollout_layout.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/runtime/foreign_pipeline.hpp"

namespace yolk {

namespace abi_ro = abi::rollout;

static_assert(kEvaluationCounters == abi_ro::kEvaluationCounters);

namespace {

constexpr std::uint64_t kEvaluationsBytes = std::uint64_t{4} * kEvaluationCounters;

/// All episodes at once where a binding holds their slots.
MemoryNeeds slots_needed(const Device& device, const RolloutLayout& layout) {
    const std::uint64_t indices = rollout_indices(layout);
    const std::uint64_t most = rollout_chunk(layout, device.info().limits.max_storage_buffer_range);
    return {.size_bytes = layout.slot_bytes * most,
            .least_bytes = layout.slot_bytes * std::min(indices, kLeastRolloutChunk)};
}

}  // namespace

struct RolloutPipelines {
    RolloutLayout layout;
    MemoryNeeds scratch{};
    PipelineOf<abi_ro::Params> pipeline;
};

struct RolloutBindings {
    RolloutLayout layout;
    std::uint64_t chunk = 0;  ///< episodes at once, as the scratch allows
    BufferView evaluations;
    BindingOf<abi_ro::Params> binding;

    void record_steps(Recorder& recorder, abi_ro::Params params) const noexcept;
};

namespace {

ViewShape parameters_view(const RolloutDesc& desc) {
    return {.extents = {{"elements", desc.parameters.element_count()}}, .uniform = true};
}
ViewShape rollout_returns_view(const RolloutDesc& desc) {
    return {{{"episodes", desc.episodes}, {"members", desc.mean_only ? 1 : desc.members}}};
}
ViewShape evaluations_view(const RolloutDesc& /*desc*/) {
    return {.extents = {{"counters", kEvaluationCounters}}, .dtype = DType::U32};
}

std::vector<Knob<RolloutConfig>> rollout_knobs(const DeviceInfo& /*info*/, const RolloutDesc& /*desc*/) {
    return {{"workgroup_size", &RolloutConfig::workgroup_size, workgroup_sizes()},
            {"unrolled", &RolloutConfig::unrolled, {0, 1}},
            {"private_parameters", &RolloutConfig::private_parameters, {0, 1}},
            {"packed", &RolloutConfig::packed, {0, 1}}};
}

/// The mean has one row and no noise.
RolloutDesc canonical_rollout(RolloutDesc desc) {
    if (desc.mean_only) desc.members = 1;
    if (desc.mean_only) desc.antithetic = true;
    return desc;
}

Result<PipelinesOf<RolloutDesc>> build_rollout(const Device& device, const RolloutDesc& desc) {
    auto made = std::make_shared<RolloutPipelines>();
    RolloutLayout& layout = made->layout;
    YOLK_TRY(layout, make_rollout_layout(desc));
    YOLK_TRY(const std::uint64_t loops, loop_budget(device));
    YOLK_TRY(layout.steps_per_dispatch,
             rollout_steps_per_dispatch(layout, {.loops = loops, .workgroup_cost = device.max_workgroup_cost()}));
    const Kernel<abi_ro::Params>& kernel = rollout_kernel(layout);
    const std::vector<SpecConstant> constants = rollout_constants(layout);
    if (desc.own_environment != nullptr) YOLK_TRY_VOID(try_foreign_pipeline(device, kernel, constants));
    YOLK_TRY(made->pipeline, device.pipeline(kernel, constants));
    made->scratch = slots_needed(device, layout);
    return PipelinesOf<RolloutDesc>(std::move(made));
}

MemoryNeeds rollout_scratch(const RolloutDesc& /*desc*/, const PipelinesOf<RolloutDesc>& made) { return made->scratch; }

Result<BindingsOf<RolloutDesc>> bind_rollout(const Device& device, const RolloutDesc& desc,
                                             const PipelinesOf<RolloutDesc>& made, const RolloutViews& views,
                                             const BufferView& scratch) {
    auto bound = std::make_shared<RolloutBindings>();
    bound->layout = made->layout;
    bound->chunk = rollout_chunk(made->layout, scratch.size_bytes);
    bound->evaluations = first_bytes(views.evaluations, kEvaluationsBytes);
    const std::array bindings{first_bytes(views.parameters, desc.parameters.size_bytes()), views.returns,
                              bound->evaluations, scratch};
    YOLK_TRY(bound->binding, device.bind(made->pipeline, bindings));
    return BindingsOf<RolloutDesc>(std::move(bound));
}

/// `count` members or episodes from `first` on: at most `most`, with numbers of 32 bits.
Result<void> check_part(const char* what, std::uint32_t first, std::uint32_t count, std::uint32_t most) {
    if (count <= most && count - 1 <= 0xFFFFFFFFU - first) return {};
    return bad_input(
        "A part of [rollout] has {} {} from {} on; a call has at most {} of the description's, and numbers end at "
        "2^32 - 1.",
        count, what, first, most);
}

void record_rollout(Recorder& recorder, const BindingsOf<RolloutDesc>& bound, const RolloutDesc& /*desc*/,
                    const NoiseContext& when, OrDefault<RolloutPart> part) noexcept {
    const RolloutLayout& layout = bound->layout;
    const bool whole = part.value.members == 0 || layout.desc.mean_only;
    const std::uint32_t members = whole ? layout.members : part.value.members;
    const std::uint32_t episodes = part.value.episodes == 0 ? layout.desc.episodes : part.value.episodes;
    const std::uint32_t first_member = layout.desc.mean_only ? 0 : part.value.first_member;
    if (auto ok = check_part("members", first_member, members, layout.members); !ok)
        return recorder.refuse(std::move(ok).error());
    if (auto ok = check_part("episodes", part.value.first_episode, episodes, layout.desc.episodes); !ok)
        return recorder.refuse(std::move(ok).error());
    const auto sigma = static_cast<double>(when.sigma);
    abi_ro::Params params{
        .seed_low = static_cast<std::uint32_t>(when.seed),
        .seed_high = static_cast<std::uint32_t>(when.seed >> 32U),
        .generation = when.generation,
        .time = when.time,
        .members = members,
        .episodes = episodes,
        .first_member = first_member,
        .first_episode = part.value.first_episode,
        .first_step = 0,
        .step_count = 0,
        .first_index = 0,
        .index_count = 0,
        .never_stop = layout.desc.never_stop ? 1U : 0U,
        .matrix_scale = exact::exact_flush_operand(
            static_cast<float>(sigma / std::sqrt(static_cast<double>(layout.rank)) / kNoiseVariance)),
        .vector_scale = exact::exact_flush_operand(static_cast<float>(sigma / std::sqrt(double{kNoiseVariance}))),
    };
    // Earlier readers of the counters (a copy to the host) and writers (the roll-out before) come first.
    recorder.barrier(Barrier::TransferToTransfer);
    recorder.barrier(Barrier::ComputeToTransfer);
    recorder.fill(bound->evaluations, 0);
    recorder.barrier(Barrier::TransferToCompute);
    const std::uint64_t indices = std::uint64_t{members} * episodes;
    for (std::uint64_t first = 0; first < indices; first += bound->chunk) {
        if (first != 0) recorder.barrier(Barrier::ComputeToCompute);  // the next episodes take over the slots
        params.first_index = static_cast<std::uint32_t>(first);
        params.index_count = static_cast<std::uint32_t>(std::min(bound->chunk, indices - first));
        bound->record_steps(recorder, params);
    }
}

/// "4-64-2".
std::string print_widths(const RolloutDesc& desc) { return fmt::format("{}", fmt::join(desc.network.widths, "-")); }
/// With the network's parameters.
bool parse_widths(RolloutDesc& desc, std::string_view text) {
    PolicyNetwork network{.widths = {}};
    while (true) {
        const std::size_t end = std::min(text.find('-'), text.size());
        if (!detail::parse_number(text.substr(0, end), network.widths.emplace_back())) return false;
        if (end == text.size()) break;
        text.remove_prefix(end + 1);
    }
    Result<ParameterTable> parameters = ParameterTable::create(network.parameters());
    if (!parameters) return false;
    desc.network = std::move(network);
    desc.parameters = *std::move(parameters);
    return true;
}

std::string print_environment(const RolloutDesc& desc) { return desc.environment; }
bool parse_environment(RolloutDesc& desc, std::string_view text) {
    if (!find_environment(text)) return false;
    desc.environment = std::string(text);
    return true;
}
std::string environment_names() {
    std::vector<std::string_view> names;
    for (const EnvironmentInfo& environment : environments()) names.push_back(environment.name);
    return detail::any_of(names);
}

/// An environment of one's own is a file's: no text or key makes it.
std::string print_own(const RolloutDesc& desc) { return desc.own_environment == nullptr ? "0" : "1"; }
bool parse_own(RolloutDesc& /*desc*/, std::string_view text) { return text == "0"; }

Fields<RolloutDesc> rollout_fields() {
    using Desc = RolloutDesc;
    return {"rollout",
            {Field<Desc>{.info = {.name = "environment",
                                  .role = FieldRole::Variant,
                                  .allowed = environment_names(),
                                  .fallback = Desc{}.environment},
                         .print = &print_environment,
                         .parse = &parse_environment},
             Field<Desc>{.info = {.name = "own",
                                  .role = FieldRole::Variant,
                                  .allowed = "0: an environment of one's own cannot be given by text",
                                  .fallback = "0"},
                         .print = &print_own,
                         .parse = &parse_own},
             Field<Desc>{.info = {.name = "widths",
                                  .role = FieldRole::Extent,
                                  .allowed = "2 to 5 numbers from 1 to 256, joined by -",
                                  .fallback = "4-64-2",
                                  .is_list = true},
                         .print = &print_widths,
                         .parse = &parse_widths},
             extent<&Desc::members>("members"), extent<&Desc::episodes>("episodes"),
             extent<&Desc::rank>("rank").from(1, kMaxRank),
             // A benchmark's: every episode takes so many.
             variant<&Desc::max_steps>("steps").otherwise("40").in_no_key(), variant<&Desc::mean_only>("mean"),
             variant<&Desc::never_stop>("never_stop").otherwise("1").in_no_key(), variant<&Desc::antithetic>("pairs"),
             variant<&Desc::determinism>("determinism")}};
}

}  // namespace

void RolloutBindings::record_steps(Recorder& recorder, abi_ro::Params params) const noexcept {
    for (params.first_step = 0; params.first_step < layout.max_steps; params.first_step += params.step_count) {
        if (params.first_step != 0) recorder.barrier(Barrier::ComputeToCompute);
        params.step_count = std::min(layout.steps_per_dispatch, layout.max_steps - params.first_step);
        recorder.dispatch(binding, params,
                          grid_of(params.index_count, layout.desc.config->workgroup_size,
                                  rollout_step_cost(layout) * params.step_count));
    }
}

std::uint32_t rollout_dispatches(const RolloutPlan& plan) noexcept {
    const RolloutLayout& layout = plan.pipelines()->layout;
    const std::uint64_t chunks = ceil_div(rollout_indices(layout), rollout_chunk(layout, plan.scratch().size_bytes));
    return static_cast<std::uint32_t>(chunks * ceil_div(layout.max_steps, layout.steps_per_dispatch));
}

template <>
const Operation<RolloutDesc>& operation_of<RolloutDesc>() {
    using Desc = RolloutDesc;
    using Views = RolloutViews;
    static const Operation<Desc> kOperation{
        .name = "rollout",
        .fields = rollout_fields(),
        .views = {{"parameters", ViewRole::Input, &Views::parameters, &parameters_view},
                  {"returns", ViewRole::Output, &Views::returns, &rollout_returns_view},
                  {"evaluations", ViewRole::Output, &Views::evaluations, &evaluations_view}},
        .knobs = &rollout_knobs,
        .legal = &legal_rollout,
        .canonical = &canonical_rollout,
        .heuristic = &rollout_config,
        .check = &check_rollout,
        .completed = &rollout_config,
        .build = &build_rollout,
        .scratch = &rollout_scratch,
        .bind = &bind_rollout,
        .record = &record_rollout,
    };
    return kOperation;
}
template class Plan<RolloutDesc>;

}  // namespace yolk
