// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/metric.hpp"
#include "article.hpp"
#include "caught.hpp"
#include "mean_rewards.hpp"
#include "numbers_reward.hpp"
#include "traced_metric.hpp"
#include "yolk/internal/hyper/traced_operations.hpp"
#include "yolk/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace yolk::hyper {
namespace {

/// Runs `metric()`, whose exceptions and rewards that are not finite become errors. `who` names it, and is asked only
/// then: populations are scored by the hundred thousand per second.
template <class Who, class F>
Result<double> reward_of(const Who& who, F&& metric) {
    Result<double> reward = caught(who, [&]() -> Result<double> {
        Result<double> made = metric();
        if (!made) return std::move(made).error().while_doing(fmt::format("scoring with {}", who()));
        return made;
    });
    if (reward && !std::isfinite(*reward))
        return bad_input("{} returned {}; a reward is a finite number.", who(), *reward);
    return reward;
}

/// Numbers of a value: a tensor's elements, or the one it is. A view of the value.
class Numbers {
   public:
    [[nodiscard]] static Result<Numbers> of(const Value& value) {
        if (value.tensor() != nullptr) return Numbers(value.tensor()->values());
        YOLK_TRY(const double number, value.as_number());
        return Numbers(number);
    }
    [[nodiscard]] std::size_t size() const noexcept { return number_ ? 1 : elements_.size(); }
    [[nodiscard]] double operator[](std::size_t i) const {
        return number_ ? *number_ : static_cast<double>(elements_[i]);
    }

   private:
    explicit Numbers(std::span<const float> elements) : elements_(elements) {}
    explicit Numbers(double number) : number_(number) {}
    std::span<const float> elements_{};
    std::optional<double> number_{};
};

/// Of two values with as many numbers each: `reward` of those, given and wanted.
template <class Reward>
Metric metric_of_numbers(std::string name, Reward reward) {
    const auto of_values = [reward](const Value& prediction, const Value& expected) -> Result<double> {
        YOLK_TRY(const Numbers given, Numbers::of(prediction));
        YOLK_TRY(const Numbers wanted, Numbers::of(expected));
        if (given.size() == wanted.size()) return reward(given, wanted);
        return bad_input("The prediction has {} numbers, the expected value has {}; both need the same count.",
                         given.size(), wanted.size());
    };
    const auto of_numbers = [reward](std::span<const float> given, std::span<const double> wanted) {
        return given.size() == wanted.size() ? reward(given, wanted) : std::numeric_limits<double>::quiet_NaN();
    };
    return {NumbersReward{.of_values = of_values, .of_plain = reward_of_plain(of_numbers)}, std::move(name)};
}

/// `wanted` is the number of a class, or one-hot. Nothing if it is neither.
template <class Wanted>
std::optional<std::size_t> class_of(const Wanted& wanted, std::size_t classes) {
    if (wanted.size() == 1) {
        const double index = wanted[0];
        if (index >= 0.0 && index < static_cast<double>(classes) && index == std::floor(index))
            return static_cast<std::size_t>(index);
        return std::nullopt;
    }
    std::optional<std::size_t> right;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i] == 0.0) continue;
        if (wanted[i] != 1.0 || right) return std::nullopt;
        right = i;
    }
    return wanted.size() == classes ? right : std::nullopt;
}

template <class Given>
double log_probability(const Given& logits, std::size_t right) {
    double largest = logits[0];
    for (std::size_t i = 1; i < logits.size(); ++i) largest = std::max(largest, double{logits[i]});
    double sum = 0.0;
    for (std::size_t i = 0; i < logits.size(); ++i) sum += std::exp(logits[i] - largest);
    return logits[right] - largest - std::log(sum);
}

Result<double> cross_entropy_of(const Value& prediction, const Value& expected) {
    YOLK_TRY(const Numbers logits, Numbers::of(prediction));
    YOLK_TRY(const Numbers wanted, Numbers::of(expected));
    if (const auto right = class_of(wanted, logits.size())) return log_probability(logits, *right);
    return bad_input(
        "Expected {} beside {} classes; it must be a whole number from 0 to {}, or a tensor with one 1 among zeros.",
        to_string(expected), logits.size(), static_cast<std::int64_t>(logits.size()) - 1);
}

double cross_entropy_of_numbers(std::span<const float> logits, std::span<const double> wanted) {
    const auto right = class_of(wanted, logits.size());
    return right ? log_probability(logits, *right) : std::numeric_limits<double>::quiet_NaN();
}

