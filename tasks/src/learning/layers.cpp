// SPDX-License-Identifier: Apache-2.0
#include "layers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/hyper/traced_layers.hpp"

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

constexpr std::uint64_t kMostRowElements = std::uint64_t{1} << 24U;
constexpr std::uint64_t kMostInputs = std::uint64_t{1} << 20U;  // of a matrix
constexpr std::size_t kBufferBytes = std::size_t{64} << 20U;

std::uint64_t count_of(const std::vector<std::uint32_t>& shape) {
    std::uint64_t count = 1;
    for (const std::uint32_t extent : shape) count *= extent;
    return count;
}

/// The most numbers that a row has in a layer: what goes in, what its windows see, what comes out.
std::uint64_t row_elements(const LayerShape& layer) {
    std::uint64_t seen = 0;
    if (layer.image) {
        seen = std::uint64_t{layer.outputs[0]} * layer.outputs[1] * layer.image->size * layer.image->size;
        seen = std::min(seen, kMostRowElements + 1) * layer.inputs[2];
    }
    return std::max({seen, count_of(layer.inputs), count_of(layer.outputs)});
}

Result<LayerShape> image_layer_of(const ImageLayer& image, const std::vector<std::uint32_t>& inputs) {
    YOLK_TRY_VOID(validate(image));
    LayerShape layer{.image = image, .inputs = inputs};
    for (std::size_t side = 0; side < 2; ++side) {
        const std::uint64_t extent = std::uint64_t{inputs[side]} + 2 * std::uint64_t{image.padding};
        if (image.size > extent) {
            return bad_input(
                "The layer '{}' needs an image of at least {} x {}, and the one that comes to it is {} x {} with a "
                "padding of {}. Make it smaller, give it a padding, or leave it out.",
                to_string(image), image.size, image.size, inputs[0], inputs[1], image.padding);
        }
        layer.outputs.push_back(static_cast<std::uint32_t>((extent - image.size) / image.stride + 1));
    }
    const std::uint64_t seen = std::uint64_t{image.size} * image.size * inputs[2];
    const bool has_matrix = image.kind == ImageLayer::Kind::Convolution;
    layer.outputs.push_back(has_matrix ? image.channels : inputs[2]);
    if (has_matrix) {
        layer.in = static_cast<std::uint32_t>(std::min(seen, kMostInputs + 1));
        layer.out = image.channels;
    }
    if (seen <= kMostInputs && row_elements(layer) <= kMostRowElements) return layer;
    return bad_input(
        "The layer '{}' over an image of {} x {} with {} channels takes too much memory: a window may see {} numbers, "
        "and all windows of an image together {}. Give it a larger stride, or put a pooling before it.",
        to_string(image), inputs[0], inputs[1], inputs[2], kMostInputs, kMostRowElements);
}

/// {height, width, channels}. Errors: rows that are no images.
Result<std::vector<std::uint32_t>> image_shape(const Model& model) {
    std::vector<std::uint32_t> shape = model.shape;
    if (shape.size() == 2) shape.push_back(1);
    if (shape.size() == 3) return shape;
    return bad_input(
        "The network has layers over images, such as '{}', and rows of {} have [{}] inputs. Images come from IDX "
        "files, folders, and .npy files of [rows, height, width] or [rows, height, width, channels]; without "
        "network.conv the "
        "rows may have any shape.",
        to_string(model.network.image_layers.front()), shown(model.data), fmt::join(model.shape, ", "));
}

struct Layer {
    LayerShape shape;
    std::optional<Hyperfunction<MatrixWeight>> weight{};
    std::optional<Hyperfunction<VectorWeight>> bias{};
};

Window window_of(const ImageLayer& image) {
    const std::int64_t size = image.size, stride = image.stride, padding = image.padding;
    return {.size = {size, size}, .stride = {stride, stride}, .padding = {padding, padding}};
}

std::vector<Layer> functions_of(const std::vector<LayerShape>& shapes) {
    std::vector<Layer> layers;
    std::size_t number = 0;
    for (const LayerShape& shape : shapes) {
        layers.push_back({shape});
        if (!shape.has_matrix()) continue;
        layers.back().weight =
            hyperfunction(fmt::format("layer{}.weight", number), MatrixWeight{.out = shape.out, .in = shape.in},
                          [image = shape.image](const Traced& w, const Traced& x) {
                              return image ? convolution(w, x, window_of(*image)) : linear(w, x);
                          },
                          {.optimize = true});
        layers.back().bias = hyperfunction(fmt::format("layer{}.bias", number++), VectorWeight{.size = shape.out},
                                           [](const Traced& b, const Traced& x) { return x + b; }, {.optimize = true});
    }
    return layers;
}

