// SPDX-License-Identifier: Apache-2.0
// byte_model: a recurrent language model over bytes in integers, of every member of a population: how likely it finds
// its stretch of a text (docs/kernels/byte_model.md). Class E.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "yolk/internal/primitives/operation.hpp"
#include "yolk/internal/primitives/parameters.hpp"

namespace yolk {

/// Widths are multiples of 8 up to this one: a layer's 4 * 256 inputs are the most whose sums of 127^3 fit int32.
inline constexpr std::uint32_t kMostByteWidth = 256;
inline constexpr std::uint32_t kMostByteLayers = 16;

/// Tuning parameters; any valid configuration gives the same bytes.
struct ByteModelConfig {
    std::uint32_t workgroup_size = 32;
    std::uint32_t pairs = 2;  ///< pairs of members that a workgroup steps together, with each weight read once
    std::uint32_t dot = 0;    ///< 1: the dot-product instruction (path int8-dot)
};

struct ByteModelViews {
    BufferView parameters;  ///< fp32 [element_count]: integers from -127 to 127
    BufferView text;        ///< bytes, four to a word, rounded up
    BufferView returns;     ///< out, fp32 [members]: the sum of the log-likelihoods in bits, a multiple of 1/16
};

/// Which members a call scores; 0: all of the description's. Returns begin with `first_member`'s.
struct ByteModelPart {
    std::uint32_t first_member = 0;  ///< even, where members come in pairs
    std::uint32_t members = 0;
};

struct ByteModelPipelines;
struct ByteModelBindings;

struct ByteModelDesc {
    using Config = ByteModelConfig;
    using Views = ByteModelViews;
    using Pipelines = std::shared_ptr<const ByteModelPipelines>;
    using Bindings = std::shared_ptr<const ByteModelBindings>;
    /// The stretches move on by `steps` bytes each generation.
    using Call = void(const NoiseContext& when, OrDefault<ByteModelPart> part);

    std::uint32_t width = 64;
    std::uint32_t layers = 1;
    std::uint32_t population = 0;             ///< all members, by which the text is shared out
    std::uint32_t members = 0;                ///< of one call, at most; even, where they come in pairs
    std::uint32_t group = 2;                  ///< members that read one stretch
    std::uint32_t steps = 100;                ///< bytes that are scored
    std::uint32_t context = 0;                ///< bytes that are read before them, from a state of zeros
    std::uint32_t text_bytes = 0;             ///< more than steps + context
    std::uint32_t rank = 1;                   ///< 1, 4 or 16, so that 1/sqrt(rank) is a shift
    std::uint32_t sigma_shift = 4;            ///< sigma = 2^-sigma_shift
    bool symmetric = false;                   ///< rounds to nearest, not to minus infinity
    bool mean_only = false;                   ///< the unperturbed model, once for each "member", which is a stretch
    std::optional<ByteModelConfig> config{};  ///< unset: the device's table, else the heuristic
};

/// embedding [256, width]; of each layer: norm1, gate_input, gate_state, gate_bias, candidate_input, candidate_state,
/// candidate_bias, norm2, up [4 width, width], down [width, 4 width]; norm, head [256, width].
[[nodiscard]] std::vector<ParameterDesc> byte_model_parameters(std::uint32_t width, std::uint32_t layers);

/// The position where a stretch begins in the generation whose advance this is: (generation * steps) modulo the span.
struct ByteStretches {
    std::uint32_t span = 0;      ///< positions at which a stretch may begin
    std::uint32_t distance = 0;  ///< between two stretches
    std::uint32_t advance = 0;
    [[nodiscard]] std::uint32_t begin_of(std::uint32_t stretch) const noexcept {
        const std::uint64_t at = std::uint64_t{stretch} * distance + advance;
        return static_cast<std::uint32_t>(at < span ? at : at - span);
    }
};
[[nodiscard]] ByteStretches byte_stretches(const ByteModelDesc& desc, std::uint32_t generation) noexcept;

template <>
const Operation<ByteModelDesc>& operation_of<ByteModelDesc>();
using BoundByteModel = Bound<ByteModelDesc>;
/// Barriers between its own dispatches inside; the caller puts one before and after. Errors: a width that is no
/// multiple of 8 or above kMostByteWidth, another rank, a product that int32 does not hold, a text that is no longer
/// than a stretch, members that are no pairs.
using ByteModelPlan = Plan<ByteModelDesc>;
inline constexpr Planner<ByteModelDesc> plan_byte_model;

}  // namespace yolk
