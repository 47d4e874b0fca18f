// SPDX-License-Identifier: Apache-2.0
#include "example_systems.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "yolk/internal/core/philox.hpp"

namespace yolk::cli {
namespace {

using namespace hyper;

/// 3-8-1: as examples/08_xor.cpp has it.
std::unique_ptr<ExampleSystem> make_xor() {
    const auto hidden =
        hyperfunction("hidden", MatrixWeight{.out = 8, .in = 3},
                      [](const Traced& w, const Traced& x) { return relu(linear(w, x)); }, {.optimize = true});
    const auto output =
        hyperfunction("output", MatrixWeight{.out = 1, .in = 8},
                      [](const Traced& w, const Traced& h) { return sigmoid(linear(w, h)); }, {.optimize = true});
    std::vector<Example> examples;
    for (const float a : {0.0F, 1.0F}) {
        for (const float b : {0.0F, 1.0F})  // the third input, always 1, is what gives the layers a bias
            examples.push_back({{{"x", Tensor::vector({a, b, 1.0F})}}, Tensor::vector({a == b ? 0.0F : 1.0F})});
    }
    return std::make_unique<ExampleSystem>(
        ExampleSystem{System("xor", [=](const Inputs& in) { return output(hidden(in["x"])); }), std::move(examples),
                      numeric_distance()});
}

/// y = B (A x), two 2x2 matrices from the identity, that together rotate by 45 degrees and double.
std::unique_ptr<ExampleSystem> make_rotation() {
    const MatrixWeight identity{
        .out = 2, .in = 2, .noise_rank = 2, .values = *Tensor::create({2, 2}, {1.0F, 0.0F, 0.0F, 1.0F})};
    const auto matrix = [](const Traced& weight, const Traced& x) { return linear(weight, x); };
    const auto a = hyperfunction("a", identity, matrix, {.optimize = true});
    const auto b = hyperfunction("b", identity, matrix, {.optimize = true});
    std::vector<Example> examples;
    const float root = std::sqrt(2.0F);  // 2 cos 45 = 2 sin 45
    for (std::uint32_t i = 0; i < 50; ++i) {
        const auto words = philox4x32({i, 0, 0, 0}, {45, 2});
        const float x = static_cast<float>(words[0] >> 8U) * 0x1p-23F - 1.0F;
        const float y = static_cast<float>(words[1] >> 8U) * 0x1p-23F - 1.0F;
        examples.push_back({{{"x", Tensor::vector({x, y})}}, Tensor::vector({root * (x - y), root * (x + y)})});
    }
    return std::make_unique<ExampleSystem>(ExampleSystem{
        System("rotation", [=](const Inputs& in) { return b(a(in["x"])); }), std::move(examples), numeric_distance()});
}

/// A host function with a model's sampling parameters: x + temperature, wanted x + .5.
std::unique_ptr<ExampleSystem> make_temperature() {
    const auto warm = hyperfunction("warm", LmParam{.temperature = 0.0},
                                    [](const LmParam& p, double x) { return x + p.temperature; }, {.optimize = true});
    std::vector<Example> examples;
    examples.reserve(5);
    for (int x = 0; x < 5; ++x) examples.push_back({{{"x", x}}, x + 0.5});
    Metric distance(
        [](const Value& prediction, const Value& expected) {
            constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
            return -std::abs(prediction.as_number().value_or(kNan) - expected.as_number().value_or(kNan));
        },
        "minus the distance");
    return std::make_unique<ExampleSystem>(
        ExampleSystem{System("temperature", [=](const Inputs& in) { return warm(in["x"]); }), std::move(examples),
                      std::move(distance)});
}

/// A host function with a text: each NAME in it becomes the example's name.
std::unique_ptr<ExampleSystem> make_greeting() {
    const auto greet = hyperfunction("greet", TextParameter{"Hello, NAME!"},
                                     [](const TextParameter& p, const std::string& name) {
                                         constexpr std::string_view kPlace = "NAME";
                                         std::string greeting = p.text;
                                         for (std::size_t at = 0; (at = greeting.find(kPlace, at)) != std::string::npos;
                                              at += name.size())
                                             greeting.replace(at, kPlace.size(), name);
                                         return greeting;
                                     },
                                     {.optimize = true});
    std::vector<Example> examples;
    for (const char* const name : {"Ada", "Grace", "Emmy"})
        examples.push_back({{{"name", name}}, "Hello, " + std::string(name) + "!"});
    return std::make_unique<ExampleSystem>(ExampleSystem{
        System("greeting", [=](const Inputs& in) { return greet(in["name"]); }), std::move(examples), exact_match()});
}

OptimizeOptions settings(std::uint32_t steps, std::uint32_t population, float sigma, float learning_rate) {
    OptimizeOptions options;
    options.evolution.population = population;
    options.evolution.sigma = sigma;
    options.evolution.learning_rate = learning_rate;
    options.generations = steps;
    return options;
}

}  // namespace

std::span<const ExampleSystemInfo> example_systems() {
    static const std::array<ExampleSystemInfo, 4> systems{
        {{"xor", "Exclusive or by two small layers", settings(200, 64, 0.3F, 0.2F), &make_xor},
         {"rotation", "Two matrices whose product rotates and doubles", settings(100, 32, 0.1F, 0.1F), &make_rotation},
         {"temperature", "One number of a host function", settings(20, 20, 0.1F, 0.1F), &make_temperature},
         {"greeting", "One text of a host function (try parameters, and ablate --how zero)", {}, &make_greeting}}};
    return systems;
}

MakeSystemTask task_of(const ExampleSystemInfo& info) {
    const auto made = std::make_shared<std::unique_ptr<ExampleSystem>>();
    return [made, &info]() -> Result<SystemTask> {
        *made = info.make();
        ExampleSystem& example = **made;
        return SystemTask{.system = &example.system, .examples = example.examples, .metric = &example.metric};
    };
}

}  // namespace yolk::cli
