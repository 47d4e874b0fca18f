// SPDX-License-Identifier: Apache-2.0
#include "yolk/matmul.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "matmul_cooperative.hpp"
#include "matmul_formats.hpp"
#include "matmul_layout.hpp"
#include "matmul_pieces.hpp"
#include "operation_plan.hpp"
#include "yolk/convert.hpp"
#include "yolk/internal/abi/matmul.h"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/runtime/loop_budget.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {

namespace abi_mm = abi::matmul;

namespace {

/// k that one dispatch may add, in whole blocks, by the loops as the shaders write them (their heads).
Result<std::uint32_t> matmul_chunk(const Device& device, const MatmulConfig& config) {
    YOLK_TRY(const std::uint64_t budget, loop_budget(device));
    const std::uint64_t sums = std::uint64_t{config.tile_m} * config.tile_n;
    const std::uint64_t tail =
        config.operand_path == kStagedOperands ? loop_cost(sums / 4) : loop_cost(sums) + loop_cost(config.block_k);
    const std::uint64_t blocks = iterations_within(budget > tail ? budget - tail : 0);
    if (blocks == 0) {
        return unsupported("The loops of one invocation may cost {} on this device; [matmul] needs {}.", budget,
                           tail + loop_cost(1));
    }
    const std::uint64_t most = UINT32_MAX / config.block_k - 1;
    return static_cast<std::uint32_t>(std::min(blocks, most) * config.block_k);
}

const Kernel<abi_mm::Params>& matmul_kernel(const MatmulDesc& desc, const MatmulConfig& config) {
    const bool exact = desc.determinism == Determinism::Exact;
    if (has_16bit_operands(desc)) return formats_kernel(desc, config);
    if (config.operand_path == kStagedOperands) return exact ? kernels::kMatmulStagedExact : kernels::kMatmulStagedFast;
    if (config.operand_path == kTexelOperands) return exact ? kernels::kMatmulTexelExact : kernels::kMatmulTexelFast;
    if (config.operand_path == kUniformOperand)
        return exact ? kernels::kMatmulUniformExact : kernels::kMatmulUniformFast;
    return exact ? kernels::kMatmulDirectExact : kernels::kMatmulDirectFast;
}

std::vector<SpecConstant> matmul_constants(const MatmulDesc& desc, const MatmulConfig& config, std::uint32_t chunk) {
    const bool split = config.split_k > 1;
    // Windows of rows are multiples of block_m, but for the last one.
    const bool ragged = desc.m % config.block_m != 0 || desc.n % config.block_n != 0;
    const bool vectors = !split && is_aligned(desc.out);
    return {{abi_mm::kSpecWorkgroupSize, config.workgroup_size},
            {abi_mm::kSpecBlockM, config.block_m},
            {abi_mm::kSpecBlockN, config.block_n},
            {abi_mm::kSpecBlockK, config.block_k},
            {abi_mm::kSpecTileM, config.tile_m},
            {abi_mm::kSpecTileN, config.tile_n},
            {abi_mm::kSpecVectorA, reads_vectors_of_a(desc, config) ? 1U : 0U},
            {abi_mm::kSpecVectorB, reads_vectors_of_b(desc, config) ? 1U : 0U},
            {abi_mm::kSpecTransposeA, desc.a.transposed ? 1U : 0U},
            {abi_mm::kSpecTransposeB, desc.b.transposed ? 1U : 0U},
            {abi_mm::kSpecBias, desc.has_bias && !split ? 1U : 0U},
            {abi_mm::kSpecActivation, split ? 0U : static_cast<std::uint32_t>(desc.activation)},
            {abi_mm::kSpecResidual, desc.has_residual && !split ? 1U : 0U},
            {abi_mm::kSpecPartial, split || chunk < desc.k ? 1U : 0U},
            {abi_mm::kSpecRagged, ragged ? 1U : 0U},
            {abi_mm::kSpecWholeK, desc.k % config.block_k == 0 ? 1U : 0U},
            {abi_mm::kSpecFormatA, static_cast<std::uint32_t>(desc.a.format)},
            {abi_mm::kSpecFormatB, static_cast<std::uint32_t>(desc.b.format)},
            {abi_mm::kSpecVectorOut, vectors ? 1U : 0U}};
}

Result<PipelineOf<abi_mm::Params>> combine_pipeline(const Device& device, const MatmulDesc& desc) {
    const std::array<SpecConstant, 4> constants{{{abi_mm::kSpecWorkgroupSize, kCombineWorkgroup},
                                                 {abi_mm::kSpecBias, desc.has_bias ? 1U : 0U},
                                                 {abi_mm::kSpecActivation, static_cast<std::uint32_t>(desc.activation)},
                                                 {abi_mm::kSpecResidual, desc.has_residual ? 1U : 0U}}};
    return device.pipeline(kernels::kMatmulCombine, constants);
}

Result<void> make_product(const Device& device, const DeviceInfo& info, MatmulPipelines& made) {
    const MatmulDesc& desc = made.layout.desc;
    const MatmulConfig& config = made.config;
    if (is_on_matrix_units(config)) {
        YOLK_TRY(const std::uint64_t budget, loop_budget(device));
        YOLK_TRY(made.chunk, cooperative_chunk(budget, info, desc, config));
        YOLK_TRY(made.product,
                 device.pipeline(cooperative_kernel(info, desc, config), cooperative_constants(info, desc, config)));
        return {};
    }
    YOLK_TRY(made.chunk, matmul_chunk(device, config));
    YOLK_TRY(made.product, device.pipeline(matmul_kernel(desc, config), matmul_constants(desc, config, made.chunk)));
    return {};
}

Result<PipelinesOf<MatmulDesc>> build_matmul(const Device& device, const MatmulDesc& desc) {
    auto made = std::make_shared<MatmulPipelines>();
    YOLK_TRY(made->layout, lay_out_matmul(desc));
    made->config = *desc.config;
    const MatmulDesc& resolved = made->layout.desc;
    if (resolved.k > 0) {
        YOLK_TRY_VOID(make_product(device, device.info(), *made));
    }
    if (resolved.k == 0 || made->is_split()) {
        YOLK_TRY(made->combine, combine_pipeline(device, resolved));
    }
    YOLK_TRY_VOID(check_binding_size(device, made->partial_bytes(), "the scratch of [matmul]"));
    if (resolved.out.format != FloatFormat::F32) {
        YOLK_TRY_VOID(check_binding_size(device, made->sums_bytes(), "the scratch of [matmul]"));
        const auto count = static_cast<std::uint32_t>(made->sums_bytes() / kElementBytes);
        YOLK_TRY(made->narrow, plan_convert(device, {.count = count, .to = resolved.out.format}));
    }
    return PipelinesOf<MatmulDesc>(std::move(made));
}

MemoryNeeds matmul_scratch(const MatmulDesc& /*desc*/, const PipelinesOf<MatmulDesc>& made) {
    return {.size_bytes = made->partial_offset() + made->partial_bytes()};
}

/// Operands of 16 bits become fp32 on lanes.
ArithmeticUnit matmul_unit(const MatmulDesc& /*desc*/, const MatmulConfig& config) {
    return is_on_matrix_units(config) ? ArithmeticUnit::MatrixF16 : ArithmeticUnit::Fp32Lanes;
}

Result<void> check_matmul(const MatmulDesc& desc) {
    YOLK_TRY_VOID(lay_out_matmul(desc));
    return {};
}

/// Of a description that check_matmul has accepted.
template <std::uint64_t MatmulLayout::*kBytes>
ViewShape matmul_view(const MatmulDesc& desc) {
    const Result<MatmulLayout> layout = lay_out_matmul(desc);
    return {.extents = {{"words", layout ? (*layout).*kBytes / kElementBytes : 0}}, .dtype = DType::U32};
}

// Named, for clang-format 14 does not understand a lambda between angle brackets.
constexpr auto kATransposed = [](auto& desc) -> auto& { return desc.a.transposed; };
constexpr auto kBTransposed = [](auto& desc) -> auto& { return desc.b.transposed; };
constexpr auto kAFormat = [](auto& desc) -> auto& { return desc.a.format; };
constexpr auto kBFormat = [](auto& desc) -> auto& { return desc.b.format; };
constexpr auto kOutFormat = [](auto& desc) -> auto& { return desc.out.format; };

}  // namespace

