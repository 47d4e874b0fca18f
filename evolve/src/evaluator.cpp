// SPDX-License-Identifier: Apache-2.0
#include "yolk/evolve/evaluator.hpp"

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
    void record(Recorder& recorder, const NoiseTime& when) const noexcept override {
        bound_.record(recorder, when, first_episode_);
    }

   private:
    RolloutPlan plan_;
    BoundRollout bound_;
    std::uint32_t members_ = 0;
    std::uint32_t episodes_ = 0;
    std::uint32_t first_episode_ = 0;
};

}  // namespace

Evaluator::~Evaluator() = default;

Result<std::unique_ptr<Evaluator>> rollout_evaluator(const Device& device, const RolloutDesc& desc,
                                                     std::uint32_t first_episode) {
    YOLK_TRY(RolloutPlan plan, plan_rollout(device, desc));
    return std::unique_ptr<Evaluator>(std::make_unique<RolloutEvaluator>(
        std::move(plan), desc.mean_only ? 1U : desc.members, desc.episodes, first_episode));
}

}  // namespace yolk::evolve
