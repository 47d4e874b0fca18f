// SPDX-License-Identifier: Apache-2.0
#include "yolk/perturbed_linear.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "matmul_layout.hpp"
#include "operation_plan.hpp"
#include "perturbed_linear_layout.hpp"
#include "perturbed_linear_space.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/internal/abi/perturbed_linear.h"
#include "yolk/internal/core/check.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/runtime/loop_budget.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {

namespace abi_pl = abi::perturbed_linear;

/// Rows [first, first + count) of the output, and where they begin in the bound window of x.
struct InputWindow {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t a_offset = 0;
    BufferView input;
};

namespace {

constexpr std::uint64_t kInputWindowBytes = kElementBytes * abi_pl::kUniformElements;

/// Of one element of B: its share of a block of noise, and its product.
constexpr std::uint64_t kNoiseElementCost = kNoiseBlockCost / kNoiseElementsPerBlock + 1;

float scale_of(const PerturbedLinearDesc& desc, float sigma) noexcept {
    const double scale = static_cast<double>(sigma) / std::sqrt(static_cast<double>(desc.rank)) / kNoiseVariance;
    return exact::exact_flush_operand(static_cast<float>(scale));
}

std::array<SpecConstant, 8> project_constants(const PerturbedLinearLayout& layout) {
    const PerturbedLinearConfig& c = layout.config;
    const bool whole = layout.k() % projection_step(layout.desc.rank) == 0;
    const bool vectors = c.vector_width == 4 && whole && layout.k() % 4 == 0;
    return {{{abi_pl::kSpecWorkgroupSize, c.projection_workgroup},
             {abi_pl::kSpecRank, layout.desc.rank},
             {abi_pl::kSpecProjectionRows, c.projection_rows},
             {abi_pl::kSpecInputIsShared, layout.desc.shared_input ? 1U : 0U},
             {abi_pl::kSpecVectorA, vectors ? 1U : 0U},
             {abi_pl::kSpecWholeK, whole ? 1U : 0U},
             {abi_pl::kSpecFormatA, static_cast<std::uint32_t>(layout.desc.input_format)},
             {abi_pl::kSpecAntithetic, layout.desc.antithetic ? 1U : 0U}}};
}

std::array<SpecConstant, 22> output_constants(const PerturbedLinearLayout& layout) {
    const PerturbedLinearConfig& c = layout.config;
    const PerturbedLinearDesc& d = layout.desc;
    const std::uint32_t base = !layout.has_base() ? 0 : d.shared_input ? abi_pl::kBaseInA : abi_pl::kBaseInOut;
    const StagedBlock block{c.workgroup_size, c.block_m, c.block_n, c.block_k};
    const auto reads_vectors = [&](std::uint32_t row, std::uint32_t lines) {
        const bool staged = c.operand_path == kStagedOperands && !stages_vectors(block, lines);
        return c.vector_width == 4 && base == 0 && row % 4 == 0 && !staged ? 1U : 0U;
    };
    const bool ragged = layout.instances() % c.block_m != 0 || layout.n() % c.block_n != 0;
    return {{{abi_pl::kSpecWorkgroupSize, c.workgroup_size},
             {abi_pl::kSpecBlockM, c.block_m},
             {abi_pl::kSpecBlockN, c.block_n},
             {abi_pl::kSpecBlockK, c.block_k},
             {abi_pl::kSpecTileM, c.tile_m},
             {abi_pl::kSpecTileN, c.tile_n},
             {abi_pl::kSpecVectorA, reads_vectors(layout.k(), c.block_m)},
             {abi_pl::kSpecVectorB, reads_vectors(d.transposed ? layout.n() : layout.k(), c.block_n)},
             {abi_pl::kSpecTransposeA, 0},
             {abi_pl::kSpecTransposeB, d.transposed ? 0U : 1U},
             {abi_pl::kSpecPartial, base == 0 && layout.output_chunk < layout.k() ? 1U : 0U},
             {abi_pl::kSpecRagged, ragged ? 1U : 0U},
             {abi_pl::kSpecWholeK, base != 0 || layout.k() % c.block_k == 0 ? 1U : 0U},
             {abi_pl::kSpecRank, d.rank},
             {abi_pl::kSpecFused, c.fused},
             {abi_pl::kSpecInputIsShared, d.shared_input ? 1U : 0U},
             {abi_pl::kSpecFormatA, static_cast<std::uint32_t>(d.input_format)},
             {abi_pl::kSpecFormatB, static_cast<std::uint32_t>(d.weights_format)},
             {abi_pl::kSpecAntithetic, d.antithetic ? 1U : 0U},
             {abi_pl::kSpecBase, base},
             {abi_pl::kSpecActivation, static_cast<std::uint32_t>(d.activation)},
             {abi_pl::kSpecVectorOut, layout.n() % 4 == 0 ? 1U : 0U}}};
}

const Kernel<abi_pl::Params>& output_kernel(const PerturbedLinearDesc& desc, const PerturbedLinearConfig& config) {
    const bool exact = desc.determinism == Determinism::Exact;
    const auto of = [exact](const Kernel<abi_pl::Params>& exact_one,
                            const Kernel<abi_pl::Params>& fast_one) -> const Kernel<abi_pl::Params>& {
        return exact ? exact_one : fast_one;
    };
    const auto& plain = of(kernels::kPerturbedLinearOutput, kernels::kPerturbedLinearOutputFast);
    // It reads neither x nor W, but may read the product of a shared x.
    if (config.base != kBaseInChain && config.operand_path == kDirectOperands) return plain;
    if (config.storage16 == 1)
        return of(kernels::kPerturbedLinearOutputStorage16, kernels::kPerturbedLinearOutputStorage16Fast);
    const bool staged = config.operand_path == kStagedOperands;
    if (is_16bit(desc) && staged)
        return of(kernels::kPerturbedLinearOutputStagedFormats, kernels::kPerturbedLinearOutputStagedFormatsFast);
    if (is_16bit(desc)) return of(kernels::kPerturbedLinearOutputFormats, kernels::kPerturbedLinearOutputFormatsFast);
    if (staged) return of(kernels::kPerturbedLinearOutputStaged, kernels::kPerturbedLinearOutputStagedFast);
    if (config.operand_path == kTexelOperands)
        return of(kernels::kPerturbedLinearOutputTexel, kernels::kPerturbedLinearOutputTexelFast);
    if (config.operand_path == kUniformOperand)
        return of(kernels::kPerturbedLinearOutputUniformInput, kernels::kPerturbedLinearOutputUniformInputFast);
    if (config.operand_path == kUniformWeights)
        return of(kernels::kPerturbedLinearOutputUniformWeights, kernels::kPerturbedLinearOutputUniformWeightsFast);
    return plain;
}

const Kernel<abi_pl::Params>& project_kernel(const PerturbedLinearDesc& desc, const PerturbedLinearConfig& config) {
    if (config.storage16 == 1) return kernels::kPerturbedLinearProjectStorage16;
    if (is_16bit(desc)) return kernels::kPerturbedLinearProjectFormats;
    return config.operand_path == kTexelOperands ? kernels::kPerturbedLinearProjectTexel
                                                 : kernels::kPerturbedLinearProject;
}

std::vector<InputWindow> input_windows(const PerturbedLinearLayout& layout, const BufferView& input) {
    const std::uint32_t instances = layout.instances();
    if (layout.config.operand_path != kUniformOperand || layout.desc.shared_input) return {{0, instances, 0, input}};
    std::vector<InputWindow> windows;
    const std::uint32_t rows = uniform_input_rows(layout.desc, layout.config);
    for (std::uint32_t row = 0; row < instances; row += rows) {
        const std::uint64_t first = std::uint64_t{row} * layout.k() * kElementBytes;
        const std::uint64_t offset = first / kViewAlignment * kViewAlignment;
        windows.push_back({row, std::min(rows, instances - row),
                           static_cast<std::uint32_t>((first - offset) / kElementBytes),
                           input.part(offset, std::min(kInputWindowBytes, input.size_bytes - offset))});
    }
    return windows;
}

ViewShape weights_view(const PerturbedLinearDesc& desc) {
    return floats_view(desc.weights_format, "elements", std::uint64_t{desc.out} * desc.in);
}
ViewShape input_view(const PerturbedLinearDesc& desc) {
    const std::uint64_t members = desc.shared_input ? 1 : desc.members;
    if (desc.input_format == FloatFormat::F32)
        return {{{"members", members}, {"rows", desc.rows}, {"columns", inner_size(desc)}}};
    const Result<std::uint64_t> count = checked_bytes({members, desc.rows, inner_size(desc)}, 1, "x");
    return floats_view(desc.input_format, "elements", count.value_or(UINT64_MAX - 1));
}
ViewShape output_view(const PerturbedLinearDesc& desc) {
    return {{{"members", desc.members}, {"rows", desc.rows}, {"columns", outer_size(desc)}}};
}

}  // namespace

