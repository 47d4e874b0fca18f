// SPDX-License-Identifier: Apache-2.0
// Layers of networks over traced values, composed of the operations.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/internal/hyper/traced_operations.hpp"

namespace yolk::hyper {

/// (x - mean) / sqrt(variance + epsilon) along the last dimension, times `scale`, plus `shift`. epsilon: 2^-40 to 2^40.
struct NormOptions {
    std::optional<Traced> scale{};  ///< [columns], or what else goes with x
    std::optional<Traced> shift{};  ///< likewise
    double epsilon = 1e-5;
};
[[nodiscard]] Traced layer_norm(const Traced& x, const NormOptions& options = {}, Line line = Line::current());
/// x / sqrt(mean(x^2) + epsilon), likewise.
[[nodiscard]] Traced rms_norm(const Traced& x, const NormOptions& options = {}, Line line = Line::current());

/// Of a minimal gated unit (Zhou, Wu, Zhang, Zhou 2016, arXiv:1603.09420).
struct GruWeights {
    Traced gate_input;       ///< [state, in]
    Traced gate_state;       ///< [state, state]
    Traced gate_bias;        ///< [state]
    Traced candidate_input;  ///< [state, in]
    Traced candidate_state;  ///< [state, state]
    Traced candidate_bias;   ///< [state]
};
/// The next state [..., state] from x [..., in] and a state. With f = sigmoid(W_f x + U_f state + b_f):
/// state + f (tanh(W_h x + U_h (f state) + b_h) - state)
[[nodiscard]] Traced gru_step(const GruWeights& weights, const Traced& x, const Traced& state,
                              Line line = Line::current());

/// What a convolution or a pooling sees at once, one number for each dimension of the image, such as [height, width].
struct Window {
    Integers size;        ///< elements
    Integers stride{};    ///< from one place of the window to the next; empty: 1, and of pooling the size
    Integers padding{};   ///< elements around the image, before and after it; empty: 0. Below the window's reach
    Integers dilation{};  ///< from one element of the window to the next; empty: 1
};
/// x [..., image, channels], such as [rows, height, width, channels], at each place of the window: [..., places, window
/// channels], such as [rows, height', width', kernel_height kernel_width channels]. Padding is `fill`. A gather, whose
/// pullback adds each element's shares in the order of the places.
[[nodiscard]] Traced patches(const Traced& x, const Window& window, double fill = 0.0, Line line = Line::current());
/// The linear layer of a weight [out, window in] over the patches of x [..., image, in]: [..., places, out].
[[nodiscard]] Traced convolution(const Traced& weight, const Traced& x, const Window& window,
                                 Line line = Line::current());
/// The largest element of each channel at each place: [..., places, channels]. Padding counts as the lowest fp32.
[[nodiscard]] Traced max_pool(const Traced& x, const Window& window, Line line = Line::current());
/// The mean likewise; padding counts as zeros.
[[nodiscard]] Traced mean_pool(const Traced& x, const Window& window, Line line = Line::current());

/// [rows, columns]: 1 where a row may look at a column, otherwise 0. The last row looks at all columns, each row before
/// it at one less.
[[nodiscard]] Traced causal_mask(std::uint32_t rows, std::uint32_t columns);
[[nodiscard]] inline Traced causal_mask(std::uint32_t n) { return causal_mask(n, n); }
/// softmax((q / sqrt(d)) k^T) v for q [..., n, d], k [..., m, d], v [..., m, e]: [..., n, e]. With `causal` a query
/// does not see what comes after it (causal_mask(n, m)).
[[nodiscard]] Traced attention(const Traced& q, const Traced& k, const Traced& v, bool causal = false,
                               Line line = Line::current());

}  // namespace yolk::hyper
