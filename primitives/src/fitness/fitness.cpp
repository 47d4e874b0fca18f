// SPDX-License-Identifier: Apache-2.0
#include "yolk/fitness.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "fitness_steps.hpp"
#include "operation_plan.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_fi = abi::fitness;

constexpr std::uint32_t kMaxPopulation = 1U << 20U;
/// Workgroups that work together: with fewer invocations the loops over 256 counters would be long.
constexpr std::uint32_t kLeastGroup = 64;

/// The kernels' constant of each rule, in their order.
constexpr std::array kFitnessRuleConstants{abi_fi::kRulePairDifference, abi_fi::kRulePairSign, abi_fi::kRuleCentredRank,
                                           abi_fi::kRuleZScore, abi_fi::kRuleGroupZScore};

Result<void> validate_groups(const FitnessDesc& desc) {
    if (desc.rule != FitnessRule::GroupZScore) return {};
    YOLK_TRY_VOID(check_range(desc.group_size, 2, desc.population, "group_size of [fitness]"));
    if (desc.population % desc.group_size == 0) return {};
    return bad_input("The group_size of [fitness] is {}, which does not divide the population of {}.", desc.group_size,
                     desc.population);
}

Result<void> check_fitness(const FitnessDesc& desc) {
    if (desc.antithetic && desc.population % 2 != 0) {
        return bad_input(
            "The population of [fitness] is {}, which is odd: members come in pairs. Give an even one, or turn "
            "antithetic sampling off.",
            desc.population);
    }
    if (!desc.antithetic && is_pair_rule(desc.rule)) {
        return bad_input(
            "The rule {} of [fitness] compares the two members of a pair, and without antithetic sampling there are no "
            "pairs. Choose centred-rank, z-score or group-z-score.",
            to_string(desc.rule));
    }
    if (desc.robust && desc.rule != FitnessRule::PairDifference) {
        return bad_input("[fitness] was asked for the robust form of {}; only pair-difference has one.",
                         to_string(desc.rule));
    }
    return validate_groups(desc);
}

const Kernel<abi_fi::Params>& fitness_kernel(FitnessStage stage, FitnessRule rule) {
    switch (stage) {
        case FitnessStage::Scores: return kernels::kFitnessScores;
        case FitnessStage::Moments: return kernels::kFitnessMoments;
        case FitnessStage::Histogram: return kernels::kFitnessHistogram;
        case FitnessStage::Select: return kernels::kFitnessSelect;
        case FitnessStage::Ranks: return kernels::kFitnessRanks;
        case FitnessStage::SortCount: return kernels::kFitnessSortCount;
        case FitnessStage::SortOffsets: return kernels::kFitnessSortOffsets;
        case FitnessStage::SortScatter: return kernels::kFitnessSortScatter;
        case FitnessStage::SortedRanks: return kernels::kFitnessSortedRanks;
        case FitnessStage::RankMoments: return kernels::kFitnessRankMoments;
        case FitnessStage::Weights:
            return is_integer_rule(rule) ? kernels::kFitnessWeightsI8 : kernels::kFitnessWeightsF32;
        case FitnessStage::Finish: break;
    }
    return kernels::kFitnessFinish;
}

/// The same where workgroups work together; null where they do not.
const Kernel<abi_fi::Params>* fitness_kernel_by_group(FitnessStage stage) {
    switch (stage) {
        case FitnessStage::Scores: return &kernels::kFitnessScoresByGroup;
        case FitnessStage::Moments: return &kernels::kFitnessMomentsByGroup;
        case FitnessStage::Histogram: return &kernels::kFitnessHistogramByGroup;
        case FitnessStage::Select: return &kernels::kFitnessSelectByGroup;
        case FitnessStage::SortCount: return &kernels::kFitnessSortCountByGroup;
        case FitnessStage::SortOffsets: return &kernels::kFitnessSortOffsetsByGroup;
        case FitnessStage::SortScatter: return &kernels::kFitnessSortScatterByGroup;
        case FitnessStage::RankMoments: return &kernels::kFitnessRankMomentsByGroup;
        default: return nullptr;
    }
}