struct PerturbedLinearPipelines {
    PerturbedLinearLayout layout;
    PipelineOf<abi_pl::Params> project;
    PipelineOf<abi_pl::Params> output;
    std::optional<MatmulPlan> base;
};

struct PerturbedLinearBindings {
    struct Piece {
        InputWindow window;
        BindingOf<abi_pl::Params> output;
    };
    PerturbedLinearLayout layout;
    BindingOf<abi_pl::Params> project;
    std::optional<BoundMatmul> base;
    std::vector<Piece> pieces;

    [[nodiscard]] abi_pl::Params params(const NoiseContext& when, std::int32_t first_member) const noexcept;
    void record_projection(Recorder& recorder, abi_pl::Params params) const noexcept;
    void record_output(Recorder& recorder, abi_pl::Params params) const noexcept;
};

namespace {

Result<PipelinesOf<PerturbedLinearDesc>> build_perturbed_linear(const Device& device, const PerturbedLinearDesc& desc) {
    auto made = std::make_shared<PerturbedLinearPipelines>();
    PerturbedLinearLayout& layout = made->layout;
    layout.desc = desc;
    layout.config = *desc.config;
    YOLK_TRY_VOID(measure_perturbed_linear(device, layout));
    YOLK_TRY_VOID(split_perturbed_linear(device, layout));
    if (!layout.is_fused()) {
        YOLK_TRY(made->project, device.pipeline(project_kernel(desc, layout.config), project_constants(layout)));
    }
    if (layout.has_base()) {
        YOLK_TRY(const DeviceInfo info, probed_info(device));
        YOLK_TRY(made->base, plan_matmul(device, base_product(info, desc, layout.config.base)));
        layout.product_scratch_bytes = made->base->scratch().size_bytes;
    }
    YOLK_TRY(made->output, device.pipeline(output_kernel(desc, layout.config), output_constants(layout)));
    return PipelinesOf<PerturbedLinearDesc>(std::move(made));
}

MemoryNeeds perturbed_linear_scratch(const PerturbedLinearDesc& /*desc*/,
                                     const PipelinesOf<PerturbedLinearDesc>& made) {
    return {.size_bytes = made->layout.scratch_bytes()};
}

Result<BindingsOf<PerturbedLinearDesc>> bind_perturbed_linear(const Device& device, const PerturbedLinearDesc& /*desc*/,
                                                              const PipelinesOf<PerturbedLinearDesc>& made,
                                                              const PerturbedLinearViews& views,
                                                              const BufferView& scratch) {
    auto bound = std::make_shared<PerturbedLinearBindings>();
    const PerturbedLinearLayout& layout = made->layout;
    bound->layout = layout;
    // What is not read is bound to something that is there, for a binding may not be empty.
    const BufferView weights = layout.weights_bytes == 0 ? views.output : views.weights;
    const BufferView input = layout.input_bytes == 0 ? views.output : views.input;
    const auto of_scratch = [&](std::uint64_t offset, std::uint64_t size_bytes) {
        return size_bytes == 0 ? BufferView{} : scratch.part(offset, size_bytes);
    };
    const BufferView projection = layout.projection_bytes == 0 ? views.output : of_scratch(0, layout.projection_bytes);
    const BufferView base = layout.base_bytes == 0 ? views.output : of_scratch(layout.base_offset(), layout.base_bytes);
    if (layout.has_base()) {
        YOLK_TRY(bound->base,
                 made->base->bind({.a = views.input, .b = views.weights, .out = base},
                                  of_scratch(layout.product_scratch_offset(), layout.product_scratch_bytes)));
    }
    if (!layout.is_fused()) {
        YOLK_TRY(bound->project,
                 device.bind(made->project, std::array{input, weights, views.output, projection, input, weights}));
    }
    for (InputWindow& window : input_windows(layout, layout.has_base() ? base : input)) {
        PerturbedLinearBindings::Piece piece{.window = window, .output = {}};
        YOLK_TRY(piece.output, device.bind(made->output, std::array{window.input, weights, views.output, projection,
                                                                    window.input, weights}));
        bound->pieces.push_back(std::move(piece));
    }
    return BindingsOf<PerturbedLinearDesc>(std::move(bound));
}

void record_perturbed_linear(Recorder& recorder, const BindingsOf<PerturbedLinearDesc>& bound,
                             const PerturbedLinearDesc& /*desc*/, const NoiseContext& when,
                             OrDefault<std::int32_t> first_member) noexcept {
    YOLK_ASSERT(first_member.value >= -1);
    const abi_pl::Params params = bound->params(when, first_member.value);
    if (bound->base) bound->base->record(recorder);
    if (!bound->layout.is_fused()) {
        bound->record_projection(recorder, params);
        recorder.barrier(Barrier::ComputeToCompute);
    }
    bound->record_output(recorder, params);
}

}  // namespace

