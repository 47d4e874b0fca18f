// SPDX-License-Identifier: Apache-2.0
#include "matmul_formats.hpp"

#include "matmul_cooperative.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {

namespace abi_mm = abi::matmul;

bool has_16bit_operands(const MatmulDesc& desc) noexcept {
    return desc.a.format != FloatFormat::F32 || desc.b.format != FloatFormat::F32;
}

std::vector<std::uint32_t> storage16_values(const DeviceInfo& info, const MatmulDesc& desc) {
    if (has_16bit_operands(desc) && path_is_open(info, LowPrecisionPath::Storage16)) return {0, 1};
    return {0};
}

std::vector<std::uint32_t> operand_paths(const DeviceInfo& info, const MatmulDesc& desc) {
    std::vector<std::uint32_t> paths{kDirectOperands, kStagedOperands, kUniformOperand, kTexelOperands};
    if (fits_matrix_units(info, desc)) {
        paths.insert(paths.end(), {kCooperativeOperands, kStagedCooperativeOperands, kTwiceStagedCooperativeOperands});
    }
    return paths;
}

Result<void> check_formats(const MatmulDesc& desc, const MatmulConfig& c) {
    if (!has_16bit_operands(desc)) return {};
    if (c.operand_path == kUniformOperand || c.operand_path == kTexelOperands)
        return bad_input("Operands of 16 bits are storage buffers.");
    return {};
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

}  // namespace yolk
