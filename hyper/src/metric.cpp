// SPDX-License-Identifier: Apache-2.0
#include "yolk/hyper/metric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <vector>

namespace yolk::hyper {
namespace {

/// Runs `metric()`, whose exceptions and rewards that are not finite become errors.
template <class F>
Result<double> caught(const std::string& who, F&& metric) {
    try {
        Result<double> reward = metric();
        if (!reward) return std::move(reward).error().while_doing(fmt::format("scoring with {}", who));
        if (!std::isfinite(*reward))
            return bad_input(fmt::format("{} returned {}; a reward is a finite number.", who, *reward));
        return reward;
    } catch (const std::exception& exception) {
        return bad_input(fmt::format("{} threw: {}", who, exception.what()));
    } catch (...) {
        return bad_input(fmt::format("{} threw something that is no std::exception.", who));
    }
}

/// Numbers of a value: a tensor's elements, or the one it is.
Result<std::vector<double>> numbers_of(const Value& value) {
    if (value.tensor() != nullptr)
        return std::vector<double>(value.tensor()->values().begin(), value.tensor()->values().end());
    YOLK_TRY(const double number, value.as_number());
    return std::vector<double>{number};
}

Result<void> same_count(const std::vector<double>& prediction, const std::vector<double>& expected) {
    if (prediction.size() == expected.size()) return {};
    return bad_input(fmt::format("A prediction of {} numbers beside {} expected ones; they must be as many.",
                                 prediction.size(), expected.size()));
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
        fmt::format("Expected {} beside {} classes; it must be a whole number from 0 to {}, or a tensor "
                    "with one 1 among zeros.",
                    to_string(expected), classes, static_cast<std::int64_t>(classes) - 1));
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

Result<Scores> score(const Metric& metric, std::span<const Value> predictions, std::span<const Value> expected) {
    if (predictions.size() != expected.size()) {
        return bad_input(fmt::format("{} predictions beside {} expected values; they must be as many.",
                                     predictions.size(), expected.size()));
    }
    const std::string who = fmt::format("Metric '{}'", metric.name);
    if (static_cast<bool>(metric.whole) == static_cast<bool>(metric.per_example))
        return bad_input(fmt::format("{} must have exactly one of its two forms set.", who));
    Scores scores;
    if (metric.whole) {
        YOLK_TRY(scores.reward, caught(who, [&] { return metric.whole(predictions, expected); }));
        return scores;
    }
    if (predictions.empty()) return bad_input(fmt::format("{} was given no example; it needs at least one.", who));
    double sum = 0.0;
    for (std::size_t i = 0; i < predictions.size(); ++i) {
        YOLK_TRY(const double reward, caught(fmt::format("{} at example {}", who, i),
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
    return {[threshold](const Value& prediction, const Value& expected) -> Result<double> {
                YOLK_TRY(const std::vector<double> given, numbers_of(prediction));
                YOLK_TRY(const std::vector<double> wanted, numbers_of(expected));
                YOLK_TRY_VOID(same_count(given, wanted));
                const bool same = std::ranges::equal(
                    given, wanted, [threshold](double a, double b) { return (a > threshold) == (b > threshold); });
                return same ? 1.0 : 0.0;
            },
            "classification"};
}

Metric numeric_distance() {
    return {[](const Value& prediction, const Value& expected) -> Result<double> {
                YOLK_TRY(const std::vector<double> given, numbers_of(prediction));
                YOLK_TRY(const std::vector<double> wanted, numbers_of(expected));
                YOLK_TRY_VOID(same_count(given, wanted));
                double sum = 0.0;
                for (std::size_t i = 0; i < given.size(); ++i) sum += (given[i] - wanted[i]) * (given[i] - wanted[i]);
                return 0.0 - sum;
            },
            "numeric distance"};
}

Metric cross_entropy() { return {cross_entropy_of, "cross entropy"}; }

Metric parse_success(std::string format) {
    return {[format](const Value& prediction, const Value&) -> Result<double> {
                if (format != "json" && format != "number")
                    return bad_input(fmt::format("parse_success(\"{}\"): \"json\" and \"number\" are known.", format));
                if (prediction.text() == nullptr) return 0.0;
                const bool parses = format == "json" ? parse_json(*prediction.text(), "the prediction").has_value()
                                                     : is_number_text(*prediction.text());
                return parses ? 1.0 : 0.0;
            },
            "parse success"};
}

}  // namespace yolk::hyper
