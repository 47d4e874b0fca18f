// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "yolk/cumulative_sum.hpp"
#include "yolk/twin.hpp"

namespace yolk::reference {

/// Runs of 32 one after the other, chunks of 32 runs, then the sums of the chunks before.
template <class Number>
void sum_in_place(std::span<Number> row) {
    using abi::cumulative_sum::kChunk;
    using abi::cumulative_sum::kRun;
    std::vector<Number> totals;  // of more than one chunk
    for (std::size_t chunk = 0; chunk < row.size(); chunk += kChunk) {
        const std::size_t end = std::min<std::size_t>(chunk + kChunk, row.size());
        Number before;
        for (std::size_t run = chunk; run < end; run += kRun) {
            Number within;
            for (std::size_t k = run; k < std::min<std::size_t>(run + kRun, end); ++k) {
                within = within + flush(row[k]);
                row[k] = with_one_nan(before + within);
            }
            before = before + within;
        }
        if (row.size() > kChunk) totals.push_back(with_one_nan(before));
    }
    if (totals.empty()) return;
    sum_in_place(std::span(totals));
    for (std::size_t k = kChunk; k < row.size(); ++k) row[k] = with_one_nan(totals[k / kChunk - 1] + row[k]);
}

template <class Number>
void formula(const CumulativeSumDesc& desc, const HostViews& views) {
    const auto in = views.in<Number>(0);
    const auto out = views.out<Number>(1);
    const std::size_t columns = desc.columns, inner = desc.inner;
    std::vector<Number> row(columns);
    for (std::size_t o = 0; o < desc.outer; ++o) {
        for (std::size_t j = 0; j < inner; ++j) {
            const auto place = [=](std::size_t k) { return (o * columns + k) * inner + j; };
            for (std::size_t k = 0; k < row.size(); ++k) row[k] = in[place(k)];
            sum_in_place(std::span(row));
            for (std::size_t k = 0; k < row.size(); ++k) out[place(k)] = row[k];
        }
    }
}

}  // namespace yolk::reference
