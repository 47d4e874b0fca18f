// SPDX-License-Identifier: Apache-2.0
// A network as a system of hyperfunctions: "layer0.weight", "layer0.bias", ...
#pragma once

#include <vector>

#include "yolk/learn.hpp"
#include "yolk/system.hpp"

namespace yolk::tasks {

/// All widths, inputs and classes included.
[[nodiscard]] std::vector<std::uint32_t> widths_of(const Model& model);
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
[[nodiscard]] std::vector<LayerParameter> parameters_of(const Model& model);

}  // namespace yolk::tasks
