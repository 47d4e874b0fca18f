// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/block_inverse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "block_inverse_layout.hpp"
#include "block_inverse_record.hpp"
#include "plan_checks.hpp"
#include "tuned_plan.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {

namespace {

namespace abi_bi = abi::block_inverse;

constexpr std::uint32_t kMaxN = 1024;
constexpr std::uint32_t kMaxRetries = 8;
constexpr float kLeastDamping = 0x1p-40F;
constexpr float kLargestDamping = 0x1p20F;

constexpr std::uint32_t number_of(BlockInverseStyle style) noexcept { return static_cast<std::uint32_t>(style); }

Result<void> check_block_inverse(const BlockInverseDesc& desc) {
    YOLK_TRY_VOID(check_range(desc.n, 0, kMaxN, "n of [block_inverse]"));
    YOLK_TRY_VOID(check_range(static_cast<std::uint64_t>(desc.mode), 0, 1, "the mode of [block_inverse]"));
    YOLK_TRY_VOID(check_range(desc.retries, 0, kMaxRetries, "retries of [block_inverse]"));
    if (desc.damping != 0.0F && !(desc.damping >= kLeastDamping && desc.damping <= kLargestDamping)) {
        return bad_input(fmt::format("The damping of [block_inverse] is {}; it must be 0, or from {} to {}.",
                                     desc.damping, kLeastDamping, kLargestDamping));
    }
    if (desc.damping_per_block && desc.damping != 0.0F) {
        return bad_input(
            fmt::format("[block_inverse] was given a relative damping of {} and damping_per_block. Use one of them.",
                        desc.damping));
    }
    return {};
}

Result<void> check_style(const BlockInverseDesc& desc, const BlockInverseConfig& config) {
    const bool symmetric = desc.mode == InverseMode::Symmetric;
    const bool group = config.style == number_of(BlockInverseStyle::Group);
    if (symmetric != group) {
        return bad_input(fmt::format("style is {}; {}.", config.style,
                                     symmetric ? "with InverseMode::Symmetric it must be 1 (Group)"
                                               : "with InverseMode::Spd it must be 0 (Registers) or 2 (Tiles)"));
    }
    if (config.style == number_of(BlockInverseStyle::Registers) && desc.n > abi_bi::kMaxRegisters) {
        return bad_input(fmt::format("style is 0 (Registers), which takes blocks of at most {} rows; n is {}.",
                                     abi_bi::kMaxRegisters, desc.n));
    }
    return {};
}

/// The smallest kernel that holds the block.
const Kernel<abi_bi::Params>& registers_of(std::uint32_t n) {
    if (n <= 4) return kernels::kBlockInverseRegisters4;
    if (n <= 8) return kernels::kBlockInverseRegisters8;
    if (n <= 16) return kernels::kBlockInverseRegisters16;
    if (n <= 24) return kernels::kBlockInverseRegisters24;
    return kernels::kBlockInverseRegisters32;
}

/// The kernels of a style, in any order.
std::vector<std::pair<BlockInversePass, const Kernel<abi_bi::Params>*>> kernels_of(const BlockInverseDesc& desc,
                                                                                   const BlockInverseConfig& config) {
    std::vector<std::pair<BlockInversePass, const Kernel<abi_bi::Params>*>> all{
        {BlockInversePass::Prepare, &kernels::kBlockInversePrepare},
        {BlockInversePass::Residual, &kernels::kBlockInverseResidual},
        {BlockInversePass::Report, &kernels::kBlockInverseReport},
    };
    if (config.style == number_of(BlockInverseStyle::Registers)) {
        all.emplace_back(BlockInversePass::Registers, &registers_of(desc.n));
        return all;
    }
    all.insert(all.end(), {{BlockInversePass::Begin, &kernels::kBlockInverseBegin},
                           {BlockInversePass::Check, &kernels::kBlockInverseCheck},
                           {BlockInversePass::Verdict, &kernels::kBlockInverseVerdict},
                           {BlockInversePass::Finish, &kernels::kBlockInverseFinish}});
    if (config.style == number_of(BlockInverseStyle::Group)) {
        all.emplace_back(BlockInversePass::Pivoted, &kernels::kBlockInversePivoted);
        return all;
    }
    all.insert(all.end(), {{BlockInversePass::Panel, &kernels::kBlockInversePanel},
                           {BlockInversePass::Forward, &kernels::kBlockInverseForward},
                           {BlockInversePass::Judge, &kernels::kBlockInverseJudge},
                           {BlockInversePass::Back, &kernels::kBlockInverseBack},
                           {BlockInversePass::Backward, &kernels::kBlockInverseBackward}});
    return all;
}

}  // namespace

