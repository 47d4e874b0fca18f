// SPDX-License-Identifier: Apache-2.0
// softmax: softmax or its logarithm over the last dimension (docs/kernels/softmax.md). Class P: the order of the sum
// depends on `columns` alone.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/abi/softmax.h"
#include "yolk/primitives/row_config.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk {

struct SoftmaxDesc {
    std::uint32_t members = 1;  ///< 0 is legal, for each of the three
    std::uint32_t rows = 0;     ///< per member
    std::uint32_t columns = 0;
    bool logarithm = false;             ///< log_softmax
    std::optional<RowConfig> config{};  ///< unset: the device's table, else default_row_config
};

/// Its tuning space; the same for every shape and device.
[[nodiscard]] ConfigSpace<RowConfig> softmax_space(const DeviceInfo& info, const SoftmaxDesc& desc);

struct SoftmaxViews {
    BufferView in;   ///< fp32 [members, rows, columns]
    BufferView out;  ///< out, the same shape
};

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundSoftmax {
   public:
    /// One dispatch.
    void record(Recorder& recorder) const noexcept;

   private:
    friend class SoftmaxPlan;
    SoftmaxDesc desc_;
    BindingOf<abi::softmax::Params> binding_;
};

/// Immutable: threads may share it. The device must outlive it.
class SoftmaxPlan {
   public:
    [[nodiscard]] MemoryNeeds scratch() const noexcept { return {}; }
    [[nodiscard]] Result<BoundSoftmax> bind(const SoftmaxViews& views, const BufferView& scratch = {}) const;

   private:
    friend Result<SoftmaxPlan> plan_softmax(const Device&, const SoftmaxDesc&);
    const Device* device_ = nullptr;
    SoftmaxDesc desc_;
    std::uint64_t size_bytes_ = 0;
    PipelineOf<abi::softmax::Params> pipeline_;
};

/// Errors: a configuration outside its space, sizes that overflow or pass the device's binding limit, rows longer than
/// the device's loops.
[[nodiscard]] Result<SoftmaxPlan> plan_softmax(const Device& device, const SoftmaxDesc& desc);

}  // namespace yolk
