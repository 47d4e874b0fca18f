// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/device_policy.hpp"

#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include "policy_scorer.hpp"
#include "staged_call.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/evolve/schedule.hpp"
#include "yolk/internal/evolve/shared_update.hpp"
#include "yolk/internal/runtime/probe.hpp"

namespace yolk::autotune {

struct DevicePolicies::Impl {
    explicit Impl(Dispatcher made) : dispatcher(std::move(made)) {}

    Dispatcher dispatcher;
    mutable std::mutex mutex;
    std::vector<std::unique_ptr<PolicyScorer>> free;  ///< kept between searches of one set of candidates
    DevicePolicyCounts counts;

    Result<std::unique_ptr<PolicyScorer>> take(const PolicyDesc& desc) {
        {
            const std::lock_guard lock(mutex);
            std::erase_if(free, [&](const auto& scorer) { return !scorer->is_for(desc); });
            if (!free.empty()) {
                std::unique_ptr<PolicyScorer> taken = std::move(free.back());
                free.pop_back();
                return taken;
            }
        }
        return PolicyScorer::create(dispatcher, desc);
    }
    void give_back(std::unique_ptr<PolicyScorer> scorer) {
        const std::lock_guard lock(mutex);
        free.push_back(std::move(scorer));
    }
    template <class Change>
    void count(Change&& change) {
        const std::lock_guard lock(mutex);
        change(counts);
    }
};

namespace {

/// The step's kernels, bound to one another.
struct BoundPolicyStep {
    PolicyMetric metric = PolicyMetric::InverseSqrt;
    BoundCovariance covariance;
    BoundInverseSqrt inverse_sqrt;
    BoundBlockInverse inverse;
    BoundNaturalGradient product;

    void record(Recorder& recorder) const noexcept {
        if (metric == PolicyMetric::InverseSqrt) {
            covariance.record(recorder, true);
            recorder.barrier(Barrier::ComputeToCompute);
            inverse_sqrt.record(recorder);
        } else {
            inverse.record(recorder);
        }
        recorder.barrier(Barrier::ComputeToCompute);
        product.record(recorder, kPolicyStepRate);
    }
};

/// Pieces of one scratch view, one behind the other.
class ScratchPieces {
   public:
    std::uint64_t add(std::uint64_t size_bytes) {
        const std::uint64_t offset = end_;
        end_ += round_up(size_bytes, kViewAlignment);
        return offset;
    }
    [[nodiscard]] MemoryNeeds needs() const noexcept { return {.size_bytes = end_, .least_bytes = end_}; }

   private:
    std::uint64_t end_ = 0;
};

Result<BoundPolicyStep> bind_step(const Device& device, StagedCall& call, const StagedRequest& request,
                                  const PolicyStepDescs& descs, PolicyMetric metric) {
    const std::uint64_t blocks = descs.product.blocks;
    const std::uint64_t matrix_bytes = sizeof(float) * blocks * descs.product.n * descs.product.n;
    YOLK_TRY(const CovariancePlan covariance, plan_covariance(device, descs.covariance));
    YOLK_TRY(const InverseSqrtPlan inverse_sqrt, plan_inverse_sqrt(device, descs.inverse_sqrt));
    YOLK_TRY(const BlockInversePlan inverse, plan_block_inverse(device, descs.inverse));
    YOLK_TRY(const NaturalGradientPlan product, plan_natural_gradient(device, descs.product));
    const bool by_root = metric == PolicyMetric::InverseSqrt;
    const MemoryNeeds first = by_root ? covariance.scratch() : MemoryNeeds{};
    const MemoryNeeds second = by_root ? inverse_sqrt.scratch() : inverse.scratch();
    ScratchPieces pieces;
    const std::uint64_t matrices = pieces.add(matrix_bytes);
    const std::uint64_t inverses = pieces.add(matrix_bytes);
    const std::uint64_t status = pieces.add(sizeof(std::uint32_t) * blocks);
    const std::uint64_t residual = pieces.add(sizeof(float) * blocks);
    const std::uint64_t first_at = pieces.add(first.size_bytes);
    const std::uint64_t second_at = pieces.add(second.size_bytes);
    YOLK_TRY(const BufferView room, call.reserve(device, request, pieces.needs()));
    const auto scratch = [&](std::uint64_t at, const MemoryNeeds& needs) {
        return needs.size_bytes == 0 ? BufferView{} : room.part(at, needs.size_bytes);
    };
    const BufferView out = room.part(inverses, matrix_bytes);
    const BufferView status_view = room.part(status, sizeof(std::uint32_t) * blocks);
    const BufferView residual_view = room.part(residual, sizeof(float) * blocks);
    BoundPolicyStep bound;
    bound.metric = metric;
    if (by_root) {
        const BufferView covariances = room.part(matrices, matrix_bytes);
        YOLK_TRY(bound.covariance,
                 covariance.bind({.x = call.input(0), .covariance = covariances}, scratch(first_at, first)));
        YOLK_TRY(bound.inverse_sqrt,
                 inverse_sqrt.bind({.in = covariances, .out = out, .status = status_view, .residual = residual_view},
                                   scratch(second_at, second)));
    } else {
        YOLK_TRY(bound.inverse,
                 inverse.bind({.in = call.input(0), .out = out, .status = status_view, .residual = residual_view},
                              scratch(second_at, second)));
    }
    YOLK_TRY(bound.product,
             product.bind({.preconditioner = out, .gradient = call.input(1), .step = call.output(0)}, {}));
    return bound;
}

class PolicyOnDevice final : public PolicyKernels {
   public:
    explicit PolicyOnDevice(DevicePolicies::Impl& shared) : shared_(shared) {}
    ~PolicyOnDevice() override {
        if (scorer_ != nullptr) shared_.give_back(std::move(scorer_));
    }
    PolicyOnDevice(const PolicyOnDevice&) = delete;
    PolicyOnDevice& operator=(const PolicyOnDevice&) = delete;
    PolicyOnDevice(PolicyOnDevice&&) = delete;
    PolicyOnDevice& operator=(PolicyOnDevice&&) = delete;

