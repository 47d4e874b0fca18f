// SPDX-License-Identifier: Apache-2.0
#include "pipeline_key.hpp"

#include <algorithm>
#include <array>

#include "yolk/internal/core/hash.hpp"

namespace yolk {

PipelineKey::PipelineKey(const KernelModule& kernel, std::span<const SpecConstant> values)
    : spirv_hash(hash64(std::as_bytes(kernel.spirv))), signature(kernel), constants(values.begin(), values.end()) {
    std::ranges::sort(constants);
}

std::uint64_t PipelineKey::identity() const noexcept {
    const std::array both{spirv_hash, hash64(std::as_bytes(std::span(constants)))};
    return hash64(std::as_bytes(std::span(both)));
}

}  // namespace yolk
