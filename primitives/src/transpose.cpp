// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/transpose.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "plan_checks.hpp"
#include "tuned_plan.hpp"
#include "yolk/core/shape.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {

namespace abi_tr = abi::transpose;

namespace {

// A load, a store and four divisions of indices.
constexpr std::uint64_t kTransposeCost = 16;

std::uint32_t tile_words(const TransposeConfig& config) {
    return config.tile_rows * (config.tile_columns + config.padding);
}

}  // namespace

ConfigSpace<TransposeConfig> transpose_space(const DeviceInfo& info, const TransposeDesc& desc) {
    const std::uint32_t shared_bytes = info.limits.max_shared_memory_size;
    const auto legality = [shared_bytes](const TransposeConfig& config) -> Result<void> {
        if (config.staged == 0) {
            if (config.padding == 0) return {};
            return bad_input("padding of [transpose] is 1, but nothing is staged; use padding 0 or staged 1.");
        }
        if (tile_words(config) * kElementBytes <= shared_bytes) return {};
        return bad_input(fmt::format("The tile of [transpose] needs {} bytes of shared memory; the device has {}.",
                                     tile_words(config) * kElementBytes, shared_bytes));
    };
    const std::vector<std::uint32_t> sides{8, 16, 32, 64};
    return {"transpose",
            {{"workgroup_size", &TransposeConfig::workgroup_size, workgroup_sizes()},
             {"tile_rows", &TransposeConfig::tile_rows, sides},
             {"tile_columns", &TransposeConfig::tile_columns, sides},
             {"staged", &TransposeConfig::staged, {0, 1}},
             {"padding", &TransposeConfig::padding, {0, 1}}},
            legality,
            {.variant = "f32", .extents = {desc.members, desc.rows, desc.columns}}};
}

// Where the cache is large and shared memory is ordinary memory, staging only copies twice.
TransposeConfig default_transpose_config(const DeviceInfo& info, const TransposeDesc& /*desc*/) {
    if (info.kind == DeviceKind::Cpu) return {.workgroup_size = 16, .tile_rows = 16, .staged = 0, .padding = 0};
    return {};
}

Result<TransposePlan> plan_transpose(const Device& device, const TransposeDesc& desc) {
    TransposePlan plan;
    plan.device_ = &device;
    plan.desc_ = desc;
    if (!desc.config)
        return plan_tuned(device, desc, transpose_space(device.info(), desc),
                          default_transpose_config(device.info(), desc), &plan_transpose);
    plan.config_ = *desc.config;
    YOLK_TRY_VOID(transpose_space(device.info(), desc).check(plan.config_));
    YOLK_TRY(plan.size_bytes_,
             checked_bytes({desc.members, desc.rows, desc.columns}, kElementBytes, "the out view of [transpose]"));
    YOLK_TRY_VOID(check_binding_size(device, plan.size_bytes_, "the out view of [transpose]"));
    if (plan.size_bytes_ == 0) return plan;
    const std::array constants{
        SpecConstant{abi_tr::kSpecWorkgroupSize, plan.config_.workgroup_size},
        SpecConstant{abi_tr::kSpecTileRows, plan.config_.tile_rows},
        SpecConstant{abi_tr::kSpecTileColumns, plan.config_.tile_columns},
        SpecConstant{abi_tr::kSpecPadding, plan.config_.padding},
        SpecConstant{abi_tr::kSpecTileWords, tile_words(plan.config_)},
    };
    const auto& kernel = plan.config_.staged == 0 ? kernels::kTransposeDirect : kernels::kTransposeStaged;
    YOLK_TRY(plan.pipeline_, device.pipeline(kernel, constants));
    return plan;
}

Result<BoundTranspose> TransposePlan::bind(const TransposeViews& views, const BufferView& /*scratch*/) const {
    BoundTranspose bound;
    YOLK_TRY_VOID(check_views(*device_, "[transpose]",
                              {{.view = views.source, .needed_bytes = size_bytes_, .name = "source"}},
                              {{.view = views.out, .needed_bytes = size_bytes_, .name = "out"}}));
    if (size_bytes_ == 0) return bound;
    bound.params_ = {.members = desc_.members, .rows = desc_.rows, .columns = desc_.columns};
    const std::uint64_t tiles = std::uint64_t{ceil_div(desc_.rows, config_.tile_rows)} *
                                ceil_div(desc_.columns, config_.tile_columns) * desc_.members;
    bound.grid_ = grid_of(tiles, 1, kTransposeCost * config_.tile_rows * config_.tile_columns);
    YOLK_TRY(bound.binding_, device_->bind(pipeline_, std::array{views.source, views.out}));
    return bound;
}

void BoundTranspose::record(Recorder& recorder) const noexcept {
    if (grid_.groups == 0) return;
    const ScopedLabel label(recorder, "transpose");
    recorder.dispatch(binding_, params_, grid_);
}

}  // namespace yolk
