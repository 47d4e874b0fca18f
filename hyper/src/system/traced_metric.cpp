// SPDX-License-Identifier: Apache-2.0
#include "traced_metric.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "valid_graph.hpp"
#include "yolk/internal/hyper/control.hpp"
#include "yolk/internal/hyper/metric.hpp"
#include "yolk/internal/hyper/traced_operations.hpp"

namespace yolk::hyper {
namespace {

Traced flattened(const Traced& x) {
    if (x.type().kind != ValueKind::Tensor) return x;
    return reshape(x, {x.shape().element_count().value_or(0)});
}

Traced class_numbers(std::uint64_t classes) {
    std::vector<float> numbers(classes);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
    return Tensor::vector(std::move(numbers));
}

/// [rows, classes] and [rows].
Traced sequence_reward(const Traced& prediction, const Traced& expected) {
    const Shape& shape = prediction.shape();
    const std::uint64_t rows = shape.rank() == 2 ? shape[0] : 1;
    const std::uint64_t classes = shape.rank() == 2 ? shape[1] : 1;
    const Traced is_right = equal_to(reshape(expected, {rows, 1}), class_numbers(classes));
    return mean(sum(log_softmax(prediction) * is_right, -1), 0);
}

Result<void> check_sequence(const ValueType& prediction, const Value& expected) {
    const Tensor* const wanted = expected.tensor();
    const Shape& shape = prediction.shape;
    if (prediction.kind != ValueKind::Tensor || wanted == nullptr || shape.rank() != 2 || wanted->shape().rank() != 1 ||
        shape[0] != wanted->shape()[0] || shape[0] == 0 || shape[1] == 0) {
        return bad_input(
            "A prediction of {} beside expected {}: sequences are scored as [rows, classes] beside [rows], with at "
            "least one row and class.",
            to_string(prediction), to_string(type_of(expected)));
    }
    const auto classes = static_cast<float>(shape[1]);
    for (const float id : wanted->values()) {
        if (id >= 0.0F && id < classes && id == static_cast<float>(static_cast<std::int64_t>(id))) continue;
        return bad_input("Expected class {} of {} classes; it must be a whole number from 0 to {}.", id, classes,
                         classes - 1.0F);
    }
    return {};
}

/// The reward as the host computes it: the traced form, evaluated for these two values.
Result<double> reward_on_host(const Metric& metric, const Value& prediction, const Value& expected) {
    const std::pair<std::string, ValueType> inputs[] = {{"prediction", type_of(prediction)},
                                                        {"expected", type_of(expected)}};
    YOLK_TRY(const Graph graph, trace(metric.name, inputs, [&](std::span<const Traced> values) {
                 return TracedValues{metric.traced(values[0], values[1])};
             }));
    YOLK_TRY(const std::vector<Value> rewards, call_valid(graph, {.inputs = {prediction, expected}}));
    return rewards.front().as_number();
}

}  // namespace

Traced traced_numeric_distance(const Traced& prediction, const Traced& expected) {
    const Traced difference = flattened(prediction) - flattened(expected);
    const Traced squares = difference * difference;
    return -(squares.type().kind == ValueKind::Tensor ? sum(squares) : squares);
}

Traced traced_cross_entropy(const Traced& prediction, const Traced& expected) {
    const Traced logits = flattened(prediction);
    const std::uint64_t classes = logits.shape().element_count().value_or(0);
    const bool is_one_hot = expected.type().kind == ValueKind::Tensor &&
                            expected.shape().element_count().value_or(0) == classes && classes != 1;
    const Traced right = is_one_hot ? flattened(expected) : equal_to(flattened(expected), class_numbers(classes));
    return sum(log_softmax(logits) * right);
}

Metric traced_metric(std::string name, std::function<Traced(const Traced&, const Traced&)> reward) {
    Metric metric;
    metric.name = std::move(name);
    metric.traced = std::move(reward);
    metric.on_device = true;
    metric.per_example = [form = metric](const Value& prediction, const Value& expected) {
        return reward_on_host(form, prediction, expected);
    };
    return metric;
}

Metric sequence_cross_entropy() {
    Metric metric = traced_metric("sequence cross entropy", sequence_reward);
    metric.check = check_sequence;
    metric.per_example = [of = metric.per_example](const Value& prediction, const Value& expected) -> Result<double> {
        YOLK_TRY_VOID(check_sequence(type_of(prediction), expected));
        return of(prediction, expected);
    };
    return metric;
}

}  // namespace yolk::hyper