abi_pl::Params PerturbedLinearBindings::params(const NoiseContext& when, std::int32_t first_member) const noexcept {
    const PerturbedLinearDesc& desc = layout.desc;
    const auto stream = [&](Domain domain) {
        return desc.parameter.value | (static_cast<std::uint32_t>(domain) << 24U);
    };
    return {
        .m = layout.instances(),
        .n = layout.n(),
        .k = layout.k(),
        .a_offset = 0,
        .a_stride = layout.k(),
        .b_offset = 0,
        .b_stride = desc.in,
        .first_instance = 0,
        .first_k = 0,
        .end_k = 0,
        .seed_low = static_cast<std::uint32_t>(when.seed),
        .seed_high = static_cast<std::uint32_t>(when.seed >> 32U),
        .projection_stream = stream(desc.transposed ? Domain::A : Domain::B),
        .output_stream = stream(desc.transposed ? Domain::B : Domain::A),
        .time = when.time,
        .first_member = first_member,
        .members = desc.members,
        .rows = desc.rows,
        .scale = scale_of(desc, when.sigma),
    };
}

// At least one dispatch, for k may be 0; a barrier between any two that continue each other's sums.
void PerturbedLinearBindings::record_projection(Recorder& recorder, abi_pl::Params params) const noexcept {
    const PerturbedLinearDesc& desc = layout.desc;
    const std::uint32_t chunk = std::min(layout.project_chunk, layout.k());
    const std::uint64_t pairs = pairs_drawn(desc.members, params.first_member, desc.antithetic);
    const std::uint64_t invocations =
        pairs * ceil_div(desc.rows, layout.config.projection_rows) * ceil_div(desc.rank, 8U);
    const LinearGrid grid = grid_of(invocations, layout.config.projection_workgroup,
                                    std::uint64_t{rho_chunk(desc.rank)} * chunk *
                                        (kNoiseElementCost + std::uint64_t{2} * layout.config.projection_rows));
    do {
        params.first_k = params.end_k;
        params.end_k += std::min(chunk, params.k - params.first_k);
        if (params.first_k != 0) recorder.barrier(Barrier::ComputeToCompute);
        recorder.dispatch(project, params, grid);
    } while (params.end_k < params.k);
}