/// Such stages share one pipeline among the rules.
bool is_same_for_all_rules(FitnessStage stage) {
    switch (stage) {
        case FitnessStage::Scores:
        case FitnessStage::Ranks:
        case FitnessStage::SortCount:
        case FitnessStage::SortOffsets:
        case FitnessStage::SortScatter:
        case FitnessStage::SortedRanks: return true;
        default: return false;
    }
}

template <class T>
using PerStage = std::array<T, kFitnessStages>;

ViewShape returns_view(const FitnessDesc& desc) {
    return {{{"episodes", desc.episodes}, {"population", desc.population}}};
}
ViewShape scores_view(const FitnessDesc& desc) { return {{{"population", desc.population}}}; }
ViewShape fitness_weights_view(const FitnessDesc& desc) {
    const bool is_integer = is_integer_rule(desc.rule);
    return {.extents = {{"weights", fitness_weights_bytes(desc) / (is_integer ? 1 : sizeof(float))}},
            .dtype = is_integer ? DType::I8 : DType::F32};
}
ViewShape summary_view(const FitnessDesc& /*desc*/) {
    return {.extents = {{"words", sizeof(abi_fi::Summary) / kElementBytes}}, .dtype = DType::U32};
}

std::vector<Knob<FitnessConfig>> fitness_knobs(const DeviceInfo& /*info*/, const FitnessDesc& /*desc*/) {
    return {{"workgroup_size", &FitnessConfig::workgroup_size, workgroup_sizes()},
            {"by_group", &FitnessConfig::by_group, {0, 1}}};
}

Result<void> legal_fitness(const DeviceInfo& /*info*/, const FitnessDesc& /*desc*/, const FitnessConfig& config) {
    if (config.by_group == 0 || config.workgroup_size >= kLeastGroup) return {};
    return bad_input("by_group is 1 with a workgroup_size of {}; it needs at least {}.", config.workgroup_size,
                     kLeastGroup);
}

FitnessConfig fitness_heuristic(const DeviceInfo& info, const FitnessDesc& /*desc*/) {
    if (info.kind == DeviceKind::Cpu) return {};
    return {.workgroup_size = 256, .by_group = 1};
}

}  // namespace

struct FitnessPipelines {
    std::vector<FitnessStep> steps;
    PerStage<std::optional<PipelineOf<abi_fi::Params>>> pipelines;  ///< of the stages that the rule has
};

struct FitnessBindings {
    std::vector<FitnessStep> steps;
    BufferView zeroed;
    PerStage<BindingOf<abi_fi::Params>> bindings;
};

