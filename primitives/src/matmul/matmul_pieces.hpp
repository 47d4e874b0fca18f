// SPDX-License-Identifier: Apache-2.0
// The dispatches of a product: windows of rows, chunks of k, splits of k with what adds them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "matmul_cooperative.hpp"
#include "matmul_layout.hpp"
#include "operation_plan.hpp"
#include "yolk/convert.hpp"
#include "yolk/internal/abi/matmul.h"
#include "yolk/internal/core/shape.hpp"

namespace yolk {

inline constexpr std::uint32_t kCombineWorkgroup = 64;

/// One dispatch: a range of rows, of matrices and of k.
struct MatmulPiece {
    std::size_t binding = 0;
    bool after_barrier = false;
    abi::matmul::Params params{};
    LinearGrid grid{};
};

struct MatmulPipelines {
    MatmulLayout layout;
    MatmulConfig config;
    std::uint32_t chunk = 0;  ///< of k, for one dispatch
    PipelineOf<abi::matmul::Params> product;
    PipelineOf<abi::matmul::Params> combine;  ///< split-K, and k = 0
    std::optional<ConvertPlan> narrow;        ///< of an out of 16 bits

    /// Sums pass through scratch: split-K, and matrix units' where they are not what out holds.
    [[nodiscard]] bool is_split() const noexcept {
        const bool units = is_on_matrix_units(config) && !writes_out_directly(layout.desc);
        return (config.split_k > 1 || units) && layout.desc.k > 0;
    }
    [[nodiscard]] std::uint64_t sums_bytes() const noexcept {
        const MatmulDesc& d = layout.desc;
        return kElementBytes * d.batch * d.m * d.n;
    }
    [[nodiscard]] std::uint64_t partial_bytes() const noexcept {
        return is_split() ? config.split_k * sums_bytes() : 0;
    }
    /// The sums of an out of 16 bits come first.
    [[nodiscard]] std::uint64_t partial_offset() const noexcept {
        return narrow ? round_up(sums_bytes(), kViewAlignment) : 0;
    }
};

struct MatmulBindings {
    std::vector<BindingOf<abi::matmul::Params>> bindings;
    std::vector<MatmulPiece> pieces;
    std::optional<BoundConvert> narrow;
};

[[nodiscard]] Result<BindingsOf<MatmulDesc>> bind_matmul(const Device& device, const MatmulDesc& desc,
                                                         const PipelinesOf<MatmulDesc>& made, const MatmulViews& views,
                                                         const BufferView& scratch);
void record_matmul(Recorder& recorder, const BindingsOf<MatmulDesc>& bound, const MatmulDesc& desc) noexcept;

}  // namespace yolk
