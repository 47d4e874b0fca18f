// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/cumulative_sum.hpp"

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
std::vector<float> running_sums(const std::vector<float>& row) {
    std::vector<float> sums(row.size());
    std::vector<float> totals;
    for (std::size_t chunk = 0; chunk < row.size(); chunk += kChunk) {
        const std::size_t end = std::min<std::size_t>(chunk + kChunk, row.size());
        float before = 0.0F;
        for (std::size_t run = chunk; run < end; run += kRun) {
            float within = 0.0F;
            for (std::size_t k = run; k < std::min<std::size_t>(run + kRun, end); ++k) {
                within += exact::exact_flush(row[k]);
                sums[k] = number(before + within);
            }
            before += within;
        }
        totals.push_back(number(before));
    }
    if (totals.size() <= 1) return sums;
    const std::vector<float> offsets = running_sums(totals);
    for (std::size_t k = kChunk; k < sums.size(); ++k) sums[k] = number(offsets[k / kChunk - 1] + sums[k]);
    return sums;
}

}  // namespace

void run_twin(const CumulativeSumDesc& desc, const HostViews& views) {
    const auto in = views.in<float>(0);
    const auto out = views.out<float>(1);
    std::vector<float> row(desc.columns);
    for (std::size_t o = 0; o < desc.outer; ++o) {
        for (std::size_t j = 0; j < desc.inner; ++j) {
            const auto place = [&](std::size_t k) { return (o * desc.columns + k) * desc.inner + j; };
            for (std::size_t k = 0; k < row.size(); ++k) row[k] = in[place(k)];
            const std::vector<float> sums = running_sums(row);
            for (std::size_t k = 0; k < row.size(); ++k) out[place(k)] = sums[k];
        }
    }
}
template struct Twin<CumulativeSumDesc>;

}  // namespace yolk::reference
