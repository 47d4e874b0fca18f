// SPDX-License-Identifier: Apache-2.0
#include "yolk/scatter.hpp"

#include <bit>

#include "twin_source.hpp"
#include "yolk/exact/exact_elementwise.h"
#include "yolk/internal/reference/out_of_range.hpp"

namespace yolk::reference {

/// In the order of the ids.
void run_twin(const ScatterDesc& desc, const HostViews& views) {
    const auto target = views.out<float>(0);
    const auto ids = views.in<std::uint32_t>(1);
    const auto values = views.in<float>(2);
    for (std::size_t m = 0; m < desc.members; ++m) {
        for (std::size_t i = 0; i < desc.id_count; ++i) {
            const std::uint32_t id = ids[desc.shared_ids ? i : m * desc.id_count + i];
            if (id >= desc.target_rows) continue;
            for (std::size_t c = 0; c < desc.columns; ++c) {
                const float value = values[(desc.shared_values ? i : m * desc.id_count + i) * desc.columns + c];
                float& place = target[(m * desc.target_rows + id) * desc.columns + c];
                place = desc.mode == ScatterMode::Assign
                            ? value
                            : std::bit_cast<float>(exact::exact_sum_word(std::bit_cast<std::uint32_t>(place),
                                                                         std::bit_cast<std::uint32_t>(value)));
            }
        }
    }
    if (desc.columns != 0) count_out_of_range(ids, desc.target_rows, desc.shared_ids ? desc.members : 1, views[3]);
}
template struct Twin<ScatterDesc>;

}  // namespace yolk::reference
