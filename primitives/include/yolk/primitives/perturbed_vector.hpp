// SPDX-License-Identifier: Apache-2.0
// perturbed_vector: v + side * sigma * noise(domain Vector) for every member of a population, and v itself where it is
// frozen (docs/kernels/perturbed_vector.md). Class P.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/abi/perturbed_vector.h"
#include "yolk/primitives/parameters.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk {

/// Tuning parameters; any valid configuration gives the same bits.
struct PerturbedVectorConfig {
    std::uint32_t workgroup_size = 64;
};

struct PerturbedVectorDesc {
    std::uint32_t members = 0;        ///< 0 is legal
    std::uint32_t element_count = 0;  ///< of the vector
    ParameterId parameter{};          ///< whose noise stream perturbs it
    bool frozen = false;              ///< no noise: every member gets the vector
    bool antithetic = true;  ///< both sides of a pair share noise; false: every member has its own, pair = member
    std::optional<PerturbedVectorConfig> config{};  ///< unset: the device's table, else PerturbedVectorConfig{}
};

/// Workgroups of 1 to 256.
[[nodiscard]] ConfigSpace<PerturbedVectorConfig> perturbed_vector_space(const DeviceInfo& info,
                                                                        const PerturbedVectorDesc& desc);

struct PerturbedVectorViews {
    BufferView vector;  ///< fp32 [element_count]
    BufferView output;  ///< out, fp32 [members, element_count]
};

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundPerturbedVector {
   public:
    /// Members first_member ... first_member + members - 1; member -1 is the mean. No barrier inside.
    void record(Recorder& recorder, const NoiseContext& when, std::int32_t first_member = 0) const noexcept;

   private:
    friend class PerturbedVectorPlan;
    PerturbedVectorDesc desc_;
    BindingOf<abi::perturbed_vector::Params> binding_;
};

/// Immutable: threads may share it. The device must outlive it.
class PerturbedVectorPlan {
   public:
    [[nodiscard]] MemoryNeeds scratch() const noexcept { return {}; }
    /// Errors: views that are short, misaligned, outside their buffers, or overlap.
    [[nodiscard]] Result<BoundPerturbedVector> bind(const PerturbedVectorViews& views,
                                                    const BufferView& scratch = {}) const;

   private:
    friend Result<PerturbedVectorPlan> plan_perturbed_vector(const Device&, const PerturbedVectorDesc&);
    const Device* device_ = nullptr;
    PerturbedVectorDesc desc_;
    std::uint64_t output_bytes_ = 0;
    PipelineOf<abi::perturbed_vector::Params> pipeline_;
};

/// Errors: a parameter or configuration outside its range, sizes that overflow or pass the device's binding limit.
[[nodiscard]] Result<PerturbedVectorPlan> plan_perturbed_vector(const Device& device, const PerturbedVectorDesc& desc);

}  // namespace yolk
