// SPDX-License-Identifier: Apache-2.0
// perturbed_embedding: W[id] + side * (sigma/sqrt(r)) A[id] B^T for the ids of every member of a population
// (docs/kernels/perturbed_embedding.md). Class P.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/internal/primitives/operation.hpp"
#include "yolk/internal/primitives/parameters.hpp"

namespace yolk::abi::perturbed_embedding {
struct Params;
}

namespace yolk {

/// Tuning parameters; any valid configuration gives the same bits.
struct PerturbedEmbeddingConfig {
    std::uint32_t workgroup_size = 64;
};

struct PerturbedEmbeddingViews {
    BufferView weights;  ///< fp32 [table_rows, columns]
    BufferView ids;      ///< uint32 [members, rows], or [rows] where shared
    BufferView output;   ///< out, fp32 [members, rows, columns]
    BufferView status;  ///< uint32 [1]: ids not below table_rows are added to it, once per member; the caller zeroes it
};

struct PerturbedEmbeddingDesc {
    using Config = PerturbedEmbeddingConfig;
    using Views = PerturbedEmbeddingViews;
    using Params = abi::perturbed_embedding::Params;
    /// Members first_member ... first_member + members - 1; member -1 is the mean.
    using Call = void(const NoiseContext& when, OrDefault<std::int32_t> first_member);

    std::uint32_t members = 0;     ///< 0 is legal
    std::uint32_t rows = 0;        ///< ids per member
    std::uint32_t table_rows = 0;  ///< of W; 0 is legal: then every id is out of range
    std::uint32_t columns = 0;     ///< of W
    std::uint32_t rank = 1;        ///< 1 ... 32
    ParameterId parameter{};       ///< whose noise streams (domains A and B) perturb W
    bool shared_ids = false;       ///< ids are [rows] for all members, else [members, rows]
    bool antithetic = true;        ///< both sides of a pair share noise; false: every member has its own, pair = member
    std::optional<PerturbedEmbeddingConfig> config{};  ///< unset: the device's table, else PerturbedEmbeddingConfig{}
};

template <>
const Operation<PerturbedEmbeddingDesc>& operation_of<PerturbedEmbeddingDesc>();
using PerturbedEmbeddingPlan = Plan<PerturbedEmbeddingDesc>;
using BoundPerturbedEmbedding = Bound<PerturbedEmbeddingDesc>;
/// One dispatch, no scratch. An id out of range gives a row of zeros. Errors besides those of every plan: a rank or
/// parameter outside its range.
inline constexpr Planner<PerturbedEmbeddingDesc> plan_perturbed_embedding;

}  // namespace yolk
