// SPDX-License-Identifier: Apache-2.0
// normalize: layer normalization (Ba, Kiros, Hinton 2016, arXiv:1607.06450) and root-mean-square normalization (Zhang,
// Sennrich 2019, arXiv:1910.07467) of rows (docs/kernels/normalize.md). Class P: the order of the sums depends on
// `columns` alone.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/abi/normalize.h"
#include "yolk/primitives/row_config.hpp"
#include "yolk/primitives/row_vector.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk {

enum class NormalizeRule {
    Layer,           ///< (x - mean) / sqrt(variance + epsilon), the variance over `columns`
    RootMeanSquare,  ///< x / sqrt(mean(x^2) + epsilon)
};

struct NormalizeDesc {
    NormalizeRule rule = NormalizeRule::Layer;
    std::uint32_t members = 1;  ///< 0 is legal, for each of the three
    std::uint32_t rows = 0;     ///< per member
    std::uint32_t columns = 0;
    RowVector scale = RowVector::None;  ///< every row is multiplied by it
    RowVector bias = RowVector::None;   ///< added; of Layer only
    float epsilon = 1e-5F;              ///< 2^-40 (9.1e-13) ... 2^40
    std::optional<RowConfig> config{};  ///< unset: the device's table, else default_row_config
};

/// Its tuning space; the same for every shape and device.
[[nodiscard]] ConfigSpace<RowConfig> normalize_space(const DeviceInfo& info, const NormalizeDesc& desc);

struct NormalizeViews {
    BufferView in;     ///< fp32 [members, rows, columns]
    BufferView scale;  ///< fp32 [columns] or [members, columns]; empty where there is none
    BufferView bias;   ///< likewise
    BufferView out;    ///< out, fp32 [members, rows, columns]
};

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundNormalize {
   public:
    /// One dispatch.
    void record(Recorder& recorder) const noexcept;

   private:
    friend class NormalizePlan;
    NormalizeDesc desc_;
    BindingOf<abi::normalize::Params> binding_;
};

/// Immutable: threads may share it. The device must outlive it.
class NormalizePlan {
   public:
    [[nodiscard]] MemoryNeeds scratch() const noexcept { return {}; }
    [[nodiscard]] Result<BoundNormalize> bind(const NormalizeViews& views, const BufferView& scratch = {}) const;

   private:
    friend Result<NormalizePlan> plan_normalize(const Device&, const NormalizeDesc&);
    const Device* device_ = nullptr;
    NormalizeDesc desc_;
    std::uint64_t size_bytes_ = 0;
    PipelineOf<abi::normalize::Params> pipeline_;
};

/// Errors: epsilon outside its range, a bias for RootMeanSquare, a configuration outside its space, sizes that overflow
/// or pass the device's binding limit, rows longer than the device's loops.
[[nodiscard]] Result<NormalizePlan> plan_normalize(const Device& device, const NormalizeDesc& desc);

}  // namespace yolk
