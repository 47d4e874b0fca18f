// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/evaluator.hpp"

#include <algorithm>

namespace yolk::evolve {
namespace {

class RolloutEvaluator final : public Evaluator {
   public:
    RolloutEvaluator(RolloutPlan plan, std::uint32_t members, std::uint32_t episodes, std::uint32_t first_episode)
        : plan_(std::move(plan)), members_(members), episodes_(episodes), first_episode_(first_episode) {}

    [[nodiscard]] std::uint32_t members() const noexcept override { return members_; }
    [[nodiscard]] std::uint32_t episodes() const noexcept override { return episodes_; }
    [[nodiscard]] MemoryNeeds scratch() const noexcept override { return plan_.scratch(); }
    [[nodiscard]] Result<void> bind(const EvaluatorViews& views, const BufferView& scratch) override {
        YOLK_TRY(
            bound_,
            plan_.bind({.parameters = views.parameters, .returns = views.returns, .evaluations = views.evaluations},
                       scratch));
        return {};
    }
    void record(Recorder& recorder, const NoiseContext& when) const noexcept override {
        bound_.record(recorder, when, {.first_episode = first_episode_});
    }

   private:
    RolloutPlan plan_;
    BoundRollout bound_;
    std::uint32_t members_ = 0;
    std::uint32_t episodes_ = 0;
    std::uint32_t first_episode_ = 0;
};

class HostScores final : public HostScoresEvaluator {
   public:
    HostScores(Buffer returns, std::uint32_t members, std::uint32_t episodes)
        : returns_(std::move(returns)), members_(members), episodes_(episodes) {
        std::ranges::fill(HostScores::returns(), 0.0F);
    }

    [[nodiscard]] std::uint32_t members() const noexcept override { return members_; }
    [[nodiscard]] std::uint32_t episodes() const noexcept override { return episodes_; }
    [[nodiscard]] MemoryNeeds scratch() const noexcept override { return {}; }
    [[nodiscard]] std::span<float> returns() noexcept override {
        const std::span<std::byte> bytes = returns_.mapped();
        return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
    }
    [[nodiscard]] Result<void> bind(const EvaluatorViews& views, const BufferView& /*scratch*/) override {
        if (views.returns.size_bytes < returns_.size_bytes()) {
            return bad_input("The view of the returns has {} bytes; the scores of the host have {}.",
                             views.returns.size_bytes, returns_.size_bytes());
        }
        views_ = views;
        return {};
    }
    void record(Recorder& recorder, const NoiseContext& /*when*/) const noexcept override {
        // The recording is submitted after the caller has written; a flush that failed would have failed at creation.
        static_cast<void>(returns_.flush());
        recorder.barrier(Barrier::ComputeToTransfer);
        recorder.copy(returns_, views_.returns.part(0, returns_.size_bytes()));
        recorder.fill(views_.evaluations, 0);
        recorder.barrier(Barrier::TransferToCompute);
        recorder.barrier(Barrier::TransferToTransfer);
    }

   private:
    Buffer returns_;
    std::uint32_t members_ = 0;
    std::uint32_t episodes_ = 0;
    EvaluatorViews views_;
};

}  // namespace

Evaluator::~Evaluator() = default;

Result<std::unique_ptr<HostScoresEvaluator>> host_scores_evaluator(const Device& device, std::uint32_t members,
                                                                   std::uint32_t episodes) {
    const std::uint64_t size_bytes = std::uint64_t{4} * members * episodes;
    if (size_bytes == 0 || size_bytes > device.info().limits.max_storage_buffer_range) {
        return bad_input(
            "Scores of {} members with {} episodes each do not make a buffer of this device: "
            "there must be at least one, and at most {} bytes of them.",
            members, episodes, device.info().limits.max_storage_buffer_range);
    }
    YOLK_TRY(Buffer returns,
             device.create_buffer(
                 {.size_bytes = size_bytes, .domain = MemoryDomain::Upload, .label = "scores of the host"}));
    return std::unique_ptr<HostScoresEvaluator>(std::make_unique<HostScores>(std::move(returns), members, episodes));
}

Result<std::unique_ptr<Evaluator>> rollout_evaluator(const Device& device, const RolloutDesc& desc,
                                                     std::uint32_t first_episode) {
    YOLK_TRY(RolloutPlan plan, plan_rollout(device, desc));
    return std::unique_ptr<Evaluator>(std::make_unique<RolloutEvaluator>(
        std::move(plan), desc.mean_only ? 1U : desc.members, desc.episodes, first_episode));
}

}  // namespace yolk::evolve
