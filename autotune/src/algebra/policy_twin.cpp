// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "policy_plans.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/internal/autotune/policy_kernels.hpp"
#include "yolk/internal/evolve/schedule.hpp"
#include "yolk/twin.hpp"

namespace yolk::autotune {
namespace {

class PolicyTwin final : public PolicyKernels {
   public:
    Result<void> begin(const PolicyDesc& desc, const evolve::EvolutionState& /*initial*/) override {
        desc_ = desc;
        return {};
    }

    /// The matmul's chain over k, without its zeros: they add nothing, and cost a hundred times as much.
    Result<void> scores(const evolve::EvolutionState& state, std::span<float> out) override {
        std::vector<std::uint32_t> rows(desc_.rows);
        std::iota(rows.begin(), rows.end(), 0U);
        const NoiseContext when = evolve::Schedule(desc_.options, state.generation).noise_time();
        auto tables = reference::twin_result<float>(members_of(desc_), {state.parameters, rows}, when);
        for (float& logit : tables) logit = exact::exact_flush_operand(logit);
        const CandidateSet& candidates = *desc_.candidates;
        const std::size_t own = std::size_t{desc_.rows} * desc_.columns;
        for (std::size_t m = 0; m < desc_.options.population; ++m) {
            const std::span<const float> table = std::span(tables).subspan(m * own, own);
            for (std::size_t c = 0; c < candidates.size(); ++c) {
                const ChoiceView choice = candidates[c];
                float sum = 0.0F;
                for (std::size_t row = 0; row < desc_.rows; ++row) sum = sum + table[row * desc_.columns + choice[row]];
                out[m * candidates.size() + c] = sum;
            }
        }
        return {};
    }

    Result<std::vector<float>> gradient(const evolve::EvolutionState& state,
                                        const evolve::ShapedGeneration& shaped) override {
        return evolve::gradient_by_twin(state.generation, desc_.table, desc_.options, shaped);
    }

    Result<std::vector<float>> preconditioned(const PolicyPreconditioner& preconditioner,
                                              std::span<const float> gradient) override {
        const PolicyStepDescs descs = step_descs(desc_, preconditioner);
        std::vector<float> blocks;
        if (preconditioner.metric == PolicyMetric::InverseSqrt) {
            const auto covariance = reference::twin_result<float>(descs.covariance, {preconditioner.blocks});
            blocks = reference::twin_result<float>(descs.inverse_sqrt, {covariance});
        } else {
            blocks = reference::twin_result<float>(descs.inverse, {preconditioner.blocks, {}});
        }
        return reference::twin_result<float>(descs.product, {blocks, gradient}, kPolicyStepRate);
    }

    Result<void> move(evolve::EvolutionState& state, const evolve::ShapedGeneration& shaped,
                      std::span<const float> gradient) override {
        state = evolve::updated_by_twin(std::move(state), desc_.table, desc_.options, shaped, gradient);
        return {};
    }
    Result<void> place(const evolve::EvolutionState& /*state*/) override { return {}; }

   private:
    PolicyDesc desc_;
};

}  // namespace

Result<PolicyDesc> policy_desc(std::shared_ptr<const CandidateSet> candidates,
                               const evolve::EvolutionOptions& options) {
    YOLK_TRY_VOID(evolve::validate(options));
    PolicyDesc desc{.rows = static_cast<std::uint32_t>(candidates->dimensions()), .columns = 1, .options = options};
    for (const Parameter& parameter : candidates->space().parameters())
        desc.columns = std::max(desc.columns, static_cast<std::uint32_t>(parameter.values.size()));
    YOLK_TRY(desc.table, ParameterTable::create({{.name = "logits", .rows = desc.rows, .columns = desc.columns}}));
    desc.candidates = std::move(candidates);
    return desc;
}

PerturbedEmbeddingDesc members_of(const PolicyDesc& desc) {
    return {.members = desc.options.population,
            .rows = desc.rows,
            .table_rows = desc.rows,
            .columns = desc.columns,
            .rank = desc.options.rank,
            .shared_ids = true};
}

MatmulDesc scores_of(const PolicyDesc& desc) {
    return {.m = desc.options.population,
            .n = static_cast<std::uint32_t>(desc.candidates->size()),
            .k = desc.rows * desc.columns,
            .determinism = Determinism::Exact};
}

PolicyStepDescs step_descs(const PolicyDesc& desc, const PolicyPreconditioner& preconditioner) {
    const std::uint32_t n = desc.columns;
    return {.covariance = {.n = n, .samples = preconditioner.samples, .blocks = desc.rows},
            .inverse_sqrt = {.n = n, .blocks = desc.rows, .damping = preconditioner.damping},
            .inverse = {.n = n, .blocks = desc.rows},
            .product = {.n = n, .blocks = desc.rows}};
}

std::unique_ptr<PolicyKernels> policy_kernels_on_host() { return std::make_unique<PolicyTwin>(); }

}  // namespace yolk::autotune
