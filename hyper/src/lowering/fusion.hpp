// SPDX-License-Identifier: Apache-2.0
// Equations that one kernel computes together: a layer and the activation of what it gives. The values between are
// never written, which is most of what a small layer costs on a CPU driver.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "emitter.hpp"
#include "yolk/internal/primitives/activation.hpp"

namespace yolk::hyper::population {

/// One of several layers that one kernel computes together (layer_networks.hpp).
struct NetworkLayer {
    struct Bias {
        std::size_t equation = 0;  ///< the sum
        std::size_t operand = 0;   ///< of it, a drawn vector
    };
    std::size_t equation = 0;  ///< the product
    std::optional<Bias> bias{};
    Activation activation = Activation::Identity;
    std::optional<std::size_t> activation_equation{};
    VariableId result{};
    [[nodiscard]] std::vector<std::size_t> equations() const {
        std::vector<std::size_t> all{equation};
        if (bias) all.push_back(bias->equation);
        if (activation_equation) all.push_back(*activation_equation);
        return all;
    }
};

/// What an equation becomes.
struct Fused {
    bool is_absorbed = false;  ///< an earlier equation's kernel does it
    /// The kernel's result is that of the absorbed activation, where there is one.
    Activation activation = Activation::Identity;
    std::optional<VariableId> result{};   ///< none: nothing was absorbed. Examples, and their graphs, may be replaced
    std::vector<NetworkLayer> network{};  ///< empty: the kernel is that of one layer
};

/// The activation that an operation is; none for other operations.
[[nodiscard]] std::optional<Activation> activation_of(const Operation& operation);
/// By equation. `read_on_host` says of each variable whether an equation on the host reads it. A layer takes the
/// activation where nothing else reads what it gives: no other equation, no output.
[[nodiscard]] std::vector<Fused> fuse(const Graph& graph, const PlacedGraph& placed,
                                      const std::vector<bool>& read_on_host);

}  // namespace yolk::hyper::population
