// SPDX-License-Identifier: Apache-2.0
// gather: rows of a table by their ids, for each member of a population (docs/kernels/gather.md). Class E: the bits of
// 4-byte elements are moved. Its counterpart is scatter.hpp.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/abi/gather.h"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk {

/// Tuning parameters; any valid configuration gives the same bytes.
struct GatherConfig {
    std::uint32_t workgroup_size = 64;
    std::uint32_t loads_per_invocation = 1;
    std::uint32_t elements_per_load = 1;  ///< 4 where columns is a multiple of 4
};

struct GatherDesc {
    std::uint32_t members = 1;
    std::uint32_t table_rows = 0;  ///< 0 is legal: then every id is out of range
    std::uint32_t columns = 0;
    std::uint32_t id_count = 0;            ///< per member
    bool shared_table = false;             ///< one table for all members
    bool shared_ids = false;               ///< one list of ids for all members
    std::optional<GatherConfig> config{};  ///< none: default_gather_config
};

/// Workgroups of 1 to 256, 1 to 8 loads per invocation of 1 or 4 elements.
[[nodiscard]] ConfigSpace<GatherConfig> gather_space(const DeviceInfo& info, const GatherDesc& desc);
/// Four elements per load where the space has it; on CPU drivers large workgroups and several loads where there are
/// many.
[[nodiscard]] GatherConfig default_gather_config(const DeviceInfo& info, const GatherDesc& desc);

struct GatherViews {
    BufferView table;  ///< 4-byte elements [members, table_rows, columns], [table_rows, columns] where shared
    BufferView ids;    ///< uint32 [members, id_count], [id_count] where shared
    BufferView out;    ///< [members, id_count, columns]
    BufferView
        status;  ///< uint32 [1]: the ids not below table_rows are added to it, once per member; the caller zeroes it
};

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundGather {
   public:
    /// No barrier inside. An id out of range gives a row of zeros.
    void record(Recorder& recorder) const noexcept;

   private:
    friend class GatherPlan;
    abi::gather::Params params_{};
    LinearGrid grid_;
    BindingOf<abi::gather::Params> binding_;
};

/// Immutable: threads may share it. The device must outlive it.
class GatherPlan {
   public:
    [[nodiscard]] MemoryNeeds scratch() const noexcept { return {}; }
    [[nodiscard]] const GatherConfig& config() const noexcept { return config_; }
    /// Errors: views that are short, misaligned, outside their buffers, or overlap `out` or `status`.
    [[nodiscard]] Result<BoundGather> bind(const GatherViews& views, const BufferView& scratch = {}) const;

   private:
    friend Result<GatherPlan> plan_gather(const Device&, const GatherDesc&);
    const Device* device_ = nullptr;
    GatherDesc desc_;
    GatherConfig config_;
    std::uint64_t table_bytes_ = 0;
    std::uint64_t ids_bytes_ = 0;
    std::uint64_t out_bytes_ = 0;
    PipelineOf<abi::gather::Params> pipeline_;
};

/// Errors: a configuration outside its space, sizes that overflow or pass the device's binding limit. `device` must
/// outlive the plan.
[[nodiscard]] Result<GatherPlan> plan_gather(const Device& device, const GatherDesc& desc);

}  // namespace yolk
