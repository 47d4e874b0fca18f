// SPDX-License-Identifier: Apache-2.0
// convert: arrays of fp32 to fp16 or bf16 and back (docs/kernels/convert.md). Class E: integer work on bit patterns,
// for every one of them, NaN, infinities and denormals among them.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/abi/convert.h"
#include "yolk/primitives/float_format.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk {

/// Tuning parameters; any valid configuration gives the same bytes.
struct ConvertConfig {
    std::uint32_t workgroup_size = 64;       ///< 1, 4, 8, 16, 32, 64, 128, 256
    std::uint32_t words_per_invocation = 1;  ///< 1, 2, 4, 8: pairs of elements
};

struct ConvertDesc {
    std::uint32_t count = 0;  ///< elements; 0 is legal
    FloatFormat from = FloatFormat::F32;
    FloatFormat to = FloatFormat::F16;      ///< one of the two is F32, the other is not
    std::optional<ConvertConfig> config{};  ///< unset: the device's table, else default_convert_config
};

/// The same for every shape and device.
[[nodiscard]] ConfigSpace<ConvertConfig> convert_space(const DeviceInfo& info, const ConvertDesc& desc);
/// On CPU drivers large workgroups and several items an invocation where there are many.
[[nodiscard]] ConvertConfig default_convert_config(const DeviceInfo& info, const ConvertDesc& desc);

struct ConvertViews {
    BufferView in;   ///< float_bytes(from, count)
    BufferView out;  ///< float_bytes(to, count); of an odd count of 16-bit elements the last half word becomes zero
};

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundConvert {
   public:
    /// One dispatch, no barrier.
    void record(Recorder& recorder) const noexcept;

   private:
    friend class ConvertPlan;
    ConvertDesc desc_;
    BindingOf<abi::convert::Params> binding_;
};

/// Immutable: threads may share it. The device must outlive it.
class ConvertPlan {
   public:
    [[nodiscard]] MemoryNeeds scratch() const noexcept { return {}; }
    [[nodiscard]] Result<BoundConvert> bind(const ConvertViews& views, const BufferView& scratch = {}) const;

   private:
    friend Result<ConvertPlan> plan_convert(const Device&, const ConvertDesc&);
    const Device* device_ = nullptr;
    ConvertDesc desc_;
    PipelineOf<abi::convert::Params> pipeline_;
};

/// Errors: formats that are both fp32 or both not, a configuration outside the space, sizes beyond a binding.
[[nodiscard]] Result<ConvertPlan> plan_convert(const Device& device, const ConvertDesc& desc);

}  // namespace yolk
