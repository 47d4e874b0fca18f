// SPDX-License-Identifier: Apache-2.0
#include "yolk/cumulative_sum.hpp"

#include <array>
#include <utility>

#include "operation_plan.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_cs = abi::cumulative_sum;

// A load, three additions and a store.
constexpr std::uint64_t kSumCost = 8;
constexpr std::uint32_t kAddWorkgroup = 64;
constexpr std::uint32_t kAddElements = 4;

/// Rows whose chunks one dispatch sums: the description's, then those of the chunks' totals.
struct SumLevel {
    std::uint64_t outer = 0;
    std::uint32_t columns = 0;
    std::uint32_t inner = 1;
    std::uint32_t chunks = 1;
    std::uint64_t totals_offset = 0;  ///< of this level's totals in scratch
};
struct SumLevels {
    std::vector<SumLevel> levels;
    std::uint64_t scratch_bytes = 0;
};

SumLevels levels_of(const CumulativeSumDesc& desc) {
    SumLevels all;
    ScratchPieces pieces;
    SumLevel level{.outer = desc.outer, .columns = desc.columns, .inner = desc.inner};
    while (true) {
        level.chunks = ceil_div(level.columns, abi_cs::kChunk);
        const std::uint64_t rows = level.outer * level.inner;
        if (level.chunks > 1) level.totals_offset = pieces.add(kElementBytes * rows * level.chunks);
        all.levels.push_back(level);
        if (level.chunks <= 1) break;
        level = {.outer = rows, .columns = level.chunks};
    }
    all.scratch_bytes = pieces.size_bytes();
    return all;
}

ViewShape sums_view(const CumulativeSumDesc& desc) {
    return {{{"outer", desc.outer}, {"columns", desc.columns}, {"inner", desc.inner}}};
}

std::vector<Knob<CumulativeSumConfig>> sum_knobs(const DeviceInfo& /*info*/, const CumulativeSumDesc& /*desc*/) {
    return {{"chunk_per_invocation", &CumulativeSumConfig::chunk_per_invocation, {0, 1}},
            {"chunks_per_workgroup", &CumulativeSumConfig::chunks_per_workgroup, {1, 2, 4, 8, 16, 32, 64, 128, 256}},
            {"lanes_per_chunk", &CumulativeSumConfig::lanes_per_chunk, {32, 64, 128, 256}}};
}

Result<void> legal_sum(const DeviceInfo& /*info*/, const CumulativeSumDesc& /*desc*/,
                       const CumulativeSumConfig& config) {
    const std::uint32_t chunks = config.chunks_per_workgroup, lanes = config.lanes_per_chunk;
    if (config.chunk_per_invocation != 0) {
        if (lanes == abi_cs::kRuns) return {};
        return bad_input("lanes_per_chunk of [cumulative_sum] is {}; it is 32 where chunk_per_invocation is 1.", lanes);
    }
    if (chunks <= 4 && chunks * lanes <= kMaxWorkgroupSize) return {};
    return bad_input(
        "[cumulative_sum] was given {} chunks per workgroup of {} lanes each; with chunk_per_invocation 0 up to 4 of "
        "them, with 256 lanes in all, are allowed.",
        chunks, lanes);
}

// Barriers are expensive on CPU drivers. On GPUs neighbours along `inner` read what lies side by side by themselves;
// along the last dimension they do so only where they share a chunk, which pays where it has elements for them.
CumulativeSumConfig sum_heuristic(const DeviceInfo& info, const CumulativeSumDesc& desc) {
    if (info.kind == DeviceKind::Cpu)
        return {.chunk_per_invocation = 1, .chunks_per_workgroup = 16, .lanes_per_chunk = abi_cs::kRuns};
    const bool is_alone = desc.inner >= 32 || desc.columns <= 64;
    if (!is_alone) return {};
    return {.chunk_per_invocation = 1, .chunks_per_workgroup = 64, .lanes_per_chunk = abi_cs::kRuns};
}

Result<PipelinesOf<CumulativeSumDesc>> build_sum(const Device& device, const CumulativeSumDesc& desc) {
    const bool is_alone = desc.config->chunk_per_invocation != 0;
    const std::uint32_t lanes = desc.config->lanes_per_chunk;
    const std::array constants{
        SpecConstant{abi_cs::kSpecWorkgroupSize, desc.config->chunks_per_workgroup * (is_alone ? 1 : lanes)},
        SpecConstant{abi_cs::kSpecChunkLanes, lanes}};
    CumulativeSumDesc::Pipelines made;
    YOLK_TRY(
        made.chunks,
        device.pipeline(is_alone ? kernels::kCumulativeSumByInvocation : kernels::kCumulativeSumByGroup, constants));
    if (desc.columns <= abi_cs::kChunk) return made;
    const std::array of_add{SpecConstant{abi_cs::kSpecWorkgroupSize, kAddWorkgroup},
                            SpecConstant{abi_cs::kSpecElements, kAddElements}};
    YOLK_TRY(made.add, device.pipeline(kernels::kCumulativeSumAdd, of_add));
    return made;
}

