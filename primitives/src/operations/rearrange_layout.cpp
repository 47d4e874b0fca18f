// SPDX-License-Identifier: Apache-2.0
#include "rearrange_layout.hpp"

#include <algorithm>
#include <vector>

#include "plan_checks.hpp"

namespace yolk {
namespace {

constexpr std::uint64_t kIndexLimit = 1ULL << 31U;

bool stays_inside(const RearrangeDimension& dimension) {
    const std::int64_t first = dimension.start;
    const std::int64_t last = first + std::int64_t{dimension.step} * (std::int64_t{dimension.extent} - 1);
    return std::min(first, last) >= 0 && std::max(first, last) < std::int64_t{dimension.source_extent};
}

/// A dimension as the kernel takes it; what is always inside leaves its start in `first`.
RearrangeStep step_of(const RearrangeDimension& dimension, std::uint32_t& first) {
    const auto start = static_cast<std::uint32_t>(dimension.start);
    const auto step = static_cast<std::uint32_t>(dimension.step);
    if (!stays_inside(dimension))
        return {dimension.extent, dimension.source_extent, start, step, dimension.stride, true};
    first += start * dimension.stride;
    return {dimension.extent, dimension.extent, 0, 1, step * dimension.stride, false};
}

/// Whether `outer` goes on where a row of `inner` ends, and both together are one dimension, which `outer` becomes.
bool merge_into(RearrangeStep& outer, const RearrangeStep& inner) {
    const std::uint64_t extent = std::uint64_t{outer.extent} * inner.extent;
    const std::uint64_t source = std::uint64_t{outer.source_extent} * inner.extent;
    if (inner.is_checked || outer.stride != inner.stride * inner.extent || extent >= kIndexLimit) return false;
    if (outer.is_checked) {
        const std::int64_t start = std::int64_t{static_cast<std::int32_t>(outer.start)} * inner.extent;
        const std::int64_t end = start + static_cast<std::int64_t>(extent);
        const auto limit = static_cast<std::int64_t>(kIndexLimit);
        if (outer.step != 1 || source >= kIndexLimit || start < -limit || end > limit) return false;
    }
    outer.extent = static_cast<std::uint32_t>(extent);
    outer.source_extent = static_cast<std::uint32_t>(source);
    outer.start *= inner.extent;
    outer.stride = inner.stride;
    return true;
}

}  // namespace

std::vector<RearrangeDimension> row_major_dimensions(const std::vector<std::uint32_t>& extents) {
    std::vector<RearrangeDimension> dimensions;
    for (const std::uint32_t extent : extents) dimensions.push_back({.extent = extent, .source_extent = extent});
    std::uint32_t stride = 1;
    for (auto dimension = dimensions.rbegin(); dimension != dimensions.rend(); ++dimension) {
        dimension->stride = stride;
        stride *= dimension->extent;
    }
    return dimensions;
}

RearrangeLayout layout_of(const RearrangeDesc& desc) {
    RearrangeLayout layout;
    std::vector<RearrangeStep> steps{{.extent = desc.members,
                                      .source_extent = desc.members,
                                      .stride = desc.shared_source ? 0 : desc.source_elements}};
    for (const RearrangeDimension& dimension : desc.dimensions) {
        const RearrangeStep step = step_of(dimension, layout.first);
        if (step.extent == 1 && !step.is_checked) continue;
        if (steps.back().extent == 1 && !steps.back().is_checked) {
            steps.back() = step;
        } else if (!merge_into(steps.back(), step)) {
            steps.push_back(step);
        }
    }
    layout.has_outer = steps.size() > kRearrangeDimensions;
    if (layout.has_outer) {
        layout.outer_stride = steps.front().stride;
        steps.erase(steps.begin());
    }
    layout.rank = static_cast<std::uint32_t>(steps.size());
    std::ranges::reverse_copy(steps, layout.steps.begin());
    return layout;
}

bool rows_are_quads(const RearrangeLayout& layout) noexcept { return layout.steps[0].extent % kQuad == 0; }

bool sources_are_quads(const RearrangeLayout& layout) noexcept {
    const RearrangeStep& row = layout.steps[0];
    const bool whole = row.stride == 1 && row.step == 1 && row.start % kQuad == 0 &&
                       (!row.is_checked || row.source_extent % kQuad == 0);
    const auto is_apart = [](const RearrangeStep& step) { return step.stride % kQuad == 0; };
    return rows_are_quads(layout) && whole && layout.first % kQuad == 0 && layout.outer_stride % kQuad == 0 &&
           std::all_of(layout.steps.begin() + 1, layout.steps.begin() + layout.rank, is_apart);
}

bool are_transposed(const RearrangeLayout& layout) noexcept {
    constexpr std::uint32_t kMatrix = 2, kMatrices = 3;
    if (layout.rank < kMatrix || layout.rank > kMatrices) return false;
    const auto may_leave = [](const RearrangeStep& step) { return step.is_checked; };
    return std::none_of(layout.steps.begin(), layout.steps.begin() + layout.rank, may_leave) &&
           layout.steps[0].stride > 1 && layout.steps[1].stride == 1;
}

}  // namespace yolk
