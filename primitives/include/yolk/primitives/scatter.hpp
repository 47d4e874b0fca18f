// SPDX-License-Identifier: Apache-2.0
// scatter: rows into a target by their ids, for each member of a population (docs/kernels/gather.md). Deterministic
// where ids repeat: they count in their order. Class E (assign) and P (add).
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/abi/gather.h"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk {

enum class ScatterMode : std::uint32_t {
    Assign = abi::gather::kScatterAssign,  ///< the last of equal ids stays
    Add = abi::gather::kScatterAdd,        ///< one chain of fp32 additions, from the target's value on
};

/// Tuning parameters; any valid configuration gives the same bytes.
struct ScatterConfig {
    std::uint32_t workgroup_size = 64;
    std::uint32_t elements_per_load = 1;    ///< 4 where columns is a multiple of 4
    std::uint32_t ids_per_dispatch = 4096;  ///< at most; fewer where the device's loop limit asks for it
};

struct ScatterDesc {
    std::uint32_t members = 1;
    std::uint32_t target_rows = 0;  ///< 0 is legal: then every id is out of range
    std::uint32_t columns = 0;
    std::uint32_t id_count = 0;  ///< per member
    ScatterMode mode = ScatterMode::Assign;
    bool shared_ids = false;                ///< one list of ids for all members
    bool shared_values = false;             ///< one array of values for all members
    std::optional<ScatterConfig> config{};  ///< none: default_scatter_config
};

/// Workgroups of 1 to 256, 1 or 4 elements per load, 16 to 16,384 ids per dispatch.
[[nodiscard]] ConfigSpace<ScatterConfig> scatter_space(const DeviceInfo& info, const ScatterDesc& desc);
/// Four elements per load where the space has it on CPU drivers; elsewhere one, for as many invocations as columns.
[[nodiscard]] ScatterConfig default_scatter_config(const DeviceInfo& info, const ScatterDesc& desc);

struct ScatterViews {
    BufferView target;  ///< 4-byte elements (Add: fp32) [members, target_rows, columns], in place
    BufferView ids;     ///< uint32 [members, id_count], [id_count] where shared
    BufferView values;  ///< [members, id_count, columns], [id_count, columns] where shared
    BufferView
        status;  ///< uint32 [1]: ids not below target_rows are added to it, once per member; the caller zeroes it
};

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundScatter {
   public:
    /// Several dispatches with barriers between them where there are many ids; none before or after.
    void record(Recorder& recorder) const noexcept;

   private:
    friend class ScatterPlan;
    abi::gather::Params params_{};
    LinearGrid grid_;
    std::uint32_t chunk_ = 0;
    BindingOf<abi::gather::Params> binding_;
};

/// Immutable: threads may share it. The device must outlive it.
class ScatterPlan {
   public:
    [[nodiscard]] MemoryNeeds scratch() const noexcept { return {}; }
    [[nodiscard]] const ScatterConfig& config() const noexcept { return config_; }
    /// Errors: views that are short, misaligned, outside their buffers, or overlap `target` or `status`.
    [[nodiscard]] Result<BoundScatter> bind(const ScatterViews& views, const BufferView& scratch = {}) const;

   private:
    friend Result<ScatterPlan> plan_scatter(const Device&, const ScatterDesc&);
    const Device* device_ = nullptr;
    ScatterDesc desc_;
    ScatterConfig config_;
    std::uint32_t chunk_ = 0;
    std::uint64_t target_bytes_ = 0;
    std::uint64_t ids_bytes_ = 0;
    std::uint64_t values_bytes_ = 0;
    PipelineOf<abi::gather::Params> pipeline_;
};

/// Errors: a mode that is none, a configuration outside its space, sizes that overflow or pass the device's binding
/// limit. `device` must outlive the plan.
[[nodiscard]] Result<ScatterPlan> plan_scatter(const Device& device, const ScatterDesc& desc);

}  // namespace yolk
