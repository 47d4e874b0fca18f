// SPDX-License-Identifier: Apache-2.0
// Where the rewards of a generation are when evolve shapes them: made on the device and left there, or the host's.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "yolk/internal/evolve/evaluator.hpp"

namespace yolk::hyper {

/// The rewards are written before each generation of Evolution, on one of the two sides.
class GenerationScores final : public evolve::Evaluator {
   public:
    /// Errors: host_scores_evaluator's.
    [[nodiscard]] static Result<std::unique_ptr<GenerationScores>> create(const Device& device, std::uint32_t members) {
        YOLK_TRY(std::unique_ptr<evolve::HostScoresEvaluator> host, evolve::host_scores_evaluator(device, members));
        return std::unique_ptr<GenerationScores>(new GenerationScores(std::move(host)));
    }

    /// For this generation: fp32 [members] on the device, written by what was submitted before the generation; the
    /// buffer that the fitness is made of.
    [[nodiscard]] BufferView on_device() noexcept {
        are_on_device_ = true;
        return views_.returns.part(0, sizeof(float) * std::uint64_t{members()});
    }
    /// For this generation: [members], mapped.
    [[nodiscard]] std::span<float> on_host() noexcept {
        are_on_device_ = false;
        return host_->returns();
    }
    [[nodiscard]] bool are_on_device() const noexcept { return are_on_device_; }

    [[nodiscard]] std::uint32_t members() const noexcept override { return host_->members(); }
    [[nodiscard]] std::uint32_t episodes() const noexcept override { return 1; }
    [[nodiscard]] MemoryNeeds scratch() const noexcept override { return host_->scratch(); }
    [[nodiscard]] Result<void> bind(const evolve::EvaluatorViews& views, const BufferView& scratch) override {
        views_ = views;
        return host_->bind(views, scratch);
    }
    void record(Recorder& recorder, const NoiseContext& when) const noexcept override {
        if (!are_on_device_) return host_->record(recorder, when);
        recorder.barrier(Barrier::ComputeToTransfer);
        recorder.fill(views_.evaluations, 0);
        recorder.barrier(Barrier::TransferToCompute);
        recorder.barrier(Barrier::TransferToTransfer);
    }

   private:
    explicit GenerationScores(std::unique_ptr<evolve::HostScoresEvaluator> host) : host_(std::move(host)) {}
    std::unique_ptr<evolve::HostScoresEvaluator> host_;
    evolve::EvaluatorViews views_;
    bool are_on_device_ = false;
};

}  // namespace yolk::hyper
