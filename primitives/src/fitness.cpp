// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/fitness.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "fitness_steps.hpp"
#include "plan_checks.hpp"
#include "tuned_plan.hpp"
#include "yolk/core/shape.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_fi = abi::fitness;

constexpr std::uint32_t kMaxPopulation = 1U << 20U;

struct RuleRow {
    FitnessRule rule;
    std::string_view name;
    bool integer;
    std::uint32_t constant;  ///< of the kernels
};
constexpr std::array<RuleRow, 5> kFitnessRules{
    {{FitnessRule::PairDifference, "pair-difference", true, abi::fitness::kRulePairDifference},
     {FitnessRule::PairSign, "pair-sign", true, abi::fitness::kRulePairSign},
     {FitnessRule::CentredRank, "centred-rank", true, abi::fitness::kRuleCentredRank},
     {FitnessRule::ZScore, "z-score", false, abi::fitness::kRuleZScore},
     {FitnessRule::GroupZScore, "group-z-score", false, abi::fitness::kRuleGroupZScore}}};

const RuleRow& rule_row_of(FitnessRule rule) noexcept { return kFitnessRules[static_cast<std::size_t>(rule)]; }

Result<void> validate_groups(const FitnessDesc& desc) {
    if (desc.rule != FitnessRule::GroupZScore) return {};
    YOLK_TRY_VOID(check_range(desc.group_size, 2, desc.population, "group_size of [fitness]"));
    if (desc.population % desc.group_size == 0) return {};
    return bad_input(fmt::format("The group_size of [fitness] is {}, which does not divide the population of {}.",
                                 desc.group_size, desc.population));
}

Result<void> check_fitness(const Device& device, const FitnessDesc& desc) {
    YOLK_TRY_VOID(fitness_space(device.info(), desc).check(*desc.config));
    YOLK_TRY_VOID(check_range(desc.population, 2, kMaxPopulation, "population of [fitness]"));
    if (desc.antithetic && desc.population % 2 != 0) {
        return bad_input(
            fmt::format("The population of [fitness] is {}, which is odd: members come in pairs. Give an even one, "
                        "or turn antithetic sampling off.",
                        desc.population));
    }
    if (!desc.antithetic && is_pair_rule(desc.rule)) {
        return bad_input(
            fmt::format("The rule {} of [fitness] compares the two members of a pair, and without "
                        "antithetic sampling there are no pairs. Choose centred-rank, z-score or "
                        "group-z-score.",
                        to_string(desc.rule)));
    }
    YOLK_TRY_VOID(check_range(desc.episodes, 1, UINT32_MAX, "episodes of [fitness]"));
    if (desc.robust && desc.rule != FitnessRule::PairDifference) {
        return bad_input(fmt::format("[fitness] was asked for the robust form of {}; only pair-difference has one.",
                                     to_string(desc.rule)));
    }
    YOLK_TRY_VOID(validate_groups(desc));
    YOLK_TRY(const std::uint64_t bytes, checked_bytes({desc.episodes, desc.population}, 4, "the returns of [fitness]"));
    return check_binding_size(device, bytes, "the returns of [fitness]");
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

}  // namespace

std::string_view to_string(FitnessRule rule) noexcept { return rule_row_of(rule).name; }

Result<FitnessRule> parse_fitness_rule(std::string_view name) {
    for (const RuleRow& row : kFitnessRules) {
        if (row.name == name) return row.rule;
    }
    return bad_input(fmt::format(
        "There is no fitness rule \"{}\". Choose pair-difference, pair-sign, centred-rank, z-score or group-z-score.",
        name));
}

bool is_integer_rule(FitnessRule rule) noexcept { return rule_row_of(rule).integer; }

bool is_pair_rule(FitnessRule rule) noexcept {
    return rule == FitnessRule::PairDifference || rule == FitnessRule::PairSign;
}

std::uint64_t fitness_weights_bytes(const FitnessDesc& desc) noexcept {
    const std::uint64_t pairs = desc.antithetic ? desc.population / 2 : desc.population;
    return is_integer_rule(desc.rule) ? round_up(pairs, 4) : 4 * pairs;
}

ConfigSpace<FitnessConfig> fitness_space(const DeviceInfo& /*info*/, const FitnessDesc& desc) {
    return {"fitness",
            {{"workgroup_size", &FitnessConfig::workgroup_size, workgroup_sizes()}},
            {},
            {.variant = fmt::format("f32, rule {}{}{}", static_cast<std::uint32_t>(desc.rule),
                                    desc.robust ? ", robust" : "", without_pairs(desc.antithetic)),
             .extents = {desc.population, desc.episodes, desc.group_size}}};
}

struct FitnessPlan::Impl {
    const Device* device = nullptr;
    FitnessDesc desc;
    std::vector<FitnessStep> steps;
    PerStage<std::optional<PipelineOf<abi_fi::Params>>> pipelines;  ///< of the stages that the rule has
};

