// SPDX-License-Identifier: Apache-2.0
// cross_entropy: the loss of each example, log sum exp(logits) - logits[target] (docs/kernels/cross_entropy.md). Class
// P: the order of the sum depends on `columns` alone.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/abi/cross_entropy.h"
#include "yolk/primitives/row_config.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk {

struct CrossEntropyDesc {
    std::uint32_t members = 1;          ///< 0 is legal
    std::uint32_t rows = 0;             ///< examples per member; 0 is legal
    std::uint32_t columns = 1;          ///< classes, at least 1
    bool shared_targets = false;        ///< targets are [rows] for all members, else [members, rows]
    std::optional<RowConfig> config{};  ///< unset: the device's table, else default_row_config
};

/// Its tuning space; the same for every shape and device.
[[nodiscard]] ConfigSpace<RowConfig> cross_entropy_space(const DeviceInfo& info, const CrossEntropyDesc& desc);

struct CrossEntropyViews {
    BufferView logits;   ///< fp32 [members, rows, columns]
    BufferView targets;  ///< u32 [rows] or [members, rows]
    BufferView losses;   ///< out, fp32 [members, rows]; NaN where the target is not below `columns`
    BufferView status;   ///< in and out, u32 [1]: such targets are added to it; the caller clears it
};

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundCrossEntropy {
   public:
    /// One dispatch.
    void record(Recorder& recorder) const noexcept;

   private:
    friend class CrossEntropyPlan;
    CrossEntropyDesc desc_;
    BindingOf<abi::cross_entropy::Params> binding_;
};

/// Immutable: threads may share it. The device must outlive it.
class CrossEntropyPlan {
   public:
    [[nodiscard]] MemoryNeeds scratch() const noexcept { return {}; }
    [[nodiscard]] Result<BoundCrossEntropy> bind(const CrossEntropyViews& views, const BufferView& scratch = {}) const;

   private:
    friend Result<CrossEntropyPlan> plan_cross_entropy(const Device&, const CrossEntropyDesc&);
    const Device* device_ = nullptr;
    CrossEntropyDesc desc_;
    std::uint64_t logits_bytes_ = 0;
    std::uint64_t targets_bytes_ = 0;
    std::uint64_t losses_bytes_ = 0;
    PipelineOf<abi::cross_entropy::Params> pipeline_;
};

/// Errors: no columns, a configuration outside its space, sizes that overflow or pass the device's binding limit, rows
/// longer than the device's loops.
[[nodiscard]] Result<CrossEntropyPlan> plan_cross_entropy(const Device& device, const CrossEntropyDesc& desc);

}  // namespace yolk
