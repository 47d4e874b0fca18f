// SPDX-License-Identifier: Apache-2.0
// The systems of the published settings.
#pragma once

#include <cmath>
#include <vector>

#include "yolk/internal/core/philox.hpp"
#include "yolk/optimize.hpp"

namespace yolk::hyper {

/// A system with what it learns from. Not to be copied: the function refers to nothing but its own hyperfunctions.
struct Task {
    System system;
    std::vector<Example> examples;
    Metric metric;
};

/// Minus the distance of two numbers.
inline Metric absolute_error() {
    return Metric(
        [](const Value& prediction, const Value& expected) {
            return -std::abs(prediction.as_number().value_or(NAN) - expected.as_number().value_or(NAN));
        },
        "absolute error");
}

/// x + temperature against x + .5, from temperature 0: a host function with five numbers, one of which matters.
inline Task temperature_task(std::uint64_t seed = 1) {
    const auto warm = hyperfunction("warm", LmParam{.temperature = 0.0},
                                    [](const LmParam& p, double x) { return x + p.temperature; }, {.optimize = true});
    Task task{System(
                  "temperature", [=](const Inputs& in) { return warm(in["x"]); }, seed),
              {},
              absolute_error()};
    for (int x = 0; x < 5; ++x) task.examples.push_back({{{"x", x}}, x + 0.5});
    return task;
}

/// y = B (A x), both 2x2 and first the identity; what is wanted rotates by 45 degrees and doubles. 50 points in
/// [-1, 1)^2.
inline Task rotation_task(std::uint64_t seed = 1) {
    const Tensor identity = *Tensor::create({2, 2}, {1, 0, 0, 1});
    const auto matrix = [](const Traced& weight, const Traced& x) { return linear(weight, x); };
    const MatrixWeight weight{.out = 2, .in = 2, .noise_rank = 2, .values = identity};
    const auto a = hyperfunction("a", weight, matrix, {.optimize = true});
    const auto b = hyperfunction("b", weight, matrix, {.optimize = true});
    Task task{System(
                  "rotation", [=](const Inputs& in) { return b(a(in["x"])); }, seed),
              {},
              numeric_distance()};
    for (std::uint32_t i = 0; i < 50; ++i) {
        const auto words = philox4x32({i, 0, 0, 0}, {45, 2});
        const float x = static_cast<float>(words[0] >> 8U) * 0x1p-23F - 1.0F;
        const float y = static_cast<float>(words[1] >> 8U) * 0x1p-23F - 1.0F;
        const float root = std::sqrt(2.0F);  // 2 cos 45 = 2 sin 45
        task.examples.push_back({{{"x", Tensor::vector({x, y})}}, Tensor::vector({root * (x - y), root * (x + y)})});
    }
    return task;
}

inline std::vector<Example> xor_examples() {
    std::vector<Example> examples;
    for (const float a : {0.0F, 1.0F}) {
        for (const float b : {0.0F, 1.0F})
            examples.push_back({{{"x", Tensor::vector({a, b})}}, Tensor::vector({a == b ? 0.0F : 1.0F})});
    }
    return examples;
}

/// 2-4-1, relu then sigmoid, no biases.
inline Task xor_task(std::uint64_t seed = 1) {
    const auto hidden =
        hyperfunction("hidden", MatrixWeight{.out = 4, .in = 2},
                      [](const Traced& w, const Traced& x) { return relu(linear(w, x)); }, {.optimize = true});
    const auto output =
        hyperfunction("output", MatrixWeight{.out = 1, .in = 4},
                      [](const Traced& w, const Traced& h) { return sigmoid(linear(w, h)); }, {.optimize = true});
    return {System(
                "xor", [=](const Inputs& in) { return output(hidden(in["x"])); }, seed),
            xor_examples(), numeric_distance()};
}
inline Task one_layer_task(std::uint64_t seed = 1) {
    const auto layer =
        hyperfunction("layer", MatrixWeight{.out = 1, .in = 2},
                      [](const Traced& w, const Traced& x) { return sigmoid(linear(w, x)); }, {.optimize = true});
    return {System(
                "one layer", [=](const Inputs& in) { return layer(in["x"]); }, seed),
            xor_examples(), numeric_distance()};
}

inline OptimizeOptions temperature_options(std::uint64_t seed) {
    return {.evolution = {.population = 20, .sigma = 0.1F, .learning_rate = 0.1F, .seed = seed}, .generations = 20};
}
inline OptimizeOptions rotation_options(std::uint64_t seed) {
    return {.evolution = {.population = 32, .sigma = 0.1F, .learning_rate = 0.1F, .seed = seed}, .generations = 100};
}
inline OptimizeOptions xor_options(std::uint64_t seed) {
    return {.evolution = {.population = 64, .sigma = 0.3F, .learning_rate = 0.2F, .seed = seed}, .generations = 200};
}

}  // namespace yolk::hyper
