// SPDX-License-Identifier: Apache-2.0
// A layer of every member's policy, as work on the device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "yolk/elementwise.hpp"
#include "yolk/internal/evolve/member_policies.hpp"
#include "yolk/perturbed_linear.hpp"
#include "yolk/perturbed_vector.hpp"

namespace yolk::evolve {

/// What all layers are made of.
struct PolicyParts {
    const Device& device;
    const ParameterTable& table;
    const BufferView& parameters;
    const MemberPoliciesDesc& desc;

    /// [members, columns], fp32.
    [[nodiscard]] Result<Buffer> buffer(std::uint64_t columns, MemoryDomain domain, const char* label) const;
    /// On `inputs` of [members, columns].
    [[nodiscard]] Result<BoundElementwise> each(std::vector<ElementwiseStep> steps, std::uint32_t columns,
                                                std::span<const BufferView> inputs, const BufferView& out) const;
};

/// A matrix, a bias and an activation. Records a barrier behind each of its dispatches.
class PolicyLayer {
   public:
    /// Parameter `matrix` and the bias behind it. `input`: [members, columns of the matrix].
    [[nodiscard]] Result<void> make(const PolicyParts& parts, std::uint32_t matrix, const BufferView& input,
                                    std::optional<ElementwiseOperation> activation);
    /// The run's parameters, as they are when this runs.
    void copy(Recorder& recorder) const;
    void perturb(Recorder& recorder, const NoiseContext& when, std::int32_t first_member) const;
    void record(Recorder& recorder, const NoiseContext& when, std::int32_t first_member) const;
    /// [members, rows of the matrix]
    [[nodiscard]] const Buffer& result() const noexcept { return result_; }

   private:
    [[nodiscard]] Result<void> bind(const PolicyParts& parts, std::uint32_t matrix, const BufferView& input,
                                    std::optional<ElementwiseOperation> activation);

    Buffer weights_, bias_;                // the run's, at offsets that can be bound
    BufferView from_weights_, from_bias_;  // where they are copied from
    Buffer member_bias_, result_, scratch_;
    std::optional<BoundPerturbedVector> perturb_;
    std::optional<BoundPerturbedLinear> multiply_;
    std::optional<BoundElementwise> add_;  // and activates
    bool frozen_ = false;                  // the matrix
};

}  // namespace yolk::evolve
