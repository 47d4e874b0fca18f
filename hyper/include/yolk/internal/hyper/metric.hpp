// SPDX-License-Identifier: Apache-2.0
// What a system is made better by: higher is better.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "yolk/internal/hyper/traced.hpp"
#include "yolk/result.hpp"
#include "yolk/tensor.hpp"

namespace yolk::hyper {

/// What targets are drawn with.
enum class SampleNoise {
    Normal,  ///< of variance 1
    Gumbel,  ///< -log(-log(u)) of uniform u: the largest of logits with it is a draw of their softmax
};

/// Called from several threads at the same time, unless `concurrent` is unset. Exceptions are caught and become errors.
struct Metric {
    std::string name = "metric";
    /// Of systems with several outputs: the one that is scored. Every function here is then given that field in place
    /// of the record. Empty: predictions as they are.
    std::string field{};
    /// All predictions of one candidate, in the order of the examples. Exactly one of the two is set.
    std::function<Result<double>(std::span<const Value> predictions, std::span<const Value> expected)> whole{};
    /// One example at a time; the candidate's reward is the mean.
    std::function<Result<double>(const Value& prediction, const Value& expected)> per_example{};
    bool concurrent = true;
    /// What a prompt search is told about one example's score, in words. Empty: the score alone.
    std::function<Result<std::string>(const Value& prediction, const Value& expected, double score)> feedback{};
    /// The same reward of one example over traced values, one element: what derivatives are taken of
    /// (OptimizeOptions::gradient). A prediction of several outputs is a record, whose fields field(prediction, "name")
    /// gives. Empty: the metric has no derivative.
    std::function<Traced(const Traced& prediction, const Traced& expected)> traced{};
    /// Populations are scored by `traced`, on the device, so that predictions need not leave it. `per_example` gives
    /// the same rewards on the host. The mean over examples is then the kernel `reduce`'s, in fp32: the same bits where
    /// kernels make it and where the host does.
    bool on_device = false;
    /// Before `traced` is used: whether an expected value goes with predictions of a type. Empty: all do.
    std::function<Result<void>(const ValueType& prediction, const Value& expected)> check{};

    /// An expected value drawn from the model that the metric is the log likelihood of, up to constants: of a
    /// prediction and noise of its shape. For the Fisher matrix of K-FAC; empty: expected values stand in.
    std::function<Traced(const Traced& prediction, const Traced& noise)> sampled{};
    SampleNoise sample_noise = SampleNoise::Normal;

    Metric() = default;
    /// Any callable of either form, returning double or Result<double>.
    template <class F>
    // NOLINTNEXTLINE(google-explicit-constructor): a lambda is a metric
    requires(!std::is_same_v<std::remove_cvref_t<F>, Metric>) Metric(F function, std::string name_of_it = "metric")
        : name(std::move(name_of_it)) {
        if constexpr (std::is_invocable_v<F, std::span<const Value>, std::span<const Value>>) {
            whole = std::move(function);
        } else {
            static_assert(std::is_invocable_v<F, const Value&, const Value&>,
                          "a metric takes (predictions, expected), as spans of values or as two values");
            per_example = std::move(function);
        }
    }
};

struct Scores {
    double reward = 0.0;
    std::vector<double> per_example{};  ///< empty where the metric sees all at once
};
/// Errors: an exception, a reward that is not finite, a prediction without the metric's field; they name the metric,
/// and the example where there is one.
[[nodiscard]] Result<Scores> score(const Metric& metric, std::span<const Value> predictions,
                                   std::span<const Value> expected);

// Ready ones, per example.
[[nodiscard]] Metric exact_match();  ///< 1 or 0; numbers and tensors by bits, text by characters
/// 1 or 0: prediction > threshold equals expected > threshold, element by element.
[[nodiscard]] Metric classification(double threshold = 0.5);
/// Minus the summed squared difference of all elements. Has a derivative.
[[nodiscard]] Metric numeric_distance();
/// log of the probability of the expected class (a number, or a one-hot tensor) under softmax of the prediction. Has a
/// derivative.
[[nodiscard]] Metric cross_entropy();
/// Of a sequence: the mean over rows of the log of the probability, in nats, that softmax of a row of the prediction
/// [rows, classes] gives to the row's class in the expected [rows], whole numbers from 0. On the device, with a
/// derivative.
[[nodiscard]] Metric sequence_cross_entropy();
/// The prediction itself: for systems whose output is their reward, a number or a tensor of one element.
[[nodiscard]] Metric output_as_reward(std::string name = "output as reward");
/// The metric of one of several outputs: metric_of("scores", cross_entropy()).
[[nodiscard]] Metric metric_of(std::string field, Metric metric);
/// What a metric is given of a prediction. Error: no record, or one without the metric's field, with the names it has.
[[nodiscard]] Result<Value> scored_part(const Metric& metric, const Value& prediction);
/// A metric written over traced values: scored on the device, with a derivative. The reward is a number or a tensor of
/// one element.
[[nodiscard]] Metric traced_metric(std::string name,
                                   std::function<Traced(const Traced& prediction, const Traced& expected)> reward);
/// 1 where the text parses as JSON (`format` "json") or a number ("number"), else 0.
[[nodiscard]] Metric parse_success(std::string format = "json");

}  // namespace yolk::hyper
