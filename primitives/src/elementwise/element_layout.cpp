// SPDX-License-Identifier: Apache-2.0
#include "element_layout.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "yolk/internal/core/shape.hpp"

namespace yolk {
namespace {

namespace abi_ew = abi::elementwise;

bool keeps(std::uint32_t input, std::size_t dimension) { return (input >> dimension & 1U) != 0; }

/// Sizes do not decide what is joined, so that one kernel serves all.
bool is_joined(const ElementwiseDesc& desc, std::size_t dimension) {
    return dimension > 0 && std::ranges::all_of(desc.inputs, [&](std::uint32_t input) {
               return keeps(input, dimension) == keeps(input, dimension - 1);
           });
}

std::vector<DimensionRun> runs_of(const std::vector<bool>& kept) {
    std::vector<DimensionRun> runs;
    for (std::uint32_t d = 0; d < kept.size(); ++d) {
        if (!kept[d]) continue;
        if (runs.empty() || runs.back().last + 1 != d) runs.push_back({d, d});
        runs.back().last = d;
    }
    return runs;
}

std::uint64_t product(const std::vector<std::uint64_t>& extents, std::size_t first, std::size_t end) {
    std::uint64_t count = 1;
    for (std::size_t d = first; d < end; ++d) count *= extents[d];
    return count;
}

struct Quotient {
    std::uint32_t factor = 0;
    std::uint32_t shift = 0;
};
/// floor(n / d) = floor(4 n factor / 2^(32 + shift)) for n below 2^30: factor d - 2^(30 + shift) is below d, and so at
/// most 2^shift.
Quotient quotient_by(std::uint64_t divisor) {
    const auto shift = static_cast<std::uint32_t>(std::bit_width(divisor - 1));
    return {static_cast<std::uint32_t>(ceil_div(std::uint64_t{1} << (30 + shift), divisor)), shift};
}

}  // namespace

ElementLayout element_layout(const ElementwiseDesc& desc) {
    ElementLayout layout;
    std::vector<std::size_t> firsts;  // of what is joined
    for (std::size_t d = 0; d < desc.extents.size(); ++d) {
        if (is_joined(desc, d)) {
            layout.extents.back() *= desc.extents[d];
        } else {
            layout.extents.push_back(desc.extents[d]);
            firsts.push_back(d);
        }
    }
    for (const std::uint32_t input : desc.inputs) {
        std::vector<bool> kept;
        for (const std::size_t first : firsts) kept.push_back(keeps(input, first));
        std::vector<std::uint32_t> places;
        for (const DimensionRun& run : runs_of(kept)) {
            const auto found = std::ranges::find(layout.runs, run);
            places.push_back(static_cast<std::uint32_t>(found - layout.runs.begin()));
            if (found != layout.runs.end()) continue;
            layout.runs.push_back(run);
            layout.code.runs.push_back({.has_inner = run.last + 1 < layout.extents.size(), .has_outer = run.first > 0});
        }
        layout.code.inputs.push_back({.runs = std::move(places), .is_repeated = !kept.back()});
    }
    for (const ElementwiseStep& step : desc.steps)
        layout.code.steps.push_back({std::string(word_of(step.operation)), step.operands});
    layout.code.numbers = static_cast<std::uint32_t>(desc.numbers.size());
    return layout;
}

abi_ew::Params element_params(const ElementLayout& layout, std::span<const float> numbers, std::uint32_t loads) {
    const std::size_t rank = layout.extents.size();
    abi_ew::Params params{};
    params.element_count = static_cast<std::uint32_t>(product(layout.extents, 0, rank));
    params.loads = loads;
    for (std::size_t r = 0; r < layout.runs.size(); ++r) {
        const DimensionRun& run = layout.runs[r];
        const std::uint64_t inner = product(layout.extents, run.last + 1, rank);
        const std::uint64_t size = product(layout.extents, run.first, run.last + 1);
        const auto [inner_factor, inner_shift] = quotient_by(inner);
        const auto [outer_factor, outer_shift] = quotient_by(inner * size);
        params.inner_factor[r] = inner_factor;
        params.inner_shift[r] = inner_shift;
        params.outer_factor[r] = outer_factor;
        params.outer_shift[r] = outer_shift;
        params.size[r] = static_cast<std::uint32_t>(size);
    }
    for (std::size_t n = 0; n < numbers.size(); ++n) params.numbers[n] = std::bit_cast<std::uint32_t>(numbers[n]);
    return params;
}

}  // namespace yolk