MemoryNeeds sum_scratch(const CumulativeSumDesc& desc, const PipelinesOf<CumulativeSumDesc>& /*made*/) {
    return {.size_bytes = levels_of(desc).scratch_bytes};
}

/// Of a level: what it reads, writes, and where its totals go; the output where it has none.
struct SumViews {
    BufferView in, out, totals;
};

Result<CumulativeSumStep> chunks_step(const Device& device, const CumulativeSumDesc& desc,
                                      const PipelinesOf<CumulativeSumDesc>& made, const SumLevel& level,
                                      const SumViews& views) {
    const auto count = static_cast<std::uint32_t>(level.outer * level.inner * level.chunks);
    CumulativeSumStep step{.binding = {},
                           .params = {.count = count,
                                      .columns = level.columns,
                                      .inner = level.inner,
                                      .chunks = level.chunks,
                                      .has_totals = level.chunks > 1 ? 1U : 0U},
                           .grid = grid_of(count, desc.config->chunks_per_workgroup, kSumCost * abi_cs::kChunk)};
    YOLK_TRY(step.binding, device.bind(made.chunks, std::array{views.in, views.out, views.totals}));
    return step;
}

Result<CumulativeSumStep> add_step(const Device& device, const PipelinesOf<CumulativeSumDesc>& made,
                                   const SumLevel& level, const SumViews& views) {
    const auto count = static_cast<std::uint32_t>(level.outer * (level.columns - abi_cs::kChunk) * level.inner);
    CumulativeSumStep step{.binding = {},
                           .params = {.count = count,
                                      .columns = level.columns,
                                      .inner = level.inner,
                                      .chunks = level.chunks,
                                      .has_totals = 1},
                           .grid = grid_of(count, std::uint64_t{kAddWorkgroup} * kAddElements, kSumCost)};
    YOLK_TRY(step.binding, device.bind(made.add, std::array{views.in, views.out, views.totals}));
    return step;
}

// Down to the level whose rows are one chunk, and back.
Result<BindingsOf<CumulativeSumDesc>> bind_sum(const Device& device, const CumulativeSumDesc& desc,
                                               const PipelinesOf<CumulativeSumDesc>& made,
                                               const CumulativeSumViews& views, const BufferView& scratch) {
    const std::vector<SumLevel> levels = levels_of(desc).levels;
    std::vector<SumViews> of_level;
    SumViews next{.in = views.in, .out = views.out, .totals = views.out};
    for (const SumLevel& level : levels) {
        if (level.chunks > 1) {
            next.totals = scratch;
            next.totals.offset_bytes += level.totals_offset;
            next.totals.size_bytes = kElementBytes * level.outer * level.inner * level.chunks;
        }
        of_level.push_back(next);
        next = {.in = next.totals, .out = next.totals, .totals = next.totals};
    }
    std::vector<CumulativeSumStep> steps;
    for (std::size_t k = 0; k < levels.size(); ++k) {
        YOLK_TRY(auto step, chunks_step(device, desc, made, levels[k], of_level[k]));
        steps.push_back(std::move(step));
    }
    for (std::size_t k = levels.size() - 1; k-- > 0;) {
        YOLK_TRY(auto step, add_step(device, made, levels[k], of_level[k]));
        steps.push_back(std::move(step));
    }
    return steps;
}

void record_sum(Recorder& recorder, const BindingsOf<CumulativeSumDesc>& steps,
                const CumulativeSumDesc& /*desc*/) noexcept {
    bool is_first = true;
    for (const CumulativeSumStep& step : steps) {
        if (!std::exchange(is_first, false)) recorder.barrier(Barrier::ComputeToCompute);
        recorder.dispatch(step.binding, step.params, step.grid);
    }
}

}  // namespace

template <>
const Operation<CumulativeSumDesc>& operation_of<CumulativeSumDesc>() {
    using Desc = CumulativeSumDesc;
    using Views = CumulativeSumViews;
    static const Operation<Desc> kOperation{
        .name = "cumulative_sum",
        .fields = {"cumulative_sum",
                   {extent<&Desc::inner>("inner").factor(), extent<&Desc::outer>("outer"),
                    extent<&Desc::columns>("columns")}},
        .views = {{"in", ViewRole::Input, &Views::in, &sums_view}, {"out", ViewRole::Output, &Views::out, &sums_view}},
        .knobs = &sum_knobs,
        .legal = &legal_sum,
        .heuristic = &sum_heuristic,
        .build = &build_sum,
        .scratch = &sum_scratch,
        .bind = &bind_sum,
        .record = &record_sum,
    };
    return kOperation;
}
template class Plan<CumulativeSumDesc>;

}  // namespace yolk
