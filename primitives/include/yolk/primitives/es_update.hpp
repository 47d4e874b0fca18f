// SPDX-License-Identifier: Apache-2.0
// es_update: the EGGROLL gradient estimate of all parameters, noise regenerated inside (docs/kernels/es_update.md).
// G = (sqrt(N)/N) (sigma/sqrt(r)) sum over pairs w_i A_i B_i^T for matrices, (sqrt(N)/N) sigma sum over pairs w_i V_i
// for vectors, with w_i = coefficient * q_i. Integer weights: class E sums, one stated conversion (P). Float weights:
// class T.
#pragma once

#include <cstdint>
#include <memory>

#include "yolk/primitives/parameters.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"

namespace yolk {

enum class FitnessWeights { I8, F32 };

struct EsUpdateConfig {
    std::uint32_t workgroup_size = 32;  ///< 1 ... 256
    /// Pairs that one invocation sums, 1 ... 16,384; the nearest number is taken that keeps sums exact (16,384 / r),
    /// loops within the device's limit, and partial sums within one binding.
    std::uint32_t pairs_per_slice = 256;
};

struct EsUpdateDesc {
    ParameterTable parameters;
    std::uint32_t population = 0;  ///< even
    std::uint32_t rank = 1;        ///< 1 ... 32
    FitnessWeights weights = FitnessWeights::I8;
    EsUpdateConfig config{};
};

struct EsUpdateViews {
    BufferView weights;   ///< as fitness wrote them
    BufferView summary;   ///< abi::fitness::Summary
    BufferView gradient;  ///< out, fp32 [element_count]; zero for frozen parameters
};

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundEsUpdate {
   public:
    /// A barrier between its own dispatches inside; the caller puts one before and after.
    void record(Recorder& recorder, const NoiseTime& when) const noexcept;
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
    [[nodiscard]] MemoryNeeds scratch()
        const noexcept;  ///< partial sums: 4 bytes per slice and element that is not frozen
    [[nodiscard]] Result<BoundEsUpdate> bind(const EsUpdateViews& views, const BufferView& scratch) const;
    /// Dispatches that one record() makes: 2 (1 where all is frozen), whatever the number of parameters.
    [[nodiscard]] std::uint32_t dispatch_count() const noexcept;
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
/// Errors: population odd or zero, rank or configuration outside its ranges, an empty table, a gradient or partial sums
/// above the device's binding limit, driver errors.
[[nodiscard]] Result<EsUpdatePlan> plan_es_update(const Device& device, const EsUpdateDesc& desc);

}  // namespace yolk