void PerturbedLinearBindings::record_output(Recorder& recorder, abi_pl::Params params) const noexcept {
    const PerturbedLinearConfig& config = layout.config;
    const std::uint32_t chunk = layout.has_base() ? 0 : std::min(layout.output_chunk, layout.k());
    const std::uint64_t block = std::uint64_t{config.block_m} * config.block_n;
    if (layout.has_base()) params.end_k = params.k;
    bool continues = false;
    do {
        params.first_k = params.end_k;
        params.end_k += std::min(chunk, params.k - params.first_k);
        if (continues) recorder.barrier(Barrier::ComputeToCompute);
        continues = true;
        for (const Piece& piece : pieces) {
            params.first_instance = piece.window.first;
            params.m = piece.window.count;
            params.a_offset = piece.window.a_offset;
            const std::uint64_t groups =
                std::uint64_t{ceil_div(params.m, config.block_m)} * ceil_div(params.n, config.block_n);
            recorder.dispatch(piece.output, params,
                              LinearGrid{.groups = groups, .cost_per_group = block * (chunk + 16)});
        }
    } while (params.end_k < params.k);
}

template <>
const Operation<PerturbedLinearDesc>& operation_of<PerturbedLinearDesc>() {
    using Desc = PerturbedLinearDesc;
    using Views = PerturbedLinearViews;
    static const Operation<Desc> kOperation{
        .name = "perturbed_linear",
        .fields = {"perturbed_linear",
                   {extent<&Desc::members>("members"), extent<&Desc::rows>("rows").otherwise("1"),
                    extent<&Desc::in>("in"), extent<&Desc::out>("out"), extent<&Desc::rank>("rank").from(1, kMaxRank),
                    variant<&Desc::shared_input>("shared_input"), variant<&Desc::transposed>("transposed"),
                    variant<&Desc::weights_format>("weights_format"), variant<&Desc::input_format>("input_format"),
                    variant<&Desc::antithetic>("pairs"), variant<&Desc::activation>("activation").in_no_key(),
                    variant<&Desc::determinism>("determinism")}},
        .views = {{"weights", ViewRole::Input, &Views::weights, &weights_view},
                  {"input", ViewRole::Input, &Views::input, &input_view},
                  {"output", ViewRole::Output, &Views::output, &output_view}},
        .knobs = &perturbed_linear_knobs,
        .legal = &legal_perturbed_linear,
        .heuristic = &perturbed_linear_heuristic,
        .unit = [](const Desc&, const PerturbedLinearConfig& config) { return unit_of_base(config.base); },
        .check = &check_perturbed_linear,
        .build = &build_perturbed_linear,
        .scratch = &perturbed_linear_scratch,
        .bind = &bind_perturbed_linear,
        .record = &record_perturbed_linear,
    };
    return kOperation;
}
template class Plan<PerturbedLinearDesc>;

}  // namespace yolk