bool is_number_text(std::string_view text) {
    double number = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Metric metric_of(std::string field, Metric metric) {
    metric.field = std::move(field);
    return metric;
}

Result<Value> scored_part(const Metric& metric, const Value& prediction) {
    if (metric.field.empty()) return prediction;
    const Value* const part = prediction.record() != nullptr ? prediction.record()->find(metric.field) : nullptr;
    if (part != nullptr) return *part;
    return bad_input("Metric '{}' scores the output '{}', and a prediction is {}. Name one of the system's outputs.",
                     metric.name, metric.field, with_article(type_of(prediction)));
}

std::optional<WantedNumbers> WantedNumbers::of(std::span<const Value> expected) {
    WantedNumbers wanted;
    for (const Value& value : expected) {
        const Result<Numbers> numbers = Numbers::of(value);
        if (!numbers) return std::nullopt;
        for (std::size_t i = 0; i < numbers->size(); ++i) wanted.numbers_.push_back((*numbers)[i]);
        wanted.first_.push_back(wanted.numbers_.size());
    }
    return wanted;
}

Result<Scores> score(const Metric& metric, std::span<const Value> predictions, std::span<const Value> expected) {
    return score_strided(metric, {.first = predictions.data(), .count = predictions.size()}, expected);
}

Result<Scores> score_strided(const Metric& metric, const StridedValues& given, std::span<const Value> expected) {
    std::vector<Value> parts;
    for (std::size_t i = 0; !metric.field.empty() && i < given.count; ++i) {
        auto part = scored_part(metric, given[i]);
        if (!part) return std::move(part).error().while_doing(fmt::format("scoring example {}", i));
        parts.push_back(*std::move(part));
    }
    // A metric of all examples takes them side by side.
    for (std::size_t i = 0; metric.whole && metric.field.empty() && given.stride != 1 && i < given.count; ++i)
        parts.push_back(given[i]);
    const StridedValues predictions = parts.empty() ? given : StridedValues{parts.data(), parts.size()};
    if (predictions.count != expected.size()) {
        return bad_input("There are {} predictions but {} expected values; give one for each.", predictions.count,
                         expected.size());
    }
    const auto who = [&metric] { return fmt::format("Metric '{}'", metric.name); };
    if (static_cast<bool>(metric.whole) == static_cast<bool>(metric.per_example))
        return bad_input("{} must have exactly one of its two forms set.", who());
    Scores scores;
    if (metric.whole) {
        YOLK_TRY(scores.reward, reward_of(who, [&] {
                     return metric.whole(std::span(predictions.first, predictions.count), expected);
                 }));
        return scores;
    }
    if (predictions.count == 0) return bad_input("{} was given no example; it needs at least one.", who());
    double sum = 0.0;
    scores.per_example.reserve(predictions.count);
    for (std::size_t i = 0; i < predictions.count; ++i) {
        YOLK_TRY(const double reward, reward_of([&] { return fmt::format("{} at example {}", who(), i); },
                                                [&] { return metric.per_example(predictions[i], expected[i]); }));
        scores.per_example.push_back(reward);
        sum += reward;
    }
    scores.reward = sum / static_cast<double>(predictions.count);
    if (metric.on_device) {
        const std::vector<float> rewards(scores.per_example.begin(), scores.per_example.end());
        scores.reward = double{mean_rewards(rewards, 1).front()};
    }
    if (!std::isfinite(scores.reward))
        return bad_input("{}: the sum of {} finite rewards is {}; give smaller ones.", who(), predictions.count, sum);
    return scores;
}

Metric exact_match() {
    return {[](const Value& prediction, const Value& expected) { return prediction == expected ? 1.0 : 0.0; },
            "exact match"};
}

Metric classification(double threshold) {
    return metric_of_numbers("classification", [threshold](const auto& given, const auto& wanted) {
        for (std::size_t i = 0; i < given.size(); ++i) {
            if ((given[i] > threshold) != (wanted[i] > threshold)) return 0.0;
        }
        return 1.0;
    });
}

Metric numeric_distance() {
    Metric metric = metric_of_numbers("numeric distance", [](const auto& given, const auto& wanted) {
        double sum = 0.0;
        for (std::size_t i = 0; i < given.size(); ++i) sum += (given[i] - wanted[i]) * (given[i] - wanted[i]);
        return 0.0 - sum;
    });
    metric.traced = traced_numeric_distance;
    // -|p - e|^2 is the log of a normal density of variance 1/2.
    metric.sampled = [](const Traced& p, const Traced& noise) { return p + noise * std::sqrt(0.5); };
    return metric;
}

Metric cross_entropy() {
    Metric metric(NumbersReward{.of_values = cross_entropy_of, .of_plain = reward_of_plain(cross_entropy_of_numbers)},
                  "cross entropy");
    metric.traced = traced_cross_entropy;
    metric.sampled = [](const Traced& logits, const Traced& noise) { return argmax(logits + noise); };
    metric.sample_noise = SampleNoise::Gumbel;
    return metric;
}

Metric output_as_reward(std::string name) {
    const auto of_values = [](const Value& reward, const Value& /*expected*/) { return reward.as_number(); };
    const auto of_numbers = [](std::span<const float> reward, std::span<const double> /*expected*/) {
        return reward.size() == 1 ? double{reward[0]} : std::numeric_limits<double>::quiet_NaN();
    };
    return {NumbersReward{.of_values = of_values, .of_plain = reward_of_plain(of_numbers)}, std::move(name)};
}

Metric parse_success(std::string format) {
    return {[format = std::move(format)](const Value& prediction, const Value&) -> Result<double> {
                if (format != "json" && format != "number")
                    return bad_input("parse_success(\"{}\"): \"json\" and \"number\" are known.", format);
                if (prediction.text() == nullptr) return 0.0;
                const bool parses = format == "json" ? parse_json(*prediction.text(), "the prediction").has_value()
                                                     : is_number_text(*prediction.text());
                return parses ? 1.0 : 0.0;
            },
            "parse success"};
}

}  // namespace yolk::hyper
