// SPDX-License-Identifier: Apache-2.0
// concat and split: parts side by side along one dimension, and apart again (docs/kernels/concat.md). Class E: the bits
// of 4-byte elements are moved.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "yolk/abi/concat.h"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk {

/// Tuning parameters; any valid configuration gives the same bytes.
struct ConcatConfig {
    std::uint32_t workgroup_size = 64;
    std::uint32_t loads_per_invocation = 1;
    std::uint32_t elements_per_load = 1;  ///< 4 where every part's extent * inner is a multiple of 4
};

/// [members, outer, extent, inner]; a shared part [outer, extent, inner] goes to every member.
struct ConcatPart {
    std::uint32_t extent = 0;  ///< along the dimension; 0 is legal
    bool shared = false;       ///< of concat only
};

/// The whole is [members, outer, sum of the extents, inner]: `outer` is the product of the dimensions before the one
/// that is joined, `inner` of those after it.
struct ConcatDesc {
    std::uint32_t members = 1;
    std::uint32_t outer = 1;
    std::uint32_t inner = 1;
    std::vector<ConcatPart> parts{};       ///< at least one; one dispatch each
    std::optional<ConcatConfig> config{};  ///< none: default_concat_config
};

/// Of concat and split: workgroups of 1 to 256, 1 to 8 loads per invocation of 1 or 4 elements.
[[nodiscard]] ConfigSpace<ConcatConfig> concat_space(const DeviceInfo& info, const ConcatDesc& desc);
/// Four elements per load where the space has it; on CPU drivers large workgroups and several loads where there are
/// many.
[[nodiscard]] ConcatConfig default_concat_config(const DeviceInfo& info, const ConcatDesc& desc);

struct ConcatViews {
    BufferView whole;                   ///< written by concat, read by split
    std::span<const BufferView> parts;  ///< in the order of the description; empty views for extents of 0
};

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundConcat {
   public:
    /// One dispatch per part that is not empty. No barrier inside: they write different elements.
    void record(Recorder& recorder) const noexcept;

   private:
    friend class ConcatPlan;
    struct Copy {
        BindingOf<abi::concat::Params> binding;
        abi::concat::Params params;
        LinearGrid grid;
    };
    std::vector<Copy> copies_;
};

/// Immutable: threads may share it. The device must outlive it.
class ConcatPlan {
   public:
    [[nodiscard]] MemoryNeeds scratch() const noexcept { return {}; }
    [[nodiscard]] const ConcatConfig& config() const noexcept { return config_; }
    /// Errors: another number of parts than planned; views that are short, misaligned, outside their buffers, or
    /// overlap what is written.
    [[nodiscard]] Result<BoundConcat> bind(const ConcatViews& views, const BufferView& scratch = {}) const;

   private:
    friend Result<ConcatPlan> plan_concat(const Device&, const ConcatDesc&);
    friend Result<ConcatPlan> plan_split(const Device&, const ConcatDesc&);
    [[nodiscard]] static Result<ConcatPlan> make(const Device& device, const ConcatDesc& desc, bool split);
    [[nodiscard]] std::uint64_t part_bytes(const ConcatPart& part) const noexcept;
    [[nodiscard]] Result<void> check(const ConcatViews& views) const;

    const Device* device_ = nullptr;
    ConcatDesc desc_;
    ConcatConfig config_;
    bool split_ = false;
    std::uint64_t whole_bytes_ = 0;
    PipelineOf<abi::concat::Params> pipeline_;
};

/// Joins parts to a whole. Errors: no parts, a configuration outside its space, sizes that overflow or pass the
/// device's binding limit. `device` must outlive the plan.
[[nodiscard]] Result<ConcatPlan> plan_concat(const Device& device, const ConcatDesc& desc);
/// Takes a whole apart. Errors: those of plan_concat, and a shared part.
[[nodiscard]] Result<ConcatPlan> plan_split(const Device& device, const ConcatDesc& desc);

}  // namespace yolk
