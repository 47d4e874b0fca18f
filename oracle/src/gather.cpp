// SPDX-License-Identifier: Apache-2.0
#include "yolk/oracle/gather.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "row_twin.hpp"
#include "yolk/exact/exact_elementwise.h"

namespace yolk::oracle {
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

// NOLINTNEXTLINE(readability-function-cognitive-complexity): one loop for each index of the definition
std::vector<OracleValue> gather_oracle(const GatherDesc& desc, std::span<const std::uint32_t> table,
                                       std::span<const std::uint32_t> ids) {
    std::vector<OracleValue> out(std::size_t{desc.members} * desc.id_count * desc.columns);
    std::size_t flat = 0;
    for (std::size_t m = 0; m < desc.members; ++m) {
        for (std::size_t i = 0; i < desc.id_count; ++i) {
            for (std::size_t c = 0; c < desc.columns; ++c, ++flat) {
                for (std::size_t row = 0; row < desc.table_rows; ++row) {
                    const double is_it = ids[desc.shared_ids ? i : m * desc.id_count + i] == row ? 1.0 : 0.0;
                    const std::size_t of = desc.shared_table ? row : m * desc.table_rows + row;
                    out[flat].value += is_it * table[of * desc.columns + c];
                }
            }
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

std::vector<OracleValue> scatter_oracle(const ScatterDesc& desc, std::span<const float> target,
                                        std::span<const std::uint32_t> ids, std::span<const float> values) {
    std::vector<OracleValue> out;
    for (std::size_t flat = 0; flat < target.size(); ++flat) {
        const std::size_t c = flat % desc.columns;
        const std::size_t row = flat / desc.columns % desc.target_rows;
        const std::size_t m = flat / desc.columns / desc.target_rows;
        std::vector<double> terms{target[flat]};
        for (std::size_t i = 0; i < desc.id_count; ++i) {
            if (ids[desc.shared_ids ? i : m * desc.id_count + i] != row) continue;
            terms.push_back(values[(desc.shared_values ? i : m * desc.id_count + i) * desc.columns + c]);
        }
        if (desc.mode == ScatterMode::Assign) {
            out.push_back({terms.back(), 0.0});
            continue;
        }
        const auto additions = static_cast<double>(terms.size() - 1);
        const double value = pairwise_sum(terms);
        for (double& term : terms) term = std::abs(term);
        // The partial sums themselves are off by less than one part in 2^20 for tables as small as these.
        const double rounding = (1.0 + 0x1p-20) * kFp32Rounding * additions * pairwise_sum(terms);
        out.push_back({value, rounding + 2.0 * additions * kProductFloor});
    }
    return out;
}

}  // namespace yolk::oracle
