// SPDX-License-Identifier: Apache-2.0
#include "yolk/cumulative_sum.hpp"

#include <algorithm>
#include <cmath>

#include "row_twin.hpp"
#include "twin_source.hpp"
#include "yolk/exact/exact_math.h"

namespace yolk::reference {
namespace {

using abi::cumulative_sum::kChunk;
using abi::cumulative_sum::kRun;

float number(float x) { return std::isnan(x) ? row_nan() : x; }

/// Runs of 32 one after the other, chunks of 32 runs, then the sums of the chunks before.
void sum_in_place(std::span<float> row) {
    std::vector<float> totals;  // of more than one chunk
    for (std::size_t chunk = 0; chunk < row.size(); chunk += kChunk) {
        const std::size_t end = std::min<std::size_t>(chunk + kChunk, row.size());
        float before = 0.0F;
        for (std::size_t run = chunk; run < end; run += kRun) {
            float within = 0.0F;
            for (std::size_t k = run; k < std::min<std::size_t>(run + kRun, end); ++k) {
                within += exact::exact_flush(row[k]);
                row[k] = number(before + within);
            }
            before += within;
        }
        if (row.size() > kChunk) totals.push_back(number(before));
    }
    if (totals.empty()) return;
    sum_in_place(totals);
    for (std::size_t k = kChunk; k < row.size(); ++k) row[k] = number(totals[k / kChunk - 1] + row[k]);
}

}  // namespace

void run_twin(const CumulativeSumDesc& desc, const HostViews& views) {
    const auto in = views.in<float>(0);
    const auto out = views.out<float>(1);
    const std::size_t columns = desc.columns, inner = desc.inner;
    std::vector<float> row(columns);
    for (std::size_t o = 0; o < desc.outer; ++o) {
        for (std::size_t j = 0; j < inner; ++j) {
            const auto place = [=](std::size_t k) { return (o * columns + k) * inner + j; };
            for (std::size_t k = 0; k < row.size(); ++k) row[k] = in[place(k)];
            sum_in_place(row);
            for (std::size_t k = 0; k < row.size(); ++k) out[place(k)] = row[k];
        }
    }
}
template struct Twin<CumulativeSumDesc>;

}  // namespace yolk::reference