Traced applied(const Layer& layer, const Traced& x) {
    if (layer.weight) return (*layer.bias)((*layer.weight)(x));
    const Window window = window_of(*layer.shape.image);
    return layer.shape.image->kind == ImageLayer::Kind::MaxPool ? max_pool(x, window) : mean_pool(x, window);
}

/// x [width] or [rows, width], or images of them, with rows of another shape.
Traced rows_as(const Traced& x, bool has_rows, const std::vector<std::uint32_t>& shape) {
    std::vector<std::uint64_t> extents(shape.begin(), shape.end());
    if (has_rows) extents.insert(extents.begin(), x.shape()[0]);
    return reshape(x, Shape(std::move(extents)));
}

}  // namespace

Result<std::vector<LayerShape>> layers_of(const Model& model) {
    std::vector<LayerShape> layers;
    std::vector<std::uint32_t> shape{static_cast<std::uint32_t>(count_of(model.shape))};
    if (!model.network.image_layers.empty()) {
        YOLK_TRY(shape, image_shape(model));
    }
    for (const ImageLayer& image : model.network.image_layers) {
        YOLK_TRY(LayerShape layer, image_layer_of(image, shape));
        shape = layer.outputs;
        layers.push_back(std::move(layer));
    }
    std::vector<std::uint32_t> widths = model.network.hidden;
    widths.push_back(static_cast<std::uint32_t>(model.classes.size()));
    for (const std::uint32_t width : widths) {
        const auto in = static_cast<std::uint32_t>(count_of(shape));
        layers.push_back({.inputs = {in}, .outputs = {width}, .in = in, .out = width});
        shape = {width};
    }
    return layers;
}

std::size_t rows_at_once(const std::vector<LayerShape>& layers) {
    std::uint64_t most = 1;
    for (const LayerShape& layer : layers) most = std::max(most, row_elements(layer));
    return static_cast<std::size_t>(std::max<std::uint64_t>(1, kBufferBytes / (sizeof(float) * most)));
}

Result<std::vector<LayerParameter>> parameters_of(const Model& model) {
    YOLK_TRY(const std::vector<LayerShape> layers, layers_of(model));
    std::vector<LayerParameter> parameters;
    for (const LayerShape& layer : layers) {
        if (!layer.has_matrix()) continue;
        const std::size_t number = parameters.size() / 2;
        parameters.push_back({fmt::format("layer{}.weight", number), {layer.out, layer.in}});
        parameters.push_back({fmt::format("layer{}.bias", number), {layer.out}});
    }
    return parameters;
}

Result<System> system_of(const Model& model) {
    YOLK_TRY(const std::vector<LayerShape> shapes, layers_of(model));
    const std::vector<Layer> layers = functions_of(shapes);
    System system(
        std::string(kLearnedSystem),
        [layers, activation = model.network.activation](const Inputs& in) {
            Traced x = in["x"];
            const bool has_rows = x.shape().rank() == 2;
            for (std::size_t i = 0; i < layers.size(); ++i) {
                const Layer& layer = layers[i];
                const bool is_first = i == 0, follows_image = i > 0 && layers[i - 1].shape.image;
                if (is_first ? layer.shape.image.has_value() : follows_image && !layer.shape.image)
                    x = rows_as(x, has_rows, layer.shape.inputs);
                x = applied(layer, x);
                if (layer.weight && i + 1 < layers.size()) x = activated(activation, x);
            }
            return x;
        },
        model.seed);
    for (const Layer& layer : layers) {
        if (!layer.weight) continue;
        YOLK_TRY_VOID(system.add(*layer.weight));
        YOLK_TRY_VOID(system.add(*layer.bias));
    }
    return system;
}

Result<System> tuned_system_of(const Model& model) {
    YOLK_TRY(System system, system_of(model));
    YOLK_TRY(const std::vector<LayerParameter> parameters, parameters_of(model));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        YOLK_TRY(Tensor values, Tensor::create(Shape(parameters[i].shape), model.parameters.at(i)));
        YOLK_TRY_VOID(system.parameters().set(parameters[i].name, std::move(values)));
    }
    return system;
}

Result<void> take_parameters(const System& system, Model& model) {
    YOLK_TRY(const std::vector<LayerParameter> parameters, parameters_of(model));
    model.parameters.clear();
    for (const LayerParameter& parameter : parameters) {
        const ParameterGroup* const group = system.parameters().find(parameter.name);
        if (group == nullptr) return bad_input("The network has no parameter '{}'.", parameter.name);
        model.parameters.emplace_back(group->values.values().begin(), group->values.values().end());
    }
    return {};
}

}  // namespace yolk::tasks
