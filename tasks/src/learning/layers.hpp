// SPDX-License-Identifier: Apache-2.0
// A network as a system of hyperfunctions: "layer0.weight", "layer0.bias", ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "yolk/learn.hpp"
#include "yolk/system.hpp"

namespace yolk::tasks {

/// What a layer makes of a row.
struct LayerShape {
    std::optional<ImageLayer> image{};     ///< nothing: a full layer
    std::vector<std::uint32_t> inputs{};   ///< {height, width, channels}, or {width}
    std::vector<std::uint32_t> outputs{};  ///< likewise
    std::uint32_t in = 0, out = 0;         ///< of its matrix [out, in]; 0 of a pooling
    [[nodiscard]] bool has_matrix() const noexcept { return out != 0; }
};
/// From inputs to classes. Errors: layers over images where rows are none, or that do not fit the image.
[[nodiscard]] Result<std::vector<LayerShape>> layers_of(const Model& model);
/// As many rows as evaluating them together takes buffers of at most 64 MiB; at least 1.
[[nodiscard]] std::size_t rows_at_once(const std::vector<LayerShape>& layers);
/// Of the input "x", [width] or [rows, width], to logits; its hyperfunctions are registered.
[[nodiscard]] Result<hyper::System> system_of(const Model& model);
/// With the model's parameters.
[[nodiscard]] Result<hyper::System> tuned_system_of(const Model& model);
[[nodiscard]] Result<void> take_parameters(const hyper::System& system, Model& model);
/// A layer's parameters, in their order.
struct LayerParameter {
    std::string name{};
    std::vector<std::uint64_t> shape{};
};
/// Errors: layers_of's.
[[nodiscard]] Result<std::vector<LayerParameter>> parameters_of(const Model& model);

}  // namespace yolk::tasks
