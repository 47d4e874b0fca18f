// SPDX-License-Identifier: Apache-2.0
#include "space_layout.hpp"

#include <algorithm>

#include "yolk/internal/core/shape.hpp"

namespace yolk {
namespace {

bool keeps(std::uint32_t input, std::size_t dimension) { return (input >> dimension & 1U) != 0; }

/// Whether a dimension is joined to the one before it. Sizes do not decide it, so that one kernel serves all.
bool is_joined(std::span<const std::uint32_t> inputs, std::optional<std::uint32_t> row, std::size_t dimension) {
    if (dimension == 0 || (row && (dimension == *row || dimension - 1 == *row))) return false;
    return std::ranges::all_of(
        inputs, [&](std::uint32_t input) { return keeps(input, dimension) == keeps(input, dimension - 1); });
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

}  // namespace

SpaceLayout space_layout(std::span<const std::uint32_t> extents, std::span<const std::uint32_t> inputs,
                         std::optional<std::uint32_t> row) {
    SpaceLayout layout;
    std::vector<std::size_t> firsts;  // of what is joined
    for (std::size_t d = 0; d < extents.size(); ++d) {
        if (is_joined(inputs, row, d)) {
            layout.extents.back() *= extents[d];
            continue;
        }
        if (row == d) layout.row = static_cast<std::uint32_t>(firsts.size());
        layout.extents.push_back(extents[d]);
        firsts.push_back(d);
    }
    for (const std::uint32_t input : inputs) {
        std::vector<bool> kept;
        for (const std::size_t first : firsts) kept.push_back(keeps(input, first));
        std::vector<std::uint32_t> places;
        for (const DimensionRun& run : runs_of(kept)) {
            const auto found = std::ranges::find(layout.runs, run);
            places.push_back(static_cast<std::uint32_t>(found - layout.runs.begin()));
            if (found == layout.runs.end()) layout.runs.push_back(run);
        }
        layout.inputs.push_back(std::move(places));
        layout.is_repeated.push_back(!kept.back());
    }
    return layout;
}

std::uint64_t extents_product(std::span<const std::uint64_t> extents, std::size_t first, std::size_t end) noexcept {
    std::uint64_t count = 1;
    for (std::size_t d = first; d < end; ++d) count *= extents[d];
    return count;
}

Quotient quotient_by(std::uint64_t divisor) noexcept {
    const auto shift = static_cast<std::uint32_t>(std::bit_width(divisor - 1));
    return {static_cast<std::uint32_t>(ceil_div(std::uint64_t{1} << (30 + shift), divisor)), shift};
}

std::vector<ViewShape> program_input_views(std::span<const std::uint32_t> extents,
                                           std::span<const std::uint32_t> inputs) {
    std::vector<ViewShape> shapes;
    for (const std::uint32_t input : inputs) {
        ViewShape shape{.extents = {}, .dtype = DType::U32};
        for (std::size_t d = 0; d < extents.size(); ++d) {
            if (keeps(input, d)) shape.extents.push_back({"extent", extents[d]});
        }
        shapes.push_back(std::move(shape));
    }
    return shapes;
}

std::uint64_t input_elements(std::span<const std::uint32_t> extents, std::uint32_t input) noexcept {
    std::uint64_t count = 1;
    for (std::size_t d = 0; d < extents.size(); ++d) count *= keeps(input, d) ? extents[d] : 1;
    return count;
}

}  // namespace yolk
