// SPDX-License-Identifier: Apache-2.0
// Layers over images as texts: "8x3", "16x3s2p1", "max2".
#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <system_error>

#include "yolk/internal/core/printable.hpp"
#include "yolk/learn.hpp"

namespace yolk::tasks {
namespace {

using Kind = ImageLayer::Kind;

std::uint32_t usual_stride(const ImageLayer& layer) { return layer.kind == Kind::Convolution ? 1 : layer.size; }

bool take_word(std::string_view& rest, std::string_view word) {
    if (!rest.starts_with(word)) return false;
    rest.remove_prefix(word.size());
    return true;
}
bool take_digits(std::string_view& rest, std::uint32_t& number) {
    const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (code != std::errc()) return false;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return true;
}

std::optional<ImageLayer> layer_of(std::string_view rest) {
    ImageLayer layer;
    if (take_word(rest, "max")) {
        layer.kind = Kind::MaxPool;
    } else if (take_word(rest, "mean")) {
        layer.kind = Kind::MeanPool;
    } else if (!take_digits(rest, layer.channels) || !take_word(rest, "x")) {
        return std::nullopt;
    }
    if (!take_digits(rest, layer.size)) return std::nullopt;
    layer.stride = usual_stride(layer);
    if (take_word(rest, "s") && !take_digits(rest, layer.stride)) return std::nullopt;
    if (take_word(rest, "p") && !take_digits(rest, layer.padding)) return std::nullopt;
    return rest.empty() ? std::optional(layer) : std::nullopt;
}

}  // namespace

std::string to_string(const ImageLayer& layer) {
    std::string text = layer.kind == Kind::Convolution
                           ? fmt::format("{}x{}", layer.channels, layer.size)
                           : fmt::format("{}{}", layer.kind == Kind::MaxPool ? "max" : "mean", layer.size);
    if (layer.stride != usual_stride(layer)) text += fmt::format("s{}", layer.stride);
    if (layer.padding != 0) text += fmt::format("p{}", layer.padding);
    return text;
}

Result<std::vector<ImageLayer>> parse_image_layers(std::string_view list) {
    std::vector<ImageLayer> layers;
    for (std::size_t first = 0; !list.empty() && first <= list.size();) {
        const std::string_view text = list.substr(first, list.find(',', first) - first);
        first += text.size() + 1;
        const std::optional<ImageLayer> layer = layer_of(text);
        if (!layer) {
            return bad_input(
                "'{}' is no layer over images. '8x3' is a convolution to 8 channels by a kernel of 3 x 3, 'max2' and "
                "'mean2' are poolings by 2 x 2; 's2' behind one is its stride, and 'p1' behind that its padding.",
                shown(std::string(text)));
        }
        layers.push_back(*layer);
    }
    return layers;
}

Result<void> validate(const ImageLayer& layer) {
    const auto refused = [&](std::string_view what, std::uint32_t given, std::uint32_t least, std::uint32_t most) {
        return bad_input("The layer '{}' over images has a {} of {}; it must be from {} to {}.", to_string(layer), what,
                         given, least, most);
    };
    constexpr std::uint32_t kMostChannels = 8192, kMostSize = 1024;
    if (layer.kind == Kind::Convolution && (layer.channels < 1 || layer.channels > kMostChannels))
        return refused("number of channels", layer.channels, 1, kMostChannels);
    if (layer.size < 1 || layer.size > kMostSize) return refused("size", layer.size, 1, kMostSize);
    if (layer.stride < 1 || layer.stride > kMostSize) return refused("stride", layer.stride, 1, kMostSize);
    if (layer.padding >= layer.size) return refused("padding", layer.padding, 0, layer.size - 1);
    return {};
}

}  // namespace yolk::tasks