struct BlockInversePlan::Impl {
    const Device* device = nullptr;
    BlockInverseDesc desc;
    BlockInverseConfig config;
    BlockInverseLayout layout;
    BlockInverseSteps steps;
    std::vector<std::pair<BlockInversePass, PipelineOf<abi_bi::Params>>> pipelines;

    [[nodiscard]] bool is_empty() const noexcept { return desc.n == 0 || desc.blocks == 0; }
    Result<void> check(const BlockInverseViews& views, const BufferView& scratch) const;
    Result<BlockInverseBindings> bind_window(const BlockInverseViews& views, const BufferView& scratch,
                                             const BlockInverseWindow& window) const;
};

struct BoundBlockInverse::Impl {
    std::vector<BlockInverseBindings> windows;
    std::vector<BlockInversePiece> pieces;
};

BlockInversePlan::BlockInversePlan() noexcept = default;
BlockInversePlan::~BlockInversePlan() = default;
BlockInversePlan::BlockInversePlan(BlockInversePlan&&) noexcept = default;
BlockInversePlan& BlockInversePlan::operator=(BlockInversePlan&&) noexcept = default;
BoundBlockInverse::BoundBlockInverse() noexcept = default;
BoundBlockInverse::~BoundBlockInverse() = default;
BoundBlockInverse::BoundBlockInverse(BoundBlockInverse&&) noexcept = default;
BoundBlockInverse& BoundBlockInverse::operator=(BoundBlockInverse&&) noexcept = default;

ConfigSpace<BlockInverseConfig> block_inverse_space(const DeviceInfo& /*info*/, const BlockInverseDesc& desc) {
    return {
        "block_inverse",
        {{"style", &BlockInverseConfig::style, {0, 1, 2}},
         {"workgroup_size", &BlockInverseConfig::workgroup_size, {8, 64}}},
        [desc](const BlockInverseConfig& config) { return check_style(desc, config); },
        {.variant = desc.mode == InverseMode::Spd ? "f32, spd" : "f32, symmetric", .extents = {desc.n, desc.blocks}}};
}

BlockInverseConfig default_block_inverse_config(const DeviceInfo& info, const BlockInverseDesc& desc) {
    if (desc.mode == InverseMode::Symmetric) {
        // Few lanes are faster on CPU drivers up to about 256 rows; past 500 their loops are too long for
        // lavapipe 22.3.
        const bool few = info.kind == DeviceKind::Cpu && desc.n <= 256;
        return {.style = number_of(BlockInverseStyle::Group), .workgroup_size = few ? 8U : 64U};
    }
    const std::uint32_t most = info.kind == DeviceKind::Cpu ? abi_bi::kMaxRegisters : 8;
    if (desc.n <= most) return {.style = number_of(BlockInverseStyle::Registers), .workgroup_size = 64};
    return {.style = number_of(BlockInverseStyle::Tiles), .workgroup_size = 64};
}

MemoryNeeds BlockInversePlan::scratch() const noexcept {
    if (impl_->is_empty()) return {};
    return {.size_bytes = impl_->layout.scratch_bytes(impl_->layout.most_blocks),
            .least_bytes = impl_->layout.scratch_bytes(1)};
}
const BlockInverseConfig& BlockInversePlan::config() const noexcept { return impl_->config; }

Result<BlockInversePlan> plan_block_inverse(const Device& device, const BlockInverseDesc& desc) {
    YOLK_TRY_VOID(check_block_inverse(desc));
    auto impl = std::make_unique<BlockInversePlan::Impl>();
    impl->device = &device;
    impl->desc = desc;
    if (!desc.config)
        return plan_tuned(device, desc, block_inverse_space(device.info(), desc),
                          default_block_inverse_config(device.info(), desc), &plan_block_inverse);
    impl->config = *desc.config;
    YOLK_TRY_VOID(block_inverse_space(device.info(), desc).check(impl->config));
    YOLK_TRY(impl->layout, lay_out_block_inverse(device, desc, impl->config));
    if (!impl->is_empty()) {
        YOLK_TRY(impl->steps, block_inverse_steps(device, desc, impl->config));
        const std::array constants{SpecConstant{abi_bi::kSpecWorkgroupSize, impl->config.workgroup_size}};
        for (const auto& [pass, kernel] : kernels_of(desc, impl->config)) {
            YOLK_TRY(PipelineOf<abi_bi::Params> pipeline, device.pipeline(*kernel, constants));
            impl->pipelines.emplace_back(pass, std::move(pipeline));
        }
    }
    BlockInversePlan plan;
    plan.impl_ = std::move(impl);
    return plan;
}

