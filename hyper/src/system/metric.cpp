// SPDX-License-Identifier: Apache-2.0
#include "yolk/hyper/metric.hpp"
#include "caught.hpp"
#include "traced_metric.hpp"
#include "yolk/core/json.hpp"
#include "yolk/hyper/traced_operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
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

/// Numbers of a value: a tensor's elements, or the one it is.
Result<std::vector<double>> numbers_of(const Value& value) {
    if (value.tensor() != nullptr)
        return std::vector<double>(value.tensor()->values().begin(), value.tensor()->values().end());
    YOLK_TRY(const double number, value.as_number());
    return std::vector<double>{number};
}

/// The same without a copy; a view of the value.
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
    return {[reward](const Value& prediction, const Value& expected) -> Result<double> {
                YOLK_TRY(const Numbers given, Numbers::of(prediction));
                YOLK_TRY(const Numbers wanted, Numbers::of(expected));
                if (given.size() == wanted.size()) return reward(given, wanted);
                return bad_input("A prediction of {} numbers beside {} expected ones; they must be as many.",
                                 given.size(), wanted.size());
            },
            std::move(name)};
}

Result<std::size_t> class_of(const Value& expected, std::size_t classes) {
    YOLK_TRY(const std::vector<double> numbers, numbers_of(expected));
    if (numbers.size() == 1) {
        const double index = numbers[0];
        if (index >= 0.0 && index < static_cast<double>(classes) && index == std::floor(index))
            return static_cast<std::size_t>(index);
    } else if (numbers.size() == classes && std::ranges::count(numbers, 1.0) == 1 &&
               std::ranges::count(numbers, 0.0) == static_cast<std::ptrdiff_t>(classes) - 1) {
        return static_cast<std::size_t>(std::ranges::find(numbers, 1.0) - numbers.begin());
    }
    return bad_input(
        "Expected {} beside {} classes; it must be a whole number from 0 to {}, or a tensor with one 1 among zeros.",
        to_string(expected), classes, static_cast<std::int64_t>(classes) - 1);
}

Result<double> cross_entropy_of(const Value& prediction, const Value& expected) {
    YOLK_TRY(const std::vector<double> logits, numbers_of(prediction));
    YOLK_TRY(const std::size_t right, class_of(expected, logits.size()));
    const double largest = *std::ranges::max_element(logits);
    double sum = 0.0;
    for (const double logit : logits) sum += std::exp(logit - largest);
    return logits[right] - largest - std::log(sum);
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
    return bad_input("Metric '{}' scores the output '{}', and a prediction is a {}. Name one of the system's outputs.",
                     metric.name, metric.field, to_string(type_of(prediction)));
}

Result<Scores> score(const Metric& metric, std::span<const Value> all_predictions, std::span<const Value> expected) {
    std::vector<Value> parts;
    for (std::size_t i = 0; !metric.field.empty() && i < all_predictions.size(); ++i) {
        auto part = scored_part(metric, all_predictions[i]);
        if (!part) return std::move(part).error().while_doing(fmt::format("scoring example {}", i));
        parts.push_back(*std::move(part));
    }
    const std::span<const Value> predictions = metric.field.empty() ? all_predictions : std::span<const Value>(parts);
    if (predictions.size() != expected.size()) {
        return bad_input("{} predictions beside {} expected values; they must be as many.", predictions.size(),
                         expected.size());
    }
    const auto who = [&metric] { return fmt::format("Metric '{}'", metric.name); };
    if (static_cast<bool>(metric.whole) == static_cast<bool>(metric.per_example))
        return bad_input("{} must have exactly one of its two forms set.", who());
    Scores scores;
    if (metric.whole) {
        YOLK_TRY(scores.reward, reward_of(who, [&] { return metric.whole(predictions, expected); }));
        return scores;
    }
    if (predictions.empty()) return bad_input("{} was given no example; it needs at least one.", who());
    double sum = 0.0;
    scores.per_example.reserve(predictions.size());
    for (std::size_t i = 0; i < predictions.size(); ++i) {
        YOLK_TRY(const double reward, reward_of([&] { return fmt::format("{} at example {}", who(), i); },
                                                [&] { return metric.per_example(predictions[i], expected[i]); }));
        scores.per_example.push_back(reward);
        sum += reward;
    }
    scores.reward = sum / static_cast<double>(predictions.size());
    return scores;
}

Metric exact_match() {
    return {[](const Value& prediction, const Value& expected) { return prediction == expected ? 1.0 : 0.0; },
            "exact match"};
}

Metric classification(double threshold) {
    return metric_of_numbers("classification", [threshold](const Numbers& given, const Numbers& wanted) {
        for (std::size_t i = 0; i < given.size(); ++i) {
            if ((given[i] > threshold) != (wanted[i] > threshold)) return 0.0;
        }
        return 1.0;
    });
}

Metric numeric_distance() {
    Metric metric = metric_of_numbers("numeric distance", [](const Numbers& given, const Numbers& wanted) {
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
    Metric metric(cross_entropy_of, "cross entropy");
    metric.traced = traced_cross_entropy;
    metric.sampled = [](const Traced& logits, const Traced& noise) { return argmax(logits + noise); };
    metric.sample_noise = SampleNoise::Gumbel;
    return metric;
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
