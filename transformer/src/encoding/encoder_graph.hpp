// SPDX-License-Identifier: Apache-2.0
// BERT over traced values (Devlin, Chang, Lee, Toutanova 2018, arXiv:1810.04805): one text at a time, so that texts are
// examples, and populations and batches are what they are for any other system.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "encoder_weights.hpp"
#include "yolk/internal/hyper/hyperfunction.hpp"
#include "yolk/internal/hyper/population.hpp"

namespace yolk::transformer {

/// Names of the network's inputs, [length] each: ids, and 1 for a token or 0 for padding.
inline constexpr const char* kIds = "ids";
inline constexpr const char* kSeen = "seen";
/// Of one of several texts: "query.ids".
[[nodiscard]] inline std::string input_of(const std::string& text, const char* input) { return text + "." + input; }

/// Its hyperfunctions hold the weights. Immutable; threads may share it.
class EncoderGraph {
   public:
    EncoderGraph(const EncoderConfig& config, const EncoderWeights& weights);

    /// The embedding, [width].
    [[nodiscard]] hyper::Traced operator()(const hyper::Traced& ids, const hyper::Traced& seen) const;
    [[nodiscard]] std::span<const hyper::AnyHyperfunction> functions() const noexcept { return functions_; }

   private:
    [[nodiscard]] hyper::Traced apply(const std::string& name, const hyper::Traced& x) const;
    [[nodiscard]] hyper::Traced dense(const std::string& at, const hyper::Traced& x) const;
    [[nodiscard]] hyper::Traced norm(const std::string& at, const hyper::Traced& x) const;
    [[nodiscard]] hyper::Traced heads(const hyper::Traced& x) const;
    [[nodiscard]] hyper::Traced attention(const std::string& at, const hyper::Traced& x,
                                          const hyper::Traced& seen) const;
    [[nodiscard]] hyper::Traced activated(const hyper::Traced& x) const;

    EncoderConfig config_;
    std::vector<hyper::AnyHyperfunction> functions_;
};

/// Its equations for texts of `length` tokens, without values: what depends on inputs alone is there after
/// population::refresh().
[[nodiscard]] Result<hyper::TracedExample> trace_encoder(const EncoderGraph& graph, std::uint32_t length);

/// A text in its inputs. `ids` are at most `length`.
[[nodiscard]] std::map<std::string, hyper::Value> encoder_inputs(std::span<const std::uint32_t> ids,
                                                                 std::uint32_t length);

}  // namespace yolk::transformer
