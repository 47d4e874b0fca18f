// SPDX-License-Identifier: Apache-2.0
// EGGROLL over a kernel of your own: an Evaluator binds it and records it; noise, fitness, update and optimizer are
// Yolk's. The kernel (05_own_evaluation.comp) scores how well a curve of 64 points fits a wave; it uses the GPU's own
// sine, so the run is not exact: Determinism::Fast.
#include <cmath>
#include <cstdio>

#include "yolk/context.hpp"
#include "yolk/evolution.hpp"

namespace {

constexpr std::uint32_t kSpirv[] = {
#include "05_own_evaluation.spv.inc"
};
struct Params {  // as the kernel's push constants
    std::uint32_t seed_low, seed_high, time, members, points;
    float sigma;
};
constexpr yolk::Kernel<Params> kCurveKernel{
    {.name = "curve", .spirv = kSpirv, .binding_count = 3, .params_bytes = sizeof(Params)}};
constexpr std::uint32_t kPoints = 64, kMembers = 512;

class CurveEvaluator final : public yolk::evolve::Evaluator {
   public:
    static yolk::Result<std::unique_ptr<Evaluator>> create(const yolk::Device& device) {
        auto made = std::make_unique<CurveEvaluator>();
        made->device_ = &device;
        YOLK_TRY(made->pipeline_, device.pipeline(kCurveKernel, {}));
        return std::unique_ptr<Evaluator>(std::move(made));
    }
    [[nodiscard]] std::uint32_t members() const noexcept override { return kMembers; }
    [[nodiscard]] std::uint32_t episodes() const noexcept override { return 1; }
    [[nodiscard]] yolk::MemoryNeeds scratch() const noexcept override { return {}; }
    [[nodiscard]] yolk::Result<void> bind(const yolk::evolve::EvaluatorViews& views,
                                          const yolk::BufferView& /*scratch*/) override {
        const yolk::BufferView all[] = {views.parameters, views.returns, views.evaluations};
        YOLK_TRY(binding_, device_->bind(pipeline_, all));
        return {};
    }
    void record(yolk::Recorder& recorder, const yolk::NoiseContext& when) const noexcept override {
        const Params params{static_cast<std::uint32_t>(when.seed),
                            static_cast<std::uint32_t>(when.seed >> 32U),
                            when.time,
                            kMembers,
                            kPoints,
                            when.sigma};
        recorder.dispatch(binding_, params,
                          yolk::LinearGrid{.groups = kMembers / 32, .cost_per_group = 32 * kPoints * 100});
    }

   private:
    const yolk::Device* device_ = nullptr;
    yolk::PipelineOf<Params> pipeline_;
    yolk::BindingOf<Params> binding_;
};

yolk::Result<float> run() {
    YOLK_TRY(const auto context, yolk::Context::create());
    yolk::evolve::EvolutionParts parts;
    YOLK_TRY(parts.parameters, yolk::ParameterTable::create(
                                   {{.name = "curve", .rows = kPoints, .perturbation = yolk::Perturbation::Vector}}));
    parts.initial.assign(kPoints, 0.0F);
    YOLK_TRY(parts.evaluator, CurveEvaluator::create(context.device()));
    YOLK_TRY(auto evolution, yolk::evolve::Evolution::create(context.device(), context.dispatcher(), std::move(parts),
                                                             {.population = kMembers,
                                                              .sigma = 0.05F,
                                                              .learning_rate = 0.2F,
                                                              .sigma_decay = 0.99F,
                                                              .seed = 3,
                                                              .determinism = yolk::Determinism::Fast}));
    for (std::uint32_t generation = 0; generation < 100; ++generation) {
        YOLK_TRY(const auto summary, evolution.step());
        if (generation % 20 == 0) std::printf("generation %u: mean score %.4f\n", generation, double{summary.mean});
    }
    float worst = 0.0F;
    for (std::uint32_t i = 0; i < kPoints; ++i) {
        const float wave = std::sin(static_cast<float>(i) * 6.2831853F / kPoints);
        worst = std::max(worst, std::abs(evolution.parameters()[i] - wave));
    }
    return worst;
}

}  // namespace

int main() {
    const auto worst = run();
    if (!worst) return std::fprintf(stderr, "%s\n", worst.error().message.c_str()), 1;
    std::printf("no point of the curve is further than %.3f from the wave\n", double{*worst});
    return *worst < 0.1F ? 0 : 1;
}
