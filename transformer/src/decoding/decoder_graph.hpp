// SPDX-License-Identifier: Apache-2.0
// Llama over traced values (Touvron et al. 2023, arXiv:2302.13971): a norm by the root mean square in front of each
// part (Zhang, Sennrich 2019, arXiv:1910.07467), rotary positions (Su et al. 2021, arXiv:2104.09864), queries that
// share heads of keys (Ainslie et al. 2023, arXiv:2305.13245), and SwiGLU (Shazeer 2020, arXiv:2002.05202).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "decoder_weights.hpp"
#include "yolk/internal/hyper/hyperfunction.hpp"

namespace yolk::transformer {

/// The name of the network's input, [length].
inline constexpr const char* kDecoderIds = "ids";

/// What attention sees from some tokens, and where they are.
struct Sight {
    hyper::Traced cosine, sine;  ///< of each token's angles, [tokens, half of a head's width]
    hyper::Traced seen;          ///< [tokens, places]: 1 where a token sees the place
    /// Keys and values of all places, [places, key heads, head width], from a layer's of the tokens.
    std::function<std::pair<hyper::Traced, hyper::Traced>(std::uint32_t layer, hyper::Traced keys,
                                                          hyper::Traced values)>
        remember;
};

/// Its hyperfunctions hold the weights. Immutable; threads may share it.
class DecoderGraph {
   public:
    DecoderGraph(DecoderConfig config, const ModelWeights& weights);

    /// Logits [length, vocabulary] of a whole text.
    [[nodiscard]] hyper::Traced operator()(const hyper::Traced& ids) const;
    /// The same of some tokens, [tokens, vocabulary].
    [[nodiscard]] hyper::Traced logits(const hyper::Traced& ids, const Sight& sight) const;
    [[nodiscard]] std::span<const hyper::AnyHyperfunction> functions() const noexcept { return functions_; }
    [[nodiscard]] const DecoderConfig& config() const noexcept { return config_; }

   private:
    [[nodiscard]] hyper::Traced apply(const std::string& name, const hyper::Traced& x) const;
    [[nodiscard]] hyper::Traced dense(const std::string& at, const hyper::Traced& x, bool has_bias) const;
    [[nodiscard]] hyper::Traced norm(const std::string& at, const hyper::Traced& x) const;
    [[nodiscard]] hyper::Traced attention(std::uint32_t layer, const hyper::Traced& x, const Sight& sight) const;
    [[nodiscard]] hyper::Traced inner(const std::string& at, const hyper::Traced& x) const;

    DecoderConfig config_;
    std::vector<hyper::AnyHyperfunction> functions_;
};

/// Of the first `places`: cosines and sines [places, half of a head's width] of the angles, which are rounded to fp32
/// as in PyPI's transformers.
[[nodiscard]] std::pair<hyper::Tensor, hyper::Tensor> rope_tables(const DecoderConfig& config, std::uint32_t places);

}  // namespace yolk::transformer
