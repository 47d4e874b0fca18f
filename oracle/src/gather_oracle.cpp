// SPDX-License-Identifier: Apache-2.0
#include "gather_oracle.hpp"

#include <cmath>

#include "error_bounds.hpp"

namespace yolk::oracle {

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