    Result<void> begin(const PolicyDesc& desc, const evolve::EvolutionState& initial) override {
        desc_ = desc;
        shared_.count([](DevicePolicyCounts& counts) { ++counts.searches; });
        const Device& device = shared_.dispatcher.device();
        YOLK_TRY(evolution_, evolve::Evolution::create(device, shared_.dispatcher,
                                                       {.parameters = desc.table,
                                                        .initial = initial.parameters,
                                                        .optimizer_state = initial.optimizer,
                                                        .generation = initial.generation},
                                                       desc.options));
        YOLK_TRY(update_, evolve::SharedUpdate::create({{.device = &device, .dispatcher = &shared_.dispatcher}},
                                                       desc.table, desc.options));
        YOLK_TRY(scorer_, shared_.take(desc));
        return scorer_->bind(evolution_->device_parameters());
    }

    Result<void> scores(const evolve::EvolutionState& state, std::span<float> out) override {
        YOLK_TRY_VOID(scorer_->score(shared_.dispatcher, when(state), out));
        shared_.count([](DevicePolicyCounts& counts) { ++counts.scored; });
        return {};
    }

    Result<std::vector<float>> gradient(const evolve::EvolutionState& state,
                                        const evolve::ShapedGeneration& shaped) override {
        std::vector<float> made(desc_.table.element_count());
        const std::array rates{1.0};
        YOLK_TRY_VOID(update_->gradient(shaped, when(state), rates, made));
        return made;
    }

    Result<std::vector<float>> preconditioned(const PolicyPreconditioner& preconditioner,
                                              std::span<const float> gradient) override {
        std::vector<float> step(gradient.size());
        const StagedRequest request{
            .label = "policy step",
            .shape = {static_cast<std::uint32_t>(preconditioner.metric), preconditioner.samples},
            .rate = preconditioner.damping,
            .inputs = {std::as_bytes(std::span(preconditioner.blocks)), std::as_bytes(gradient)},
            .outputs = {{{std::as_writable_bytes(std::span(step)), gradient.size_bytes()}}}};
        const auto bind = [&](const Device& device) {
            return bind_step(device, step_, request, step_descs(desc_, preconditioner), preconditioner.metric);
        };
        YOLK_TRY_VOID(step_.run(
            shared_.dispatcher, request, bind,
            [](const BoundPolicyStep& bound, Recorder& recorder, float /*damping*/) { bound.record(recorder); }));
        return step;
    }

    Result<void> move(evolve::EvolutionState& state, const evolve::ShapedGeneration& shaped,
                      std::span<const float> gradient) override {
        YOLK_TRY_VOID(evolution_->apply(shaped, gradient));
        read(state);
        shared_.count([](DevicePolicyCounts& counts) { ++counts.generations; });
        return {};
    }

    Result<void> place(const evolve::EvolutionState& state) override {
        return evolution_->set_parameters(state.parameters);
    }

    void gave_up(const Error& error) override {
        shared_.count([&](DevicePolicyCounts& counts) {
            ++counts.take_overs;
            counts.reason = error.message;
        });
    }

   private:
    [[nodiscard]] NoiseContext when(const evolve::EvolutionState& state) const noexcept {
        return evolve::Schedule(desc_.options, state.generation).noise_time();
    }
    void read(evolve::EvolutionState& state) const {
        state.parameters.assign(evolution_->parameters().begin(), evolution_->parameters().end());
        state.optimizer.assign(evolution_->optimizer_state().begin(), evolution_->optimizer_state().end());
        state.generation = evolution_->generations();
    }

    DevicePolicies::Impl& shared_;
    PolicyDesc desc_;
    std::optional<evolve::Evolution> evolution_;
    std::optional<evolve::SharedUpdate> update_;
    std::unique_ptr<PolicyScorer> scorer_;
    StagedCall step_;
};

}  // namespace

Result<std::shared_ptr<DevicePolicies>> DevicePolicies::create(const Device& device) {
    YOLK_TRY(const DeviceFindings findings, probe(device));
    if (!findings.inexact_reason.empty()) {
        return unsupported("'{}' cannot hold the population of eggroll, whose bits are those of the host: {}",
                           device.info().name, findings.inexact_reason);
    }
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    return std::shared_ptr<DevicePolicies>(new DevicePolicies(std::make_unique<Impl>(std::move(dispatcher))));
}

std::unique_ptr<PolicyKernels> DevicePolicies::make() { return std::make_unique<PolicyOnDevice>(*impl_); }

DevicePolicyCounts DevicePolicies::counts() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->counts;
}

std::function<std::unique_ptr<PolicyKernels>()> on_device(std::shared_ptr<DevicePolicies> policies) {
    return [policies = std::move(policies)] { return policies->make(); };
}

}  // namespace yolk::autotune
