// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "yolk/evolution.hpp"
#include "yolk/internal/core/philox.hpp"
#include "yolk/internal/evolve/parameter_setup.hpp"

namespace yolk::evolve {

/// Copies scores that were prepared on the host: what the rest of a generation does with them is then all there is to
/// see.
class PreparedScores final : public Evaluator {
   public:
    PreparedScores(Buffer scores, std::uint32_t members) : scores_(std::move(scores)), members_(members) {}
    static Result<std::unique_ptr<Evaluator>> create(const Device& device, Dispatcher& dispatcher,
                                                     const std::vector<float>& scores) {
        YOLK_TRY(Buffer buffer, device.create_buffer({.size_bytes = 4 * scores.size(), .label = "prepared scores"}));
        YOLK_TRY_VOID(dispatcher.upload(buffer, std::as_bytes(std::span(scores))));
        return std::unique_ptr<Evaluator>(
            std::make_unique<PreparedScores>(std::move(buffer), static_cast<std::uint32_t>(scores.size())));
    }
    [[nodiscard]] std::uint32_t members() const noexcept override { return members_; }
    [[nodiscard]] std::uint32_t episodes() const noexcept override { return 1; }
    [[nodiscard]] MemoryNeeds scratch() const noexcept override { return {}; }
    [[nodiscard]] Result<void> bind(const EvaluatorViews& views, const BufferView&) override {
        views_ = views;
        return {};
    }
    void record(Recorder& recorder, const NoiseContext&) const noexcept override {
        recorder.barrier(Barrier::ComputeToTransfer);
        recorder.copy(scores_, views_.returns.part(0, scores_.size_bytes()));
        recorder.fill(views_.evaluations, 3);
        recorder.barrier(Barrier::TransferToCompute);
        recorder.barrier(Barrier::TransferToTransfer);
    }

   private:
    Buffer scores_;
    std::uint32_t members_ = 0;
    EvaluatorViews views_;
};

/// Distinct numbers in [0, 1).
inline std::vector<float> drawn_scores(std::uint32_t count, std::uint32_t seed = 1) {
    std::vector<float> scores(count);
    for (std::uint32_t i = 0; i < count; ++i)
        scores[i] = static_cast<float>(philox4x32({i, 0, 0, 0}, {seed, 77})[0] >> 8U) * 0x1p-24F;
    return scores;
}

/// `layers` matrices [6, 5] and vectors [6].
inline ParameterTable layered_table(std::uint32_t layers) {
    std::vector<ParameterDesc> parameters;
    for (std::uint32_t i = 0; i < layers; ++i) {
        parameters.push_back({.name = "w" + std::to_string(i), .rows = 6, .columns = 5});
        parameters.push_back({.name = "b" + std::to_string(i), .rows = 6, .perturbation = Perturbation::Vector});
    }
    return *ParameterTable::create(std::move(parameters));
}

}  // namespace yolk::evolve
