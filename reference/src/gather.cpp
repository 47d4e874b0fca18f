// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/gather.hpp"

#include <algorithm>
#include <bit>

#include "row_twin.hpp"
#include "yolk/exact/exact_elementwise.h"

namespace yolk::reference {

std::vector<std::uint32_t> gather_twin(const GatherDesc& desc, std::span<const std::uint32_t> table,
                                       std::span<const std::uint32_t> ids) {
    std::vector<std::uint32_t> out;
    const std::size_t columns = desc.columns;
    for (std::size_t m = 0; m < desc.members; ++m) {
        const std::size_t first = desc.shared_table ? 0 : m * desc.table_rows * columns;
        for (std::size_t i = 0; i < desc.id_count; ++i) {
            const std::uint32_t id = ids[(desc.shared_ids ? 0 : m * desc.id_count) + i];
            if (id >= desc.table_rows) {
                out.insert(out.end(), columns, 0U);
                continue;
            }
            const auto row = table.subspan(first + id * columns, columns);
            out.insert(out.end(), row.begin(), row.end());
        }
    }
    return out;
}

std::uint32_t count_out_of_range(std::span<const std::uint32_t> ids, std::uint32_t rows, std::uint32_t times) {
    return times * static_cast<std::uint32_t>(std::ranges::count_if(ids, [rows](auto id) { return id >= rows; }));
}

std::vector<float> scatter_twin(const ScatterDesc& desc, std::span<const float> target,
                                std::span<const std::uint32_t> ids, std::span<const float> values) {
    std::vector<float> out(target.begin(), target.end());
    for (std::size_t m = 0; m < desc.members; ++m) {
        for (std::size_t i = 0; i < desc.id_count; ++i) {
            const std::uint32_t id = ids[desc.shared_ids ? i : m * desc.id_count + i];
            if (id >= desc.target_rows) continue;
            for (std::size_t c = 0; c < desc.columns; ++c) {
                const float value = values[(desc.shared_values ? i : m * desc.id_count + i) * desc.columns + c];
                float& place = out[(m * desc.target_rows + id) * desc.columns + c];
                place = desc.mode == ScatterMode::Assign
                            ? value
                            : std::bit_cast<float>(exact::exact_sum_word(std::bit_cast<std::uint32_t>(place),
                                                                         std::bit_cast<std::uint32_t>(value)));
            }
        }
    }
    return out;
}

}  // namespace yolk::reference
