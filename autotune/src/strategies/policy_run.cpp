// SPDX-License-Identifier: Apache-2.0
#include "policy_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "yolk/internal/evolve/shaping.hpp"
#include "yolk/log.hpp"

namespace yolk::autotune {
namespace {

/// What the sums of a row of M are made over: the window, and a row for each value that a parameter lacks.
std::uint32_t sample_rows(const PolicyDesc& desc) { return kPolicyWindow + desc.columns; }

}  // namespace

evolve::EvolutionOptions policy_options(float learning_rate, std::uint64_t seed) {
    return {.population = kPolicyMembers,
            .rank = 1,
            .sigma = 1.0F,
            .learning_rate = learning_rate,
            .fitness = FitnessRule::PairDifference,
            .optimizer = OptimizerRule::Sgd,
            .seed = seed};
}

/// The host's kernels are given the state from where the others failed. They have the same bits.
template <class Call>
auto PolicyRun::attempt(Call&& call) {
    auto result = call(*kernels_);
    if (!result) {
        log_warning(fmt::format("The host goes on with the population of eggroll: {}", result.error().message));
        kernels_->gave_up(result.error());
        kernels_ = policy_kernels_on_host();
        static_cast<void>(kernels_->begin(desc_, state_));
        result = call(*kernels_);
    }
    return std::move(result).value();
}

PolicyRun::PolicyRun(PolicyDesc desc, Step step, std::unique_ptr<PolicyKernels> kernels)
    : desc_(std::move(desc)), step_(step), kernels_(std::move(kernels)) {
    state_.parameters.resize(desc_.table.element_count());
    scores_.resize(kPolicyMembers * desc_.candidates->size());
    attempt([&](PolicyKernels& by) { return by.begin(desc_, state_); });
}

std::span<const float> PolicyRun::scores() {
    attempt([&](PolicyKernels& by) { return by.scores(state_, scores_); });
    return scores_;
}

void PolicyRun::follow(std::span<const float> returns) {
    const evolve::ShapedGeneration shaped =
        evolve::shape_scores({.population = desc_.options.population, .rule = desc_.options.fitness}, returns).value();
    std::vector<float> gradient = attempt([&](PolicyKernels& by) { return by.gradient(state_, shaped); });
    clear_unused(gradient);
    if (step_ == Step::InverseSqrt) sample(shaped);
    const std::vector<float> step = stepped(std::move(gradient));
    attempt([&](PolicyKernels& by) { return by.move(state_, shaped, step); });
    keep_in_bounds();
    attempt([&](PolicyKernels& by) { return by.place(state_); });
}

std::size_t PolicyRun::values_of(std::size_t row) const {
    return desc_.candidates->space().parameters()[row].values.size();
}

/// The gradient of each pair alone, times the pairs: their mean is the gradient.
void PolicyRun::sample(const evolve::ShapedGeneration& shaped) {
    const std::size_t pairs = shaped.integer_weights.size();
    for (std::size_t pair = 0; pair < pairs; ++pair) {
        evolve::ShapedGeneration alone{.summary = shaped.summary};
        alone.integer_weights.resize(pairs);
        alone.integer_weights[pair] = shaped.integer_weights[pair];
        std::vector<float> own = evolve::gradient_by_twin(state_.generation, desc_.table, desc_.options, alone);
        for (float& g : own) g *= static_cast<float>(pairs);
        clear_unused(own);
        window_.push_back(std::move(own));
        if (window_.size() > kPolicyWindow) window_.pop_front();
    }
}

std::vector<float> PolicyRun::stepped(std::vector<float> gradient) {
    switch (step_) {
        case Step::Plain: return gradient;
        case Step::Identity:
            for (float& g : gradient) g /= 1.0F + kPolicyDamping;
            return gradient;
        case Step::InverseSqrt:
        case Step::Natural: break;
    }
    const PolicyPreconditioner preconditioner = step_ == Step::InverseSqrt ? sampled_covariance() : fisher();
    return attempt([&](PolicyKernels& by) { return by.preconditioned(preconditioner, gradient); });
}

/// X of M = X^T X / rows, about the samples' mean. A value that a parameter lacks gets the mean of M's diagonal, so
/// that the mean over all columns, which the damping is relative to, is that over the parameter's own.
PolicyPreconditioner PolicyRun::sampled_covariance() const {
    const std::size_t rows = sample_rows(desc_);
    const std::size_t columns = desc_.columns;
    const auto count = static_cast<double>(window_.size());
    PolicyPreconditioner made{.metric = PolicyMetric::InverseSqrt,
                              .blocks = std::vector<float>(desc_.rows * rows * columns),
                              .samples = static_cast<std::uint32_t>(rows),
                              .damping = kPolicyDamping};
    for (std::size_t row = 0; row < desc_.rows; ++row) {
        const std::size_t values = values_of(row);
        float* const x = made.blocks.data() + row * rows * columns;
        double trace = 0.0;
        for (std::size_t v = 0; v < values; ++v) {
            double mean = 0.0;
            for (const auto& own : window_) mean += double{own[row * columns + v]} / count;
            for (std::size_t s = 0; s < window_.size(); ++s) {
                const double off = double{window_[s][row * columns + v]} - mean;
                trace += off * off / count;
                x[s * columns + v] = static_cast<float>(off * std::sqrt(static_cast<double>(rows) / count));
            }
        }
        const double rest = std::sqrt(static_cast<double>(rows) * trace / static_cast<double>(values));
        for (std::size_t v = values; v < columns; ++v) x[(kPolicyWindow + v) * columns + v] = static_cast<float>(rest);
    }
    return made;
}

/// diag(p) - p p^T of each row, damped; the identity for values that a parameter lacks.
PolicyPreconditioner PolicyRun::fisher() const {
    const std::size_t n = desc_.columns;
    PolicyPreconditioner made{.metric = PolicyMetric::Inverse, .blocks = std::vector<float>(desc_.rows * n * n)};
    for (std::size_t row = 0; row < desc_.rows; ++row) {
        const std::span<const float> logits = std::span(state_.parameters).subspan(row * n, values_of(row));
        const double top = *std::ranges::max_element(logits);
        std::vector<double> policy;
        double sum = 0.0;
        for (const float logit : logits) sum += policy.emplace_back(std::exp(logit - top));
        for (double& p : policy) p /= sum;
        float* const block = made.blocks.data() + row * n * n;
        for (std::size_t a = 0; a < n; ++a) {
            for (std::size_t b = 0; a < policy.size() && b < policy.size(); ++b)
                block[a * n + b] =
                    static_cast<float>((a == b ? policy[a] + kPolicyDamping : 0.0) - policy[a] * policy[b]);
            if (a >= policy.size()) block[a * n + a] = 1.0F;
        }
    }
    return made;
}

/// Nothing reads the logits of values that a parameter lacks, and a parameter with one value has nothing to learn.
void PolicyRun::clear_unused(std::span<float> matrix) const {
    for (std::size_t row = 0; row < desc_.rows; ++row) {
        const std::size_t values = values_of(row);
        std::ranges::fill(matrix.subspan(row * desc_.columns, desc_.columns).subspan(values < 2 ? 0 : values), 0.0F);
    }
}

/// A softmax does not change with the mean of its logits.
void PolicyRun::keep_in_bounds() {
    clear_unused(state_.parameters);
    for (std::size_t row = 0; row < desc_.rows; ++row) {
        const std::span<float> logits = std::span(state_.parameters).subspan(row * desc_.columns, values_of(row));
        double mean = 0.0;
        for (const float logit : logits) mean += double{logit} / static_cast<double>(logits.size());
        for (float& logit : logits) logit = std::clamp(static_cast<float>(logit - mean), -kLargestLogit, kLargestLogit);
    }
}

}  // namespace yolk::autotune
