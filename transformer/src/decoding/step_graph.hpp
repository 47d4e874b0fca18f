// SPDX-License-Identifier: Apache-2.0
// The network for a few tokens behind others, whose keys and values are remembered: a step costs these tokens' work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decoder_graph.hpp"
#include "yolk/internal/hyper/population.hpp"

namespace yolk::transformer {

/// What each candidate has for itself: groups of a step beside the weights.
struct StepGroups {
    static constexpr const char* kIds = "step.ids";      ///< [tokens]
    static constexpr const char* kStart = "step.start";  ///< [1]: the place of the first token
    /// Of each layer keys, then values: [places, key heads x head width].
    [[nodiscard]] static std::string remembered(std::uint32_t index);
};

/// Adds them to the weights, for steps of `tokens` tokens in `places` places.
[[nodiscard]] Result<void> add_step_groups(hyper::ParameterSet& parameters, const DecoderConfig& config,
                                           std::uint32_t tokens, std::uint32_t places);
/// Outputs: logits [tokens, vocabulary], then the groups remembered() as they are behind the step. All tokens must have
/// places below `places`. `parameters` has the weights and the groups.
[[nodiscard]] Result<hyper::TracedExample> trace_step(const DecoderGraph& graph, const hyper::ParameterSet& parameters,
                                                      std::uint32_t tokens, std::uint32_t places);

}  // namespace yolk::transformer
