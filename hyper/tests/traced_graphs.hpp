// SPDX-License-Identifier: Apache-2.0
// Graphs out of functions, and their values, for tests of transforms.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "yolk/internal/hyper/control.hpp"
#include "yolk/internal/hyper/executor.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {

using InputTypes = std::vector<std::pair<std::string, ValueType>>;

inline ValueType number_type() { return {ValueKind::Number, {}}; }
inline ValueType text_type() { return {ValueKind::Text, {}}; }
inline ValueType boolean_type() { return {ValueKind::Boolean, {}}; }
inline ValueType tensor_type(Shape shape) { return {ValueKind::Tensor, std::move(shape)}; }

inline Graph traced(const std::string& name, const InputTypes& inputs,
                    const std::function<TracedValues(std::span<const Traced>)>& function) {
    auto graph = trace(name, inputs, function);
    EXPECT_OK(graph);
    return graph ? *graph : Graph{.name = name};
}

/// The graph's outputs; call(), call_async() and a walk must agree on them.
inline std::vector<Value> run(const Graph& graph, std::vector<Value> inputs, std::vector<Value> parameters = {}) {
    EXPECT_OK(validate(graph));
    const GraphArguments arguments{.inputs = std::move(inputs), .parameters = std::move(parameters)};
    const auto results = call(graph, arguments);
    EXPECT_OK(results);
    auto pool = HostPool::create({.threads = 4});
    const auto overlapped = call_async(graph, arguments, *pool);
    EXPECT_OK(overlapped);
    if (!results || !overlapped) return {};
    EXPECT_EQ(*results, *overlapped) << graph.name;
    auto walk = Walk::create(graph, arguments);
    EXPECT_OK(walk);
    while (walk && walk->next() != nullptr) {
        const auto stepped = walk->step();
        EXPECT_OK(stepped);
        if (!stepped) return {};
    }
    EXPECT_EQ(walk->outputs().value(), *results) << graph.name;
    return *results;
}

inline Value vector(std::vector<float> values) { return Tensor::vector(std::move(values)); }
inline Value matrix(std::uint64_t rows, std::vector<float> values) {
    const std::uint64_t columns = values.size() / rows;
    return Tensor::create({rows, columns}, std::move(values)).value();
}

}  // namespace yolk::hyper
