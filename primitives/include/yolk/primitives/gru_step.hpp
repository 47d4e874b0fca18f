// SPDX-License-Identifier: Apache-2.0
// gru_step: the elementwise half of a step of a minimal gated unit (Zhou, Wu, Zhang, Zhou 2016, arXiv:1603.09420), for
// every member of a population (docs/kernels/gru_step.md). Class P.
//   f = sigmoid(gate_input + gate_bias), gated_state = f state                          record_gate
//   next_state = state + f (tanh(candidate_input + candidate_bias) - state)             record_update
// The caller makes the inputs by matmul or perturbed_linear: gate_input = W_f x + U_f state before record_gate,
// candidate_input = W_h x + U_h gated_state between the two.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/abi/gru_step.h"
#include "yolk/primitives/row_vector.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk {

/// Tuning parameters; any valid configuration gives the same bytes.
struct GruStepConfig {
    std::uint32_t workgroup_size = 64;          ///< 1, 4, 8, 16, 32, 64, 128, 256
    std::uint32_t elements_per_invocation = 1;  ///< 1, 2, 4, 8
};

struct GruStepDesc {
    std::uint32_t members = 1;  ///< 0 is legal, for each of the three
    std::uint32_t rows = 0;     ///< per member
    std::uint32_t columns = 0;  ///< of the state
    RowVector gate_bias = RowVector::None;
    RowVector candidate_bias = RowVector::None;
    std::optional<GruStepConfig> config{};  ///< unset: the device's table, else default_gru_step_config
};

/// Its tuning space; the same for every shape and device.
[[nodiscard]] ConfigSpace<GruStepConfig> gru_step_space(const DeviceInfo& info, const GruStepDesc& desc);
/// On CPU drivers large workgroups and several items an invocation where there are many.
[[nodiscard]] GruStepConfig default_gru_step_config(const DeviceInfo& info, const GruStepDesc& desc);

/// Each fp32 [members, rows, columns] but the biases: [columns] or [members, columns], empty where there is none.
struct GruStepViews {
    BufferView gate_input;
    BufferView gate_bias;
    BufferView candidate_input;
    BufferView candidate_bias;
    BufferView state;
    BufferView gate;         ///< out of record_gate, which record_update reads
    BufferView gated_state;  ///< out of record_gate
    BufferView next_state;   ///< out of record_update; not the state itself
};

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundGruStep {
   public:
    /// One dispatch each; the caller puts a barrier between them.
    void record_gate(Recorder& recorder) const noexcept;
    void record_update(Recorder& recorder) const noexcept;

   private:
    friend class GruStepPlan;
    void record(Recorder& recorder, const BindingOf<abi::gru_step::Params>& binding, RowVector bias) const noexcept;

    GruStepDesc desc_;
    BindingOf<abi::gru_step::Params> gate_;
    BindingOf<abi::gru_step::Params> update_;
};

/// Immutable: threads may share it. The device must outlive it.
class GruStepPlan {
   public:
    [[nodiscard]] MemoryNeeds scratch() const noexcept { return {}; }
    [[nodiscard]] Result<BoundGruStep> bind(const GruStepViews& views, const BufferView& scratch = {}) const;

   private:
    friend Result<GruStepPlan> plan_gru_step(const Device&, const GruStepDesc&);
    const Device* device_ = nullptr;
    GruStepDesc desc_;
    std::uint64_t size_bytes_ = 0;
    PipelineOf<abi::gru_step::Params> gate_;
    PipelineOf<abi::gru_step::Params> update_;
};

/// Errors: a configuration outside its space, sizes that overflow or pass the device's binding limit.
[[nodiscard]] Result<GruStepPlan> plan_gru_step(const Device& device, const GruStepDesc& desc);

}  // namespace yolk
