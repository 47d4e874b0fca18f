// SPDX-License-Identifier: Apache-2.0
#include "yolk/gather.hpp"

#include <algorithm>

#include "twin_source.hpp"
#include "yolk/internal/reference/out_of_range.hpp"

namespace yolk::reference {

void run_twin(const GatherDesc& desc, const HostViews& views) {
    const auto table = views.in<std::uint32_t>(0), ids = views.in<std::uint32_t>(1);
    const auto out = views.out<std::uint32_t>(2);
    const std::size_t columns = desc.columns;
    for (std::size_t i = 0; columns > 0 && i < out.size() / columns; ++i) {
        const std::size_t first = desc.shared_table ? 0 : i / desc.id_count * desc.table_rows * columns;
        const std::uint32_t id = ids[desc.shared_ids ? i % desc.id_count : i];
        const auto row = out.subspan(i * columns, columns);
        if (id < desc.table_rows) {
            std::ranges::copy(table.subspan(first + id * columns, columns), row.begin());
        } else {
            std::ranges::fill(row, 0U);
        }
    }
    if (!out.empty()) count_out_of_range(ids, desc.table_rows, desc.shared_ids ? desc.members : 1, views[3]);
}
template struct Twin<GatherDesc>;

}  // namespace yolk::reference
