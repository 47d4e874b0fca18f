// SPDX-License-Identifier: Apache-2.0
// reduce: sum, mean, maximum or its place over one dimension (docs/kernels/reduce.md). Class P: sums in an order that
// depends on `columns` alone.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/abi/reduce.h"
#include "yolk/primitives/row_config.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk {

enum class ReduceOperation : std::uint32_t {
    Sum = abi::reduce::kSum,
    Mean = abi::reduce::kMean,
    Max = abi::reduce::kMax,        ///< NaN where there is one
    Argmax = abi::reduce::kArgmax,  ///< the lowest index of the maximum, or of the first NaN
};

/// out[o, j] over in[o, i, j], i below `columns`; inner 1 reduces the last dimension.
struct ReduceDesc {
    ReduceOperation operation = ReduceOperation::Sum;
    std::uint32_t outer = 0;            ///< 0 is legal
    std::uint32_t columns = 1;          ///< at least 1
    std::uint32_t inner = 1;            ///< 0 is legal
    std::optional<RowConfig> config{};  ///< unset: the device's table, else default_row_config
};

/// Its tuning space; the same for every shape and device.
[[nodiscard]] ConfigSpace<RowConfig> reduce_space(const DeviceInfo& info, const ReduceDesc& desc);

struct ReduceViews {
    BufferView in;   ///< fp32 [outer, columns, inner]
    BufferView out;  ///< out, [outer, inner]: fp32, or u32 for Argmax
};

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundReduce {
   public:
    /// One dispatch.
    void record(Recorder& recorder) const noexcept;

   private:
    friend class ReducePlan;
    ReduceDesc desc_;
    BindingOf<abi::reduce::Params> binding_;
};

/// Immutable: threads may share it. The device must outlive it.
class ReducePlan {
   public:
    [[nodiscard]] MemoryNeeds scratch() const noexcept { return {}; }
    [[nodiscard]] Result<BoundReduce> bind(const ReduceViews& views, const BufferView& scratch = {}) const;

   private:
    friend Result<ReducePlan> plan_reduce(const Device&, const ReduceDesc&);
    const Device* device_ = nullptr;
    ReduceDesc desc_;
    std::uint64_t in_bytes_ = 0;
    std::uint64_t out_bytes_ = 0;
    PipelineOf<abi::reduce::Params> pipeline_;
};

/// Errors: no columns, a configuration outside its space, sizes that overflow or pass the device's binding limit, rows
/// longer than the device's loops.
[[nodiscard]] Result<ReducePlan> plan_reduce(const Device& device, const ReduceDesc& desc);

}  // namespace yolk
