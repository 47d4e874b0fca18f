// SPDX-License-Identifier: Apache-2.0
// covariance: C[b] = X[b]^T X[b] / samples for the blocks of a batch, as it is or as a running average, and the same
// with damping on the diagonal (docs/kernels/covariance.md). Class P; the bits are symmetric.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "yolk/primitives/matmul.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk {

enum class CovarianceDamping {
    None,
    Relative,  ///< damping times the mean of C's diagonal is added to the diagonal
    Absolute,  ///< damping itself is
};

struct CovarianceDesc {
    std::uint32_t n = 0;        ///< columns of a block of X, up to 1,024; 0 is legal, for blocks, too
    std::uint32_t samples = 0;  ///< rows; of none C is zero, and a running average stays what it is
    std::uint32_t blocks = 1;
    std::uint32_t offset = 0;             ///< of X's first element in its view; all in elements
    std::uint32_t stride = kDense;        ///< from row to row of X, at least n
    std::uint32_t block_stride = kDense;  ///< from block to block of X; 0: all are the same
    bool average = false;                 ///< C = decay C + (1 - decay) X^T X / samples
    float decay = 0.95F;                  ///< at least 0, below 1
    CovarianceDamping damping_kind = CovarianceDamping::None;
    float damping = 0.0F;                  ///< 0, or from 2^-40 to 2^40
    std::optional<MatmulConfig> config{};  ///< of the product; default_covariance_config where unset
};

struct CovarianceViews {
    BufferView x;           ///< fp32 [blocks, samples, n], laid out as the description says
    BufferView covariance;  ///< fp32 [blocks, n, n], without damping; with `average` read, too
    BufferView damped{};    ///< fp32 [blocks, n, n]: covariance with damping; empty for CovarianceDamping::None
};

/// The space of its product (docs/kernels/matmul.md) for a shape on a device; `desc.config` is ignored.
[[nodiscard]] ConfigSpace<MatmulConfig> covariance_space(const DeviceInfo& info, const CovarianceDesc& desc);
[[nodiscard]] MatmulConfig default_covariance_config(const DeviceInfo& info, const CovarianceDesc& desc);

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundCovariance {
   public:
    /// With `average`: `first` takes C for the average and does not read what was there. Barriers between its own
    /// dispatches inside; the caller puts one before and after.
    void record(Recorder& recorder, bool first = false) const noexcept;
    BoundCovariance() noexcept;
    ~BoundCovariance();
    BoundCovariance(BoundCovariance&&) noexcept;
    BoundCovariance& operator=(BoundCovariance&&) noexcept;

   private:
    friend class CovariancePlan;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Immutable: threads may share it. The device must outlive it.
class CovariancePlan {
   public:
    /// fp32 [blocks, n, n] with `average`, fp32 [blocks] for relative damping.
    [[nodiscard]] MemoryNeeds scratch() const noexcept;
    [[nodiscard]] Result<BoundCovariance> bind(const CovarianceViews& views, const BufferView& scratch = {}) const;
    CovariancePlan() noexcept;
    ~CovariancePlan();
    CovariancePlan(CovariancePlan&&) noexcept;
    CovariancePlan& operator=(CovariancePlan&&) noexcept;

   private:
    friend Result<CovariancePlan> plan_covariance(const Device&, const CovarianceDesc&);
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Errors: n above 1,024, a stride below n, a decay or damping outside its range, sizes that overflow or pass the
/// device's binding limit, a configuration outside the space.
[[nodiscard]] Result<CovariancePlan> plan_covariance(const Device& device, const CovarianceDesc& desc);

}  // namespace yolk
