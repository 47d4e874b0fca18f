// SPDX-License-Identifier: Apache-2.0
#include "yolk/block_inverse.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "block_inverse_layout.hpp"
#include "block_inverse_record.hpp"
#include "operation_plan.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {

namespace {

namespace abi_bi = abi::block_inverse;

constexpr std::uint32_t kMaxN = 1024;
constexpr std::uint32_t kMaxRetries = 8;
constexpr float kLeastDamping = 0x1p-40F;
constexpr float kLargestDamping = 0x1p20F;

constexpr std::uint32_t number_of(BlockInverseStyle style) noexcept { return static_cast<std::uint32_t>(style); }

Result<void> check_block_inverse(const BlockInverseDesc& desc) {
    if (desc.damping != 0.0F && !(desc.damping >= kLeastDamping && desc.damping <= kLargestDamping)) {
        return bad_input("The damping of [block_inverse] is {}; it must be 0, or from {} to {}.", desc.damping,
                         kLeastDamping, kLargestDamping);
    }
    if (desc.damping_per_block && desc.damping != 0.0F) {
        return bad_input("[block_inverse] was given a relative damping of {} and damping_per_block. Use one of them.",
                         desc.damping);
    }
    return {};
}

Result<void> legal_block_inverse(const DeviceInfo& /*info*/, const BlockInverseDesc& desc,
                                 const BlockInverseConfig& config) {
    const bool symmetric = desc.mode == InverseMode::Symmetric;
    const bool group = config.style == number_of(BlockInverseStyle::Group);
    if (symmetric != group) {
        return bad_input("style is {}; {}.", config.style,
                         symmetric ? "with InverseMode::Symmetric it must be 1 (Group)"
                                   : "with InverseMode::Spd it must be 0 (Registers) or 2 (Tiles)");
    }
    if (config.style == number_of(BlockInverseStyle::Registers) && desc.n > abi_bi::kMaxRegisters) {
        return bad_input("style is 0 (Registers), which takes blocks of at most {} rows; n is {}.",
                         abi_bi::kMaxRegisters, desc.n);
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
    const bool by_lines = config.tile_rows < abi_bi::kPanel;
    all.insert(all.end(),
               {{BlockInversePass::Panel, by_lines ? &kernels::kBlockInversePanelLines : &kernels::kBlockInversePanel},
                {BlockInversePass::Forward, &kernels::kBlockInverseForward},
                {BlockInversePass::Judge, &kernels::kBlockInverseJudge},
                {BlockInversePass::Back, &kernels::kBlockInverseBack},
                {BlockInversePass::Backward, &kernels::kBlockInverseBackward}});
    return all;
}

bool takes_tiles(BlockInversePass pass) {
    return pass == BlockInversePass::Forward || pass == BlockInversePass::Backward ||
           pass == BlockInversePass::Residual;
}

BlockInverseConfig block_inverse_heuristic(const DeviceInfo& info, const BlockInverseDesc& desc) {
    const bool is_cpu = info.kind == DeviceKind::Cpu;
    BlockInverseConfig config{.workgroup_size = 64, .tile_rows = is_cpu ? 8U : 4U};
    if (desc.mode == InverseMode::Symmetric) {
        config.style = number_of(BlockInverseStyle::Group);
        // Few lanes are faster on CPU drivers up to about 256 rows; past 500 their loops are too long for
        // lavapipe 22.3.
        if (is_cpu && desc.n <= 256) config.workgroup_size = 8;
        return config;
    }
    const std::uint32_t most = is_cpu ? abi_bi::kMaxRegisters : 8;
    config.style = number_of(desc.n <= most ? BlockInverseStyle::Registers : BlockInverseStyle::Tiles);
    return config;
}

std::vector<Knob<BlockInverseConfig>> block_inverse_knobs(const DeviceInfo& /*info*/,
                                                          const BlockInverseDesc& /*desc*/) {
    return {{"style", &BlockInverseConfig::style, {0, 1, 2}},
            {"workgroup_size", &BlockInverseConfig::workgroup_size, {8, 64}},
            {"tile_rows", &BlockInverseConfig::tile_rows, {4, 8}}};
}

// in, out and scratch are bound in windows.
ViewShape inverse_matrices_view(const BlockInverseDesc& desc) {
    return {.extents = {{"blocks", desc.blocks}, {"n", desc.n}, {"n", desc.n}}, .in_pieces = true};
}
ViewShape inverse_damping_view(const BlockInverseDesc& desc) {
    return {.extents = {{"blocks", desc.n == 0 ? 0 : desc.blocks}}, .used = desc.damping_per_block};
}
ViewShape inverse_status_view(const BlockInverseDesc& desc) {
    return {.extents = {{"blocks", desc.n == 0 ? 0 : desc.blocks}}, .dtype = DType::U32};
}
ViewShape inverse_residual_view(const BlockInverseDesc& desc) { return {{{"blocks", desc.n == 0 ? 0 : desc.blocks}}}; }

}  // namespace

struct BlockInversePipelines {
    BlockInverseLayout layout;
    BlockInverseSteps steps;
    std::vector<std::pair<BlockInversePass, PipelineOf<abi_bi::Params>>> pipelines;
};

struct BlockInverseBound {
    std::vector<BlockInverseBindings> windows;
    std::vector<BlockInversePiece> pieces;
};

namespace {

Result<PipelinesOf<BlockInverseDesc>> build_block_inverse(const Device& device, const BlockInverseDesc& desc) {
    auto made = std::make_shared<BlockInversePipelines>();
    YOLK_TRY(made->layout, lay_out_block_inverse(device, desc, *desc.config));
    YOLK_TRY(made->steps, block_inverse_steps(device, desc, *desc.config));
    const std::array constants{SpecConstant{abi_bi::kSpecWorkgroupSize, desc.config->workgroup_size},
                               SpecConstant{abi_bi::kSpecTileRows, desc.config->tile_rows}};
    for (const auto& [pass, kernel] : kernels_of(desc, *desc.config)) {
        const std::size_t used = takes_tiles(pass) ? constants.size() : 1;
        YOLK_TRY(PipelineOf<abi_bi::Params> pipeline, device.pipeline(*kernel, std::span(constants).first(used)));
        made->pipelines.emplace_back(pass, std::move(pipeline));
    }
    return PipelinesOf<BlockInverseDesc>(std::move(made));
}

MemoryNeeds block_inverse_scratch(const BlockInverseDesc& /*desc*/, const PipelinesOf<BlockInverseDesc>& made) {
    return {.size_bytes = made->layout.scratch_bytes(made->layout.most_blocks),
            .least_bytes = made->layout.scratch_bytes(1)};
}

/// The part of a view of matrices that a window works on, from where a view may begin.
BufferView window_of(const BufferView& view, const BlockInverseWindow& window, std::uint64_t block_bytes) {
    const std::uint64_t skipped = std::uint64_t{window.offset} * sizeof(float);
    return view.part(window.first_block * block_bytes - skipped, skipped + window.blocks * block_bytes);
}

Result<BlockInverseBindings> bind_blocks(const Device& device, const BlockInverseDesc& desc,
                                         const BlockInversePipelines& made, const BlockInverseViews& views,
                                         const BufferView& scratch, const BlockInverseWindow& window) {
    const BufferView state = scratch.part(0, made.layout.all_state_bytes(window.blocks));
    const BufferView work = made.layout.work_bytes == 0 ? state
                                                        : scratch.part(made.layout.work_offset(window.blocks),
                                                                       window.blocks * made.layout.work_bytes);
    const std::array<BufferView, abi_bi::kBindingCount> all{window_of(views.in, window, made.layout.block_bytes),
                                                            desc.damping_per_block ? views.damping : state,
                                                            window_of(views.out, window, made.layout.block_bytes),
                                                            views.status,
                                                            views.residual,
                                                            state,
                                                            work,
                                                            work};
    BlockInverseBindings bindings;
    for (const auto& [pass, pipeline] : made.pipelines) {
        YOLK_TRY(bindings[static_cast<std::size_t>(pass)], device.bind(pipeline, all));
    }
    return bindings;
}

Result<BindingsOf<BlockInverseDesc>> bind_block_inverse(const Device& device, const BlockInverseDesc& desc,
                                                        const PipelinesOf<BlockInverseDesc>& made,
                                                        const BlockInverseViews& views, const BufferView& scratch) {
    auto bound = std::make_shared<BlockInverseBound>();
    const BlockInverseLayout& layout = made->layout;
    const std::uint32_t most = layout.window_blocks(scratch.size_bytes);
    for (std::uint32_t first = 0; first < desc.blocks; first += most) {
        BlockInverseWindow window{
            .index = bound->windows.size(), .first_block = first, .blocks = std::min(most, desc.blocks - first)};
        window.offset = static_cast<std::uint32_t>(first * layout.block_bytes % kViewAlignment / sizeof(float));
        YOLK_TRY(BlockInverseBindings bindings, bind_blocks(device, desc, *made, views, scratch, window));
        bound->windows.push_back(std::move(bindings));
        add_pieces(bound->pieces, desc, *desc.config, made->steps, window);
    }
    return BindingsOf<BlockInverseDesc>(std::move(bound));
}

void record_block_inverse(Recorder& recorder, const BindingsOf<BlockInverseDesc>& bound,
                          const BlockInverseDesc& /*desc*/) noexcept {
    bool is_first = true;
    for (const BlockInversePiece& piece : bound->pieces) {
        // Each pass reads what the one before has written; windows share the scratch.
        if (!std::exchange(is_first, false)) recorder.barrier(Barrier::ComputeToCompute);
        recorder.dispatch(bound->windows[piece.window][static_cast<std::size_t>(piece.pass)], piece.params, piece.grid);
    }
}

}  // namespace

template <>
const Operation<BlockInverseDesc>& operation_of<BlockInverseDesc>() {
    using Desc = BlockInverseDesc;
    using Views = BlockInverseViews;
    static const Operation<Desc> kOperation{
        .name = "block_inverse",
        .fields = {"block_inverse",
                   {extent<&Desc::n>("n").from(0, kMaxN), extent<&Desc::blocks>("blocks"), variant<&Desc::mode>("mode"),
                    variant<&Desc::retries>("retries").from(0, kMaxRetries).in_no_key()}},
        .views = {{"in", ViewRole::Input, &Views::in, &inverse_matrices_view},
                  {"damping", ViewRole::Input, &Views::damping, &inverse_damping_view},
                  {"out", ViewRole::Output, &Views::out, &inverse_matrices_view},
                  {"status", ViewRole::Output, &Views::status, &inverse_status_view},
                  {"residual", ViewRole::Output, &Views::residual, &inverse_residual_view}},
        .knobs = &block_inverse_knobs,
        .legal = &legal_block_inverse,
        .heuristic = &block_inverse_heuristic,
        .check = &check_block_inverse,
        .scratch_in_pieces = true,
        .build = &build_block_inverse,
        .scratch = &block_inverse_scratch,
        .bind = &bind_block_inverse,
        .record = &record_block_inverse,
    };
    return kOperation;
}
template class Plan<BlockInverseDesc>;

}  // namespace yolk