template <>
const Operation<MatmulDesc>& operation_of<MatmulDesc>() {
    using Desc = MatmulDesc;
    using Views = MatmulViews;
    static const Operation<Desc> kOperation{
        .name = "matmul",
        .fields = {"matmul",
                   {extent<&Desc::m>("m"), extent<&Desc::n>("n"), extent<&Desc::k>("k"), extent<&Desc::batch>("batch"),
                    variant_at<Desc, kATransposed>("a_transposed"),
                    // As a layer's weights [out, in] are stored.
                    variant_at<Desc, kBTransposed>("transposed").otherwise("1"), variant_at<Desc, kAFormat>("a_format"),
                    variant_at<Desc, kBFormat>("b_format"), variant_at<Desc, kOutFormat>("out_format"),
                    variant<&Desc::has_residual>("residual").in_no_key(), variant<&Desc::determinism>("determinism")}},
        .views = {{"a", ViewRole::Input, &Views::a, &matmul_view<&MatmulLayout::a_bytes>},
                  {"b", ViewRole::Input, &Views::b, &matmul_view<&MatmulLayout::b_bytes>},
                  {"bias", ViewRole::Input, &Views::bias, &matmul_view<&MatmulLayout::bias_bytes>},
                  {"residual", ViewRole::Input, &Views::residual, &matmul_view<&MatmulLayout::residual_bytes>},
                  {"out", ViewRole::Output, &Views::out, &matmul_view<&MatmulLayout::out_bytes>}},
        .knobs = &matmul_knobs,
        .legal = &legal_matmul,
        .heuristic = &matmul_heuristic,
        .unit = &matmul_unit,
        .check = &check_matmul,
        .build = &build_matmul,
        .scratch = &matmul_scratch,
        .bind = &bind_matmul,
        .record = &record_matmul,
    };
    return kOperation;
}
template class Plan<MatmulDesc>;

}  // namespace yolk
