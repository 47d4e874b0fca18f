// SPDX-License-Identifier: Apache-2.0
// es_update: the EGGROLL gradient estimate of all parameters, noise regenerated inside (docs/kernels/es_update.md).
// G = (sqrt(N)/N) (sigma/sqrt(r)) sum over pairs w_i A_i B_i^T for matrices, (sqrt(N)/N) sigma sum over pairs w_i V_i
// for vectors, with w_i = coefficient * q_i; without antithetic sampling the sum is over members. Integer weights:
// class E sums, one stated conversion (P). Float weights: class T.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "yolk/primitives/parameters.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk {

enum class FitnessWeights { I8, F32 };

struct EsUpdateConfig {
    std::uint32_t workgroup_size = 32;
    /// Pairs that one invocation sums; the nearest number is taken that keeps sums exact (16,384 / r), loops within the
    /// device's limit, and slices few enough (4,096).
    std::uint32_t pairs_per_slice = 256;
    /// Columns of a matrix tile in units of 8: with 2 the noise of A is drawn once for twice as many elements.
    std::uint32_t tile_blocks = 1;
};

struct EsUpdateDesc {
    ParameterTable parameters;
    std::uint32_t population = 0;  ///< even where members come in pairs
    std::uint32_t rank = 1;        ///< 1 ... 32
    FitnessWeights weights = FitnessWeights::I8;
    bool antithetic = true;  ///< weights are one per pair; false: one per member, whose noise is its own
    std::optional<EsUpdateConfig> config{};  ///< unset: the device's table, else default_es_update_config
};

/// Its tuning space; the same for every shape and device. Any configuration gives the same bytes for int8 weights.
[[nodiscard]] ConfigSpace<EsUpdateConfig> es_update_space(const DeviceInfo& info, const EsUpdateDesc& desc);
[[nodiscard]] EsUpdateConfig default_es_update_config(const DeviceInfo& info, const EsUpdateDesc& desc);

struct EsUpdateViews {
    BufferView weights;   ///< as fitness wrote them
    BufferView summary;   ///< abi::fitness::Summary
    BufferView gradient;  ///< out, fp32 [element_count]; zero for frozen parameters
};

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundEsUpdate {
   public:
    /// A barrier between its own dispatches inside; the caller puts one before and after.
    void record(Recorder& recorder, const NoiseContext& when) const noexcept;
    BoundEsUpdate() noexcept;
    ~BoundEsUpdate();
    BoundEsUpdate(BoundEsUpdate&&) noexcept;
    BoundEsUpdate& operator=(BoundEsUpdate&&) noexcept;

   private:
    friend class EsUpdatePlan;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Immutable: threads may share it. The device must outlive it.
class EsUpdatePlan {
   public:
    /// Partial sums: 4 bytes per slice and element that is not frozen, up to whole tiles; 128 MiB at most. With less,
    /// down to all slices of one tile, the gradient is made in more windows, with the same bits.
    [[nodiscard]] MemoryNeeds scratch() const noexcept;
    [[nodiscard]] Result<BoundEsUpdate> bind(const EsUpdateViews& views, const BufferView& scratch) const;
    /// Dispatches that one record() makes with so much scratch: 2 per window (1 where all is frozen), whatever the
    /// number of parameters.
    [[nodiscard]] std::uint64_t dispatch_count(std::uint64_t scratch_bytes) const;
    EsUpdatePlan() noexcept;
    ~EsUpdatePlan();
    EsUpdatePlan(EsUpdatePlan&&) noexcept;
    EsUpdatePlan& operator=(EsUpdatePlan&&) noexcept;

   private:
    friend Result<EsUpdatePlan> plan_es_update(const Device&, const EsUpdateDesc&);
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// The plan owns a small device buffer with the parameter table (made here, uploaded once). `device` must outlive it.
/// Errors: population odd or zero, rank out of range, a configuration outside the space, an empty table, a gradient
/// above the device's binding limit, more slices than a loop of the device may take (above 2^25 members), driver
/// errors.
[[nodiscard]] Result<EsUpdatePlan> plan_es_update(const Device& device, const EsUpdateDesc& desc);

}  // namespace yolk
