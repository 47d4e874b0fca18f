// SPDX-License-Identifier: Apache-2.0
// perturbed_embedding: W[id] + side * (sigma/sqrt(r)) A[id] B^T for the ids of every member of a population
// (docs/kernels/perturbed_embedding.md). Class P.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/abi/perturbed_embedding.h"
#include "yolk/primitives/parameters.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk {

/// Tuning parameters; any valid configuration gives the same bits.
struct PerturbedEmbeddingConfig {
    std::uint32_t workgroup_size = 64;
};

struct PerturbedEmbeddingDesc {
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

/// Workgroups of 1 to 256.
[[nodiscard]] ConfigSpace<PerturbedEmbeddingConfig> perturbed_embedding_space(const DeviceInfo& info,
                                                                              const PerturbedEmbeddingDesc& desc);

struct PerturbedEmbeddingViews {
    BufferView weights;  ///< fp32 [table_rows, columns]
    BufferView ids;      ///< uint32 [members, rows], or [rows] where shared
    BufferView output;   ///< out, fp32 [members, rows, columns]
    BufferView status;  ///< uint32 [1]: ids not below table_rows are added to it, once per member; the caller zeroes it
};

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundPerturbedEmbedding {
   public:
    /// Members first_member ... first_member + members - 1; member -1 is the mean. No barrier inside. An id out of
    /// range gives a row of zeros.
    void record(Recorder& recorder, const NoiseContext& when, std::int32_t first_member = 0) const noexcept;

   private:
    friend class PerturbedEmbeddingPlan;
    PerturbedEmbeddingDesc desc_;
    BindingOf<abi::perturbed_embedding::Params> binding_;
};

/// Immutable: threads may share it. The device must outlive it.
class PerturbedEmbeddingPlan {
   public:
    [[nodiscard]] MemoryNeeds scratch() const noexcept { return {}; }
    /// Errors: views that are short, misaligned, outside their buffers, or overlap `output` or `status`.
    [[nodiscard]] Result<BoundPerturbedEmbedding> bind(const PerturbedEmbeddingViews& views,
                                                       const BufferView& scratch = {}) const;

   private:
    friend Result<PerturbedEmbeddingPlan> plan_perturbed_embedding(const Device&, const PerturbedEmbeddingDesc&);
    const Device* device_ = nullptr;
    PerturbedEmbeddingDesc desc_;
    std::uint64_t weights_bytes_ = 0;
    std::uint64_t ids_bytes_ = 0;
    std::uint64_t output_bytes_ = 0;
    PipelineOf<abi::perturbed_embedding::Params> pipeline_;
};

/// Errors: a rank, parameter or configuration outside its range, sizes that overflow or pass the device's binding
/// limit.
[[nodiscard]] Result<PerturbedEmbeddingPlan> plan_perturbed_embedding(const Device& device,
                                                                      const PerturbedEmbeddingDesc& desc);

}  // namespace yolk
