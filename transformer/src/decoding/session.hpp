// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "step_graph.hpp"
#include "yolk/devices.hpp"
#include "yolk/internal/runtime/buffer.hpp"

namespace yolk::transformer {

/// Tokens of a prompt that are read together.
inline constexpr std::uint32_t kReadTogether = 16;

/// Candidates that read tokens one behind the other, each its own. What they have read is remembered on the device, for
/// a fixed number of places. One thread at a time; after an error nothing of it can be used.
class DecoderSession {
   public:
    /// What it is given must outlive it. `parameters` has the weights: those that are optimized are perturbed.
    DecoderSession(const DecoderGraph& graph, hyper::ParameterSet parameters, const evolve::Devices& devices,
                   Determinism determinism, std::uint32_t places)
        : graph_(graph),
          parameters_(std::move(parameters)),
          devices_(devices),
          determinism_(determinism),
          places_(places) {}

    /// Candidates that have read nothing. `around` must outlive what they read; its number of members is theirs.
    [[nodiscard]] Result<void> begin(const hyper::Perturbations& around);
    /// The next tokens of each candidate from the place `starts` on, [candidates, each], of which those behind its own
    /// may be anything: they are remembered only until others take their places. Logits [candidates, each, vocabulary].
    [[nodiscard]] Result<std::vector<float>> read(std::span<const std::uint32_t> ids, std::uint32_t each,
                                                  std::span<const std::uint32_t> starts);

   private:
    /// Plans for a number of tokens; each has a copy of the weights on the device.
    struct Step {
        hyper::ParameterSet parameters{};
        std::vector<hyper::TracedExample> traced{};
        std::optional<hyper::PopulationEvaluator> evaluator{};
    };
    [[nodiscard]] Result<Step*> step_of(std::uint32_t tokens);
    /// Keys, or values, of a layer.
    [[nodiscard]] std::uint64_t state_bytes(std::uint32_t members) const;

    const DecoderGraph& graph_;
    hyper::ParameterSet parameters_;
    evolve::Devices devices_;
    Determinism determinism_;
    std::uint32_t places_;
    std::uint32_t most_members_ = 0;
    Buffer state_{};                                          // each layer's keys, then its values, for most_members_
    std::map<std::uint32_t, std::unique_ptr<Step>> steps_{};  // by tokens; bound to the states
    const hyper::Perturbations* around_ = nullptr;
};

}  // namespace yolk::transformer
