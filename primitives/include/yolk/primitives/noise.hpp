// SPDX-License-Identifier: Apache-2.0
// noise: the elements of a noise stream for a range of pairs (docs/kernels/noise.md). Class E as integers, P as floats.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/abi/noise.h"
#include "yolk/core/noise.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk {

enum class NoiseFormat {
    I32,  ///< integers in [-30, 30]
    F32,  ///< unit variance: times 1/sqrt(85)
};

/// Tuning parameters; any valid configuration gives the same bytes.
struct NoiseConfig {
    std::uint32_t workgroup_size = 64;        ///< 1, 4, 8, 16, 32, 64, 128, 256
    std::uint32_t blocks_per_invocation = 1;  ///< 1 ... 8
};

struct NoiseDesc {
    std::uint32_t element_count = 0;  ///< per pair; 0 is legal
    std::uint32_t pair_count = 1;
    NoiseFormat format = NoiseFormat::I32;
    std::optional<NoiseConfig> config{};  ///< unset: the device's table, else default_noise_config
};

/// Its tuning space; the same for every shape and device.
[[nodiscard]] ConfigSpace<NoiseConfig> noise_space(const DeviceInfo& info, const NoiseDesc& desc);
/// On CPU drivers large workgroups and several items an invocation where there are many.
[[nodiscard]] NoiseConfig default_noise_config(const DeviceInfo& info, const NoiseDesc& desc);

struct NoiseViews {
    BufferView out;  ///< [pair_count, element_count] of 4-byte elements
};

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundNoise {
   public:
    /// Elements of pairs stream.pair ... stream.pair + pair_count - 1. No barrier inside.
    void record(Recorder& recorder, const NoiseStream& stream) const noexcept;

   private:
    friend class NoisePlan;
    NoiseDesc desc_;
    BindingOf<abi::noise::Params> binding_;
};

/// Immutable: threads may share it. The device must outlive it.
class NoisePlan {
   public:
    [[nodiscard]] MemoryNeeds scratch() const noexcept { return {}; }
    [[nodiscard]] Result<BoundNoise> bind(const NoiseViews& views, const BufferView& scratch = {}) const;

   private:
    friend Result<NoisePlan> plan_noise(const Device&, const NoiseDesc&);
    const Device* device_ = nullptr;
    NoiseDesc desc_;
    PipelineOf<abi::noise::Params> pipeline_;
};

/// Errors: configuration outside its ranges, sizes that overflow or pass the device's binding limit. `device` must
/// outlive the plan.
[[nodiscard]] Result<NoisePlan> plan_noise(const Device& device, const NoiseDesc& desc);

}  // namespace yolk