namespace {

Result<PipelinesOf<FitnessDesc>> build_fitness(const Device& device, const FitnessDesc& desc) {
    auto made = std::make_shared<FitnessPipelines>();
    YOLK_TRY(const std::uint64_t loops, loop_budget(device));
    YOLK_TRY(made->steps, fitness_steps(desc, loops));
    const std::array constants{
        SpecConstant{abi_fi::kSpecWorkgroupSize, desc.config->workgroup_size},
        SpecConstant{abi_fi::kSpecRule, kFitnessRuleConstants.at(static_cast<std::size_t>(desc.rule))},
        SpecConstant{abi_fi::kSpecRobust, desc.robust ? 1U : 0U},
        SpecConstant{abi_fi::kSpecAntithetic, desc.antithetic ? 1U : 0U}};
    for (const FitnessStep& step : made->steps) {
        auto& pipeline = made->pipelines[static_cast<std::size_t>(step.stage)];
        if (pipeline) continue;
        const std::size_t used = is_same_for_all_rules(step.stage) ? 1 : constants.size();
        const Kernel<abi_fi::Params>* by_group = is_by_group(desc) ? fitness_kernel_by_group(step.stage) : nullptr;
        const Kernel<abi_fi::Params>& kernel = by_group ? *by_group : fitness_kernel(step.stage, desc.rule);
        YOLK_TRY(pipeline, device.pipeline(kernel, std::span(constants).first(used)));
    }
    return PipelinesOf<FitnessDesc>(std::move(made));
}

MemoryNeeds fitness_scratch(const FitnessDesc& desc, const PipelinesOf<FitnessDesc>& /*stages*/) {
    return {.size_bytes = kElementBytes * fitness_state_words(desc)};
}

Result<BindingsOf<FitnessDesc>> bind_fitness(const Device& device, const FitnessDesc& desc,
                                             const PipelinesOf<FitnessDesc>& stages, const FitnessViews& views,
                                             const BufferView& scratch) {
    auto bound = std::make_shared<FitnessBindings>();
    bound->steps = stages->steps;
    bound->zeroed = scratch.part(0, kElementBytes * fitness_zeroed_words(desc));
    const std::array<BufferView, abi_fi::kBindingCount> all{views.returns, views.scores, views.weights, views.summary,
                                                            scratch};
    for (std::size_t stage = 0; stage < kFitnessStages; ++stage) {
        if (!stages->pipelines[stage]) continue;
        YOLK_TRY(bound->bindings[stage], device.bind(*stages->pipelines[stage], all));
    }
    return BindingsOf<FitnessDesc>(std::move(bound));
}

void record_fitness(Recorder& recorder, const BindingsOf<FitnessDesc>& bound, const FitnessDesc& desc) noexcept {
    // Earlier work may still use the scratch; its kernels come before the fill.
    recorder.barrier(Barrier::ComputeToTransfer);
    recorder.fill(bound->zeroed, 0);
    recorder.barrier(Barrier::TransferToCompute);
    bool first = true;
    for (const FitnessStep& step : bound->steps) {
        if (!std::exchange(first, false)) recorder.barrier(Barrier::ComputeToCompute);
        recorder.dispatch(bound->bindings[static_cast<std::size_t>(step.stage)], step.params,
                          grid_of(step.invocations, desc.config->workgroup_size, step.cost_per_invocation));
    }
}

}  // namespace

Result<FitnessRule> parse_fitness_rule(std::string_view name) {
    constexpr auto kWords = enum_words(FitnessRule{});
    const auto found = std::ranges::find(kWords, name);
    if (found != kWords.end()) return static_cast<FitnessRule>(found - kWords.begin());
    return bad_input("There is no fitness rule \"{}\". Choose {}.", name, detail::any_of(kWords));
}

bool is_integer_rule(FitnessRule rule) noexcept { return rule < FitnessRule::ZScore; }

bool is_pair_rule(FitnessRule rule) noexcept {
    return rule == FitnessRule::PairDifference || rule == FitnessRule::PairSign;
}

std::uint64_t fitness_weights_bytes(const FitnessDesc& desc) noexcept {
    const std::uint64_t pairs = desc.antithetic ? desc.population / 2 : desc.population;
    return is_integer_rule(desc.rule) ? round_up(pairs, 4) : 4 * pairs;
}

template <>
const Operation<FitnessDesc>& operation_of<FitnessDesc>() {
    using Desc = FitnessDesc;
    using Views = FitnessViews;
    static const Operation<Desc> kOperation{
        .name = "fitness",
        .fields = {"fitness",
                   {extent<&Desc::population>("population").from(2, kMaxPopulation),
                    extent<&Desc::episodes>("episodes").from(1), extent<&Desc::group_size>("group_size").otherwise("0"),
                    variant<&Desc::rule>("rule"), variant<&Desc::robust>("robust"),
                    variant<&Desc::antithetic>("pairs")}},
        .views = {{"returns", ViewRole::Input, &Views::returns, &returns_view},
                  {"scores", ViewRole::Output, &Views::scores, &scores_view},
                  {"weights", ViewRole::Output, &Views::weights, &fitness_weights_view},
                  {"summary", ViewRole::Output, &Views::summary, &summary_view}},
        .knobs = &fitness_knobs,
        .legal = &legal_fitness,
        .heuristic = &fitness_heuristic,
        .check = &check_fitness,
        .build = &build_fitness,
        .scratch = &fitness_scratch,
        .bind = &bind_fitness,
        .record = &record_fitness,
    };
    return kOperation;
}
template class Plan<FitnessDesc>;

}  // namespace yolk
