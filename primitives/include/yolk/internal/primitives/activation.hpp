// SPDX-License-Identifier: Apache-2.0
// The activations that kernels may end in; formulas, domains and errors are in docs/kernels/elementwise.md. Class P.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "yolk/internal/abi/activation.h"

namespace yolk {

/// Values are those of yolk/internal/abi/activation.h.
enum class Activation : std::uint32_t {
    Identity = abi::activation::kActivationIdentity,
    Relu = abi::activation::kActivationRelu,  ///< max(0, x)
    Gelu = abi::activation::kActivationGelu,  ///< x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), arXiv:1606.08415
    Silu = abi::activation::kActivationSilu,  ///< x / (1 + exp(-x))
    Tanh = abi::activation::kActivationTanh,
    Sigmoid = abi::activation::kActivationSigmoid,  ///< 1 / (1 + exp(-x))
};

constexpr auto enum_words(Activation /*type*/) {
    return std::to_array<std::string_view>({"identity", "relu", "gelu", "silu", "tanh", "sigmoid"});
}

/// "gelu"; "unknown" for a number that is none.
[[nodiscard]] constexpr const char* to_string(Activation activation) noexcept {
    switch (activation) {
        case Activation::Identity: return "identity";
        case Activation::Relu: return "relu";
        case Activation::Gelu: return "gelu";
        case Activation::Silu: return "silu";
        case Activation::Tanh: return "tanh";
        case Activation::Sigmoid: return "sigmoid";
    }
    return "unknown";
}

}  // namespace yolk
