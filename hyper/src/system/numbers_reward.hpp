// SPDX-License-Identifier: Apache-2.0
// Metrics over numbers alone. A population's plain outputs are scored by them without a Value for each prediction.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "yolk/internal/hyper/metric.hpp"
#include "yolk/internal/hyper/population.hpp"

namespace yolk::hyper {

/// Expected values as numbers, converted once for a whole population.
class WantedNumbers {
   public:
    /// Nothing if one of them is neither a tensor nor a number.
    [[nodiscard]] static std::optional<WantedNumbers> of(std::span<const Value> expected);
    [[nodiscard]] std::size_t size() const noexcept { return first_.size() - 1; }
    [[nodiscard]] std::span<const double> operator[](std::size_t example) const {
        return std::span(numbers_).subspan(first_[example], first_[example + 1] - first_[example]);
    }

   private:
    std::vector<double> numbers_;
    std::vector<std::size_t> first_{0};
};

/// What Metric::per_example holds if the metric looks at numbers alone. score_population() finds it there, by its type.
struct NumbersReward {
    std::function<Result<double>(const Value& prediction, const Value& expected)> of_values;
    /// Rewards of the candidates from `first` on, one for each element of `rewards`, with the bits of score(). Not
    /// finite where score() may give an error: then `of_values` is asked, and says why.
    std::function<void(const PlainOutputs& outputs, std::uint32_t first, const WantedNumbers& wanted,
                       std::span<double> rewards)>
        of_plain;

    Result<double> operator()(const Value& prediction, const Value& expected) const {
        return of_values(prediction, expected);
    }
};

/// NumbersReward::of_plain from a function of the numbers of one prediction and those that are expected.
template <class Reward>
auto reward_of_plain(Reward reward) {
    return [reward](const PlainOutputs& outputs, std::uint32_t first, const WantedNumbers& wanted,
                    std::span<double> rewards) {
        for (std::size_t i = 0; i < rewards.size(); ++i) {
            const std::span<const float> elements = outputs.of(first + static_cast<std::uint32_t>(i));
            double sum = 0.0;  // not finite if one of the rewards is not
            for (std::size_t e = 0; e < wanted.size(); ++e) {
                const std::size_t end = e + 1 < wanted.size() ? outputs.first[e + 1] : elements.size();
                sum += reward(elements.subspan(outputs.first[e], end - outputs.first[e]), wanted[e]);
            }
            rewards[i] = sum / static_cast<double>(wanted.size());
        }
    };
}

/// Predictions of one candidate that lie `stride` values apart.
struct StridedValues {
    const Value* first = nullptr;
    std::size_t count = 0;
    std::size_t stride = 1;
    [[nodiscard]] const Value& operator[](std::size_t i) const { return first[i * stride]; }
};

/// score() of those.
[[nodiscard]] Result<Scores> score_strided(const Metric& metric, const StridedValues& predictions,
                                           std::span<const Value> expected);

}  // namespace yolk::hyper
