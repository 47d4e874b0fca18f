// SPDX-License-Identifier: Apache-2.0
// transpose: out[m, c, r] = source[m, r, c] for each member of a population (docs/kernels/transpose.md). Class E: the
// bits of 4-byte elements are moved.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/abi/transpose.h"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk {

/// Tuning parameters; any valid configuration gives the same bytes.
struct TransposeConfig {
    std::uint32_t workgroup_size = 256;
    std::uint32_t tile_rows = 32;     ///< of the source
    std::uint32_t tile_columns = 32;  ///< likewise
    std::uint32_t staged = 1;         ///< 1: through shared memory; 0: read across the source's rows
    std::uint32_t padding = 1;        ///< words after each row of a staged tile, against bank conflicts
};

struct TransposeDesc {
    std::uint32_t members = 1;
    std::uint32_t rows = 0;  ///< of the source; 0 is legal
    std::uint32_t columns = 0;
    std::optional<TransposeConfig> config{};  ///< none: default_transpose_config
};

/// Workgroups of 1 to 256, tiles of 8 to 64 either way, staged with or without padding, or not staged.
[[nodiscard]] ConfigSpace<TransposeConfig> transpose_space(const DeviceInfo& info, const TransposeDesc& desc);

/// Direct on CPU drivers, staged elsewhere.
[[nodiscard]] TransposeConfig default_transpose_config(const DeviceInfo& info, const TransposeDesc& desc);

struct TransposeViews {
    BufferView source;  ///< 4-byte elements [members, rows, columns]
    BufferView out;     ///< [members, columns, rows]
};

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundTranspose {
   public:
    /// No barrier inside.
    void record(Recorder& recorder) const noexcept;

   private:
    friend class TransposePlan;
    abi::transpose::Params params_{};
    LinearGrid grid_;
    BindingOf<abi::transpose::Params> binding_;
};

/// Immutable: threads may share it. The device must outlive it.
class TransposePlan {
   public:
    [[nodiscard]] MemoryNeeds scratch() const noexcept { return {}; }
    [[nodiscard]] const TransposeConfig& config() const noexcept { return config_; }
    /// Errors: views that are short, misaligned, outside their buffers, or overlap.
    [[nodiscard]] Result<BoundTranspose> bind(const TransposeViews& views, const BufferView& scratch = {}) const;

   private:
    friend Result<TransposePlan> plan_transpose(const Device&, const TransposeDesc&);
    const Device* device_ = nullptr;
    TransposeDesc desc_;
    TransposeConfig config_;
    std::uint64_t size_bytes_ = 0;
    PipelineOf<abi::transpose::Params> pipeline_;
};

/// Errors: a configuration outside its space, sizes that overflow or pass the device's binding limit. `device` must
/// outlive the plan.
[[nodiscard]] Result<TransposePlan> plan_transpose(const Device& device, const TransposeDesc& desc);

}  // namespace yolk