struct BoundFitness::Impl {
    std::uint32_t workgroup_size = 0;
    std::vector<FitnessStep> steps;
    BufferView zeroed;
    PerStage<BindingOf<abi_fi::Params>> bindings;
};

FitnessPlan::FitnessPlan() noexcept = default;
FitnessPlan::~FitnessPlan() = default;
FitnessPlan::FitnessPlan(FitnessPlan&&) noexcept = default;
FitnessPlan& FitnessPlan::operator=(FitnessPlan&&) noexcept = default;
BoundFitness::BoundFitness() noexcept = default;
BoundFitness::~BoundFitness() = default;
BoundFitness::BoundFitness(BoundFitness&&) noexcept = default;
BoundFitness& BoundFitness::operator=(BoundFitness&&) noexcept = default;

MemoryNeeds FitnessPlan::scratch() const noexcept { return {.size_bytes = 4 * fitness_state_words(impl_->desc)}; }

Result<FitnessPlan> plan_fitness(const Device& device, const FitnessDesc& desc) {
    if (!desc.config)
        return plan_tuned(device, desc, fitness_space(device.info(), desc), FitnessConfig{}, &plan_fitness);
    YOLK_TRY_VOID(check_fitness(device, desc));
    auto impl = std::make_unique<FitnessPlan::Impl>();
    impl->device = &device;
    impl->desc = desc;
    YOLK_TRY(const std::uint64_t loops, loop_budget(device));
    YOLK_TRY(impl->steps, fitness_steps(desc, loops));
    const std::array<SpecConstant, 4> constants{{{abi::fitness::kSpecWorkgroupSize, desc.config->workgroup_size},
                                                 {abi::fitness::kSpecRule, rule_row_of(desc.rule).constant},
                                                 {abi::fitness::kSpecRobust, desc.robust ? 1U : 0U},
                                                 {abi::fitness::kSpecAntithetic, desc.antithetic ? 1U : 0U}}};
    for (const FitnessStep& step : impl->steps) {
        auto& pipeline = impl->pipelines[static_cast<std::size_t>(step.stage)];
        if (pipeline) continue;
        const std::size_t used = is_same_for_all_rules(step.stage) ? 1 : constants.size();
        YOLK_TRY(pipeline, device.pipeline(fitness_kernel(step.stage, desc.rule), std::span(constants).first(used)));
    }
    FitnessPlan plan;
    plan.impl_ = std::move(impl);
    return plan;
}

Result<BoundFitness> FitnessPlan::bind(const FitnessViews& views, const BufferView& scratch) const {
    const FitnessDesc& desc = impl_->desc;
    const std::uint64_t score_bytes = std::uint64_t{4} * desc.population;
    YOLK_TRY_VOID(check_views(*impl_->device, "[fitness]", {{views.returns, score_bytes * desc.episodes, "returns"}},
                              {{views.scores, score_bytes, "scores"},
                               {views.weights, fitness_weights_bytes(desc), "weights"},
                               {views.summary, sizeof(abi::fitness::Summary), "summary"},
                               {scratch, 4 * fitness_state_words(desc), "scratch"}}));
    auto bound = std::make_unique<BoundFitness::Impl>();
    bound->workgroup_size = desc.config->workgroup_size;
    bound->steps = impl_->steps;
    bound->zeroed = scratch.part(0, 4 * fitness_zeroed_words(desc));
    const std::array<BufferView, abi::fitness::kBindingCount> all{views.returns, views.scores, views.weights,
                                                                  views.summary, scratch};
    for (std::size_t stage = 0; stage < kFitnessStages; ++stage) {
        if (!impl_->pipelines[stage]) continue;
        YOLK_TRY(bound->bindings[stage], impl_->device->bind(*impl_->pipelines[stage], all));
    }
    BoundFitness result;
    result.impl_ = std::move(bound);
    return result;
}

void BoundFitness::record(Recorder& recorder) const noexcept {
    const ScopedLabel label(recorder, "fitness");
    // Earlier work may still use the scratch; its kernels come before the fill.
    recorder.barrier(Barrier::ComputeToTransfer);
    recorder.fill(impl_->zeroed, 0);
    recorder.barrier(Barrier::TransferToCompute);
    bool first = true;
    for (const FitnessStep& step : impl_->steps) {
        if (!std::exchange(first, false)) recorder.barrier(Barrier::ComputeToCompute);
        const BindingOf<abi_fi::Params>& binding = impl_->bindings[static_cast<std::size_t>(step.stage)];
        recorder.dispatch(binding, step.params,
                          grid_of(step.invocations, impl_->workgroup_size, step.cost_per_invocation));
    }
}

}  // namespace yolk
