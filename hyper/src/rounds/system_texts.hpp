// SPDX-License-Identifier: Apache-2.0
// The optimized texts of a system as what a prompt search works on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "yolk/optimize.hpp"
#include "yolk/prompts.hpp"

namespace yolk::hyper::prompts {

/// Groups of text that are optimized and not frozen, with their texts now.
[[nodiscard]] Texts optimized_texts(const ParameterSet& set, std::span<const std::string> frozen);

struct SystemTask {
    System* system = nullptr;
    std::span<const Example> train{};
    std::span<const Example> validation{};
    const Metric* metric = nullptr;
    std::uint32_t samples_per_example = 1;  ///< runs that a score is the mean of; records are of the first
    std::uint64_t model_calls_per_example = 0;
    std::span<const std::string> frozen{};  ///< groups
};

/// The models in force answer; reflection goes to TextOptions::reflector, or to them by the tag "reflection". What the
/// task points to must outlive it. One thread at a time.
class SystemTexts final : public TextObjective {
   public:
    SystemTexts(const SystemTask& task, const TextOptions& text, TextRunOptions run);

    [[nodiscard]] const TextRunOptions& options() const noexcept override { return run_; }
    [[nodiscard]] Texts start() const override { return start_; }
    [[nodiscard]] std::uint32_t train_size() const noexcept override {
        return static_cast<std::uint32_t>(task_.train.size());
    }
    [[nodiscard]] std::uint32_t validation_size() const noexcept override {
        return static_cast<std::uint32_t>(task_.validation.size());
    }
    [[nodiscard]] std::string identity() const override;
    [[nodiscard]] Result<std::vector<TextScore>> evaluate(TextSplit split, std::span<const std::uint32_t> ids,
                                                          const Texts& candidate, bool capture) override;
    [[nodiscard]] std::vector<Result<chat::Answer>> reflect(std::span<const chat::Request> requests) override;
    [[nodiscard]] Result<void> check(const std::string& component, const std::string& text) const override;
    [[nodiscard]] std::uint64_t model_calls_per_example() const noexcept override {
        return task_.model_calls_per_example * task_.samples_per_example;
    }
    [[nodiscard]] TextCost cost() const noexcept override { return cost_; }
    void offer(const Texts& candidate, double mean) override;
    [[nodiscard]] bool report(const TextStep& step) override;
    void resumed(const TextStep& last) override { last_step_ = last; }
    void stopped(std::string_view why) override { stopped_by_ = why; }

    /// The best candidate that was offered; nothing: none was.
    [[nodiscard]] const std::optional<std::pair<Texts, double>>& best() const noexcept { return best_; }
    [[nodiscard]] const std::string& stopped_by() const noexcept { return stopped_by_; }
    [[nodiscard]] bool stopped_by_caller() const noexcept { return stopped_by_caller_; }
    [[nodiscard]] std::optional<double> start_mean() const noexcept { return start_mean_; }
    [[nodiscard]] const TextStep& last_step() const noexcept { return last_step_; }

   private:
    SystemTask task_;
    const TextOptions* text_;
    TextRunOptions run_;
    Texts start_;
    TextCost cost_{};
    std::optional<std::pair<Texts, double>> best_{};
    std::optional<double> start_mean_{};
    TextStep last_step_{};
    std::string stopped_by_{};
    bool stopped_by_caller_ = false;
};

}  // namespace yolk::hyper::prompts
