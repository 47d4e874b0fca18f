// SPDX-License-Identifier: Apache-2.0
#include "matmul_formats.hpp"

#include "yolk/runtime/loop_budget.hpp"
#include "yolk/shaders/catalogue.hpp"
#include "yolk/shaders/cooperative_forms.hpp"

namespace yolk {

namespace abi_mm = abi::matmul;

namespace {

/// Fragments of a subgroup along either side: four times four sums are what registers hold.
constexpr std::uint32_t kMaxFragments = 4;

/// Matrix units read and write rows at multiples of 16 bytes.
bool starts_at(const MatrixLayout& layout, std::uint32_t elements) noexcept {
    return layout.offset % elements == 0 && layout.stride % elements == 0 && layout.batch_stride % elements == 0;
}

}  // namespace

bool has_16bit_operands(const MatmulDesc& desc) noexcept {
    return desc.a.format != FloatFormat::F32 || desc.b.format != FloatFormat::F32;
}

bool fits_matrix_units(const DeviceInfo& info, const MatmulDesc& desc) {
    const std::optional<CooperativeShape> shape = cooperative_shape(info);
    if (!shape || desc.determinism != Determinism::Fast) return false;
    if (desc.a.format != FloatFormat::F16 || desc.b.format != FloatFormat::F16) return false;
    if (desc.k == 0 || desc.m % shape->m != 0 || desc.n % shape->n != 0 || desc.k % shape->k != 0) return false;
    return starts_at(desc.a, 8) && starts_at(desc.b, 8);
}

std::vector<std::uint32_t> storage16_values(const DeviceInfo& info, const MatmulDesc& desc) {
    if (has_16bit_operands(desc) && path_is_open(info, LowPrecisionPath::Storage16)) return {0, 1};
    return {0};
}

std::vector<std::uint32_t> operand_paths(const DeviceInfo& info, const MatmulDesc& desc) {
    std::vector<std::uint32_t> paths{kDirectOperands, kStagedOperands, kUniformOperand, kTexelOperands};
    if (fits_matrix_units(info, desc)) paths.push_back(kCooperativeOperands);
    return paths;
}

Result<void> check_formats(const MatmulDesc& desc, const MatmulConfig& c) {
    if (!has_16bit_operands(desc)) return {};
    if (c.operand_path == kUniformOperand || c.operand_path == kTexelOperands)
        return bad_input("Operands of 16 bits are storage buffers.");
    return {};
}

Result<void> check_cooperative(const DeviceInfo& info, const MatmulDesc& desc, const MatmulConfig& c) {
    const CooperativeShape shape = cooperative_shape(info).value_or(CooperativeShape{.m = 1, .n = 1, .k = 1});
    if (c.workgroup_size != info.limits.subgroup_size) {
        return bad_input("With matrix units the workgroup_size must be that of a subgroup, {}.",
                         info.limits.subgroup_size);
    }
    if (c.block_m % shape.m != 0 || c.block_n % shape.n != 0 || c.block_m > kMaxFragments * shape.m ||
        c.block_n > kMaxFragments * shape.n || desc.m % c.block_m != 0 || desc.n % c.block_n != 0) {
        return bad_input(
            "With matrix units block_m must be 1 to {} times {}, block_n times {}, and they must divide m and n.",
            kMaxFragments, shape.m, shape.n);
    }
    const MatmulConfig unused{.block_k = c.block_k,
                              .tile_m = c.tile_m,
                              .tile_n = c.tile_n,
                              .vector_width = c.vector_width,
                              .storage16 = c.storage16,
                              .split_k = c.split_k};
    if (unused == MatmulConfig{.block_k = 4, .tile_m = 1, .tile_n = 4, .vector_width = 1}) return {};
    return bad_input(
        "With matrix units block_k must be 4, tile_m 1, tile_n 4, vector_width 1, split_k 1 and storage16 0.");
}

bool writes_out_directly(const MatmulDesc& desc) noexcept {
    const bool plain = !desc.has_bias && !desc.has_residual && desc.activation == Activation::Identity;
    return plain && starts_at(desc.out, 4);
}

const Kernel<abi_mm::Params>& formats_kernel(const MatmulDesc& desc, const MatmulConfig& config) noexcept {
    const bool exact = desc.determinism == Determinism::Exact;
    if (config.storage16 == 1) {
        if (config.operand_path == kStagedOperands)
            return exact ? kernels::kMatmulStagedStorage16Exact : kernels::kMatmulStagedStorage16Fast;
        return exact ? kernels::kMatmulDirectStorage16Exact : kernels::kMatmulDirectStorage16Fast;
    }
    if (config.operand_path == kStagedOperands)
        return exact ? kernels::kMatmulStagedFormatsExact : kernels::kMatmulStagedFormatsFast;
    return exact ? kernels::kMatmulDirectFormatsExact : kernels::kMatmulDirectFormatsFast;
}

const Kernel<abi_mm::Params>& cooperative_kernel([[maybe_unused]] const CooperativeShape& shape) noexcept {
#if YOLK_HAS_KHR_COOPERATIVE_KERNELS
    if (shape.khr) return kernels::kMatmulCooperativeKhr;
#endif
    return kernels::kMatmulCooperativeNv;
}

// By the loops as the shader writes them (its head).
Result<std::uint32_t> cooperative_chunk(std::uint64_t budget, const MatmulDesc& desc, const MatmulConfig& config,
                                        const CooperativeShape& shape) {
    const std::uint64_t rows = config.block_m / shape.m;
    const std::uint64_t columns = config.block_n / shape.n;
    const std::uint64_t fragments = loop_cost(rows, loop_cost(columns));
    const std::uint64_t step = loop_cost(rows) + loop_cost(columns) + fragments;
    if (2 * fragments + loop_cost(desc.k / shape.k, step) <= budget) return desc.k;
    return unsupported(
        "The loops of one invocation may cost {} on this device; [matmul] needs more for a k of {} on matrix "
        "units. Use another operand_path than 4.",
        budget, desc.k);
}

std::vector<SpecConstant> cooperative_constants(const MatmulDesc& desc, const MatmulConfig& config,
                                                const CooperativeShape& shape) {
    return {{abi_mm::kSpecWorkgroupSize, config.workgroup_size},
            {abi_mm::kSpecBlockM, config.block_m},
            {abi_mm::kSpecBlockN, config.block_n},
            {abi_mm::kSpecTransposeA, desc.a.transposed ? 1U : 0U},
            {abi_mm::kSpecTransposeB, desc.b.transposed ? 1U : 0U},
            {abi_mm::kSpecShapeM, shape.m},
            {abi_mm::kSpecShapeN, shape.n},
            {abi_mm::kSpecShapeK, shape.k}};
}

}  // namespace yolk
