// SPDX-License-Identifier: Apache-2.0
#include "layers.hpp"

#include <fmt/format.h>

#include <utility>

namespace yolk::tasks {
namespace {

using namespace hyper;

Traced activated(Activation activation, const Traced& x) {
    switch (activation) {
        case Activation::Relu: return relu(x);
        case Activation::Tanh: return tanh(x);
        case Activation::Gelu: return gelu(x);
        case Activation::Silu: return silu(x);
    }
    return x;
}

struct Layer {
    Hyperfunction<MatrixWeight> weight;
    Hyperfunction<VectorWeight> bias;
};

std::vector<Layer> layers_of(const Model& model) {
    const std::vector<std::uint32_t> widths = widths_of(model);
    std::vector<Layer> layers;
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
        layers.push_back(
            {hyperfunction(fmt::format("layer{}.weight", i), MatrixWeight{.out = widths[i + 1], .in = widths[i]},
                           [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true}),
             hyperfunction(fmt::format("layer{}.bias", i), VectorWeight{.size = widths[i + 1]},
                           [](const Traced& b, const Traced& x) { return x + b; }, {.optimize = true})});
    }
    return layers;
}

}  // namespace

std::vector<std::uint32_t> widths_of(const Model& model) {
    std::uint32_t inputs = 1;
    for (const std::uint32_t extent : model.shape) inputs *= extent;
    std::vector<std::uint32_t> widths{inputs};
    widths.insert(widths.end(), model.network.hidden.begin(), model.network.hidden.end());
    widths.push_back(static_cast<std::uint32_t>(model.classes.size()));
    return widths;
}

std::vector<LayerParameter> parameters_of(const Model& model) {
    const std::vector<std::uint32_t> widths = widths_of(model);
    std::vector<LayerParameter> parameters;
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
        parameters.push_back({fmt::format("layer{}.weight", i), {widths[i + 1], widths[i]}});
        parameters.push_back({fmt::format("layer{}.bias", i), {widths[i + 1]}});
    }
    return parameters;
}

Result<System> system_of(const Model& model) {
    const std::vector<Layer> layers = layers_of(model);
    System system(
        std::string(kLearnedSystem),
        [layers, activation = model.network.activation](const Inputs& in) {
            Traced x = in["x"];
            for (std::size_t i = 0; i < layers.size(); ++i) {
                x = layers[i].bias(layers[i].weight(x));
                if (i + 1 < layers.size()) x = activated(activation, x);
            }
            return x;
        },
        model.seed);
    for (const Layer& layer : layers) {
        YOLK_TRY_VOID(system.add(layer.weight));
        YOLK_TRY_VOID(system.add(layer.bias));
    }
    return system;
}

Result<System> tuned_system_of(const Model& model) {
    YOLK_TRY(System system, system_of(model));
    const std::vector<LayerParameter> parameters = parameters_of(model);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        YOLK_TRY(Tensor values, Tensor::create(Shape(parameters[i].shape), model.parameters.at(i)));
        YOLK_TRY_VOID(system.parameters().set(parameters[i].name, std::move(values)));
    }
    return system;
}

Result<void> take_parameters(const System& system, Model& model) {
    model.parameters.clear();
    for (const LayerParameter& parameter : parameters_of(model)) {
        const ParameterGroup* const group = system.parameters().find(parameter.name);
        if (group == nullptr) return bad_input("The network has no parameter '{}'.", parameter.name);
        model.parameters.emplace_back(group->values.values().begin(), group->values.values().end());
    }
    return {};
}

}  // namespace yolk::tasks