Result<void> BlockInversePlan::Impl::check(const BlockInverseViews& views, const BufferView& scratch) const {
    // in, out and scratch are bound in windows, so only these may be longer than a binding.
    constexpr std::uint64_t kAnySize = UINT64_MAX;
    const std::uint64_t limit = device->info().limits.max_storage_buffer_range;
    const std::uint64_t words = is_empty() ? 0 : sizeof(std::uint32_t) * desc.blocks;
    const std::uint64_t matrices = is_empty() ? 0 : layout.block_bytes * desc.blocks;
    const std::uint64_t dampings = desc.damping_per_block ? words : 0;
    YOLK_TRY_VOID(check_view(views.in, matrices, kAnySize, "the in view of [block_inverse]"));
    YOLK_TRY_VOID(check_view(views.damping, dampings, limit, "the damping view of [block_inverse]"));
    YOLK_TRY_VOID(check_view(views.out, matrices, kAnySize, "the out view of [block_inverse]"));
    YOLK_TRY_VOID(check_view(views.status, words, limit, "the status view of [block_inverse]"));
    YOLK_TRY_VOID(check_view(views.residual, words, limit, "the residual view of [block_inverse]"));
    const std::uint64_t least = is_empty() ? 0 : layout.scratch_bytes(1);
    YOLK_TRY_VOID(check_view(scratch, least, kAnySize, "the scratch view of [block_inverse]"));
    const std::array outputs{views.out, views.status, views.residual, scratch};
    const std::array inputs{views.in, views.damping};
    return check_no_overlap(outputs, inputs, "[block_inverse]");
}

namespace {

/// The part of a view of matrices that a window works on, from where a view may begin.
BufferView window_of(const BufferView& view, const BlockInverseWindow& window, std::uint64_t block_bytes) {
    const std::uint64_t skipped = std::uint64_t{window.offset} * sizeof(float);
    return view.part(window.first_block * block_bytes - skipped, skipped + window.blocks * block_bytes);
}

}  // namespace

Result<BlockInverseBindings> BlockInversePlan::Impl::bind_window(const BlockInverseViews& views,
                                                                 const BufferView& scratch,
                                                                 const BlockInverseWindow& window) const {
    const BufferView state = scratch.part(0, layout.all_state_bytes(window.blocks));
    const BufferView work = layout.work_bytes == 0
                                ? state
                                : scratch.part(layout.work_offset(window.blocks), window.blocks * layout.work_bytes);
    const std::array<BufferView, abi_bi::kBindingCount> all{window_of(views.in, window, layout.block_bytes),
                                                            desc.damping_per_block ? views.damping : state,
                                                            window_of(views.out, window, layout.block_bytes),
                                                            views.status,
                                                            views.residual,
                                                            state,
                                                            work,
                                                            work};
    BlockInverseBindings bindings;
    for (const auto& [pass, pipeline] : pipelines) {
        YOLK_TRY(bindings[static_cast<std::size_t>(pass)], device->bind(pipeline, all));
    }
    return bindings;
}

Result<BoundBlockInverse> BlockInversePlan::bind(const BlockInverseViews& views, const BufferView& scratch) const {
    YOLK_TRY_VOID(impl_->check(views, scratch));
    BoundBlockInverse result;
    result.impl_ = std::make_unique<BoundBlockInverse::Impl>();
    if (impl_->is_empty()) return result;
    const BlockInverseLayout& layout = impl_->layout;
    const std::uint32_t most = layout.window_blocks(scratch.size_bytes);
    for (std::uint32_t first = 0; first < impl_->desc.blocks; first += most) {
        BlockInverseWindow window{.index = result.impl_->windows.size(),
                                  .first_block = first,
                                  .blocks = std::min(most, impl_->desc.blocks - first)};
        window.offset = static_cast<std::uint32_t>(first * layout.block_bytes % kViewAlignment / sizeof(float));
        YOLK_TRY(BlockInverseBindings bindings, impl_->bind_window(views, scratch, window));
        result.impl_->windows.push_back(std::move(bindings));
        add_pieces(result.impl_->pieces, impl_->desc, impl_->config, impl_->steps, window);
    }
    return result;
}

void BoundBlockInverse::record(Recorder& recorder) const noexcept {
    if (impl_->pieces.empty()) return;
    const ScopedLabel label(recorder, "block_inverse");
    bool is_first = true;
    for (const BlockInversePiece& piece : impl_->pieces) {
        // Each pass reads what the one before has written; windows share the scratch.
        if (!is_first) recorder.barrier(Barrier::ComputeToCompute);
        is_first = false;
        recorder.dispatch(impl_->windows[piece.window][static_cast<std::size_t>(piece.pass)], piece.params, piece.grid);
    }
}

}  // namespace yolk
