// SPDX-License-Identifier: Apache-2.0
// What plans of es_update hold, and how they are recorded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "es_update_tiles.hpp"
#include "yolk/es_update.hpp"
#include "yolk/internal/abi/es_update.h"
#include "yolk/internal/abi/update_share.h"

namespace yolk {

/// Of a gradient, or of the sums of a share of the pairs; the others are empty.
template <template <class> class Of>
struct EsUpdateKernels {
    Of<abi::es_update::Params> sum{}, combine{};
    Of<abi::update_share::Params> share_sum{}, share_combine{};
};

/// The parameters of one rank.
struct EsUpdatePass {
    std::uint32_t rank = 1;
    TileLayout layout;
    abi::es_update::Params params{};  ///< of all pairs; all but what a generation and a window decide
    BufferView entries{};
    EsUpdateKernels<PipelineOf> kernels;

    /// Of one unit, in all slices.
    [[nodiscard]] std::uint64_t unit_bytes() const noexcept { return kUnitBytes * params.slice_count; }
    [[nodiscard]] std::vector<TileWindow> windows(std::uint64_t scratch_bytes) const {
        if (layout.tile_count == 0) return {};
        return cut_tiles(layout, scratch_bytes / unit_bytes());
    }
};

struct EsUpdatePipelines {
    std::vector<EsUpdatePass> passes;  ///< at least one; they share the scratch
    Buffer entries;                    ///< of all passes
    MemoryNeeds scratch{};

    [[nodiscard]] std::uint64_t usable(std::uint64_t scratch_bytes) const noexcept {
        return std::min(scratch_bytes, scratch.size_bytes);
    }
};

struct EsUpdateBindings {
    struct Pass {
        std::vector<TileWindow> windows;
        EsUpdateKernels<BindingOf> kernels;
    };
    std::shared_ptr<const EsUpdatePipelines> made;  // keeps the entries alive
    std::vector<Pass> passes;                       // as there
};

void record_es_update(Recorder& recorder, const BindingsOf<EsUpdateDesc>& bound, const EsUpdateDesc& desc,
                      const NoiseContext& when, OrDefault<EsUpdateShare> share) noexcept;

/// Weights: one per pair; without antithetic sampling every member is a pair of its own.
[[nodiscard]] inline std::uint32_t pairs_of(const EsUpdateDesc& desc) {
    return desc.antithetic ? desc.population / 2 : desc.population;
}

}  // namespace yolk
