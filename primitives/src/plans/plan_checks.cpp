// SPDX-License-Identifier: Apache-2.0
#include "plan_checks.hpp"

#include <fmt/format.h>

#include <limits>
#include <vector>

#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/runtime/probe.hpp"

namespace yolk {

namespace {

Result<void> check_needed_views(const DeviceLimits& limits, const char* plan, std::span<const NeededView> needed,
                                std::vector<BufferView>& views) {
    for (const NeededView& need : needed) {
        const std::string what = fmt::format("the {} view of {}", need.name, plan);
        const std::uint64_t limit = need.in_pieces ? std::numeric_limits<std::uint64_t>::max()
                                    : need.uniform ? limits.max_uniform_buffer_range
                                                   : limits.max_storage_buffer_range;
        YOLK_TRY_VOID(check_view(need.view, need.needed_bytes, limit, what.c_str()));
        views.push_back(need.view);
    }
    return {};
}

}  // namespace

std::vector<std::uint32_t> workgroup_sizes() { return {1, 4, 8, 16, 32, 64, 128, 256}; }

Result<void> check_range(std::uint64_t value, std::uint64_t low, std::uint64_t high, const char* what) {
    if (value >= low && value <= high) return {};
    return bad_input("{} is {}; it must be from {} to {}.", what, value, low, high);
}

Result<std::uint64_t> checked_bytes(std::initializer_list<std::uint64_t> extents, std::uint64_t element_bytes,
                                    const char* what) {
    for (const std::uint64_t extent : extents) {
        if (extent == 0) return std::uint64_t{0};
    }
    std::uint64_t bytes = element_bytes;
    for (const std::uint64_t extent : extents) {
        YOLK_TRY(bytes, checked_multiply(bytes, extent, what));
    }
    return bytes;
}

Result<void> check_binding_size(const Device& device, std::uint64_t size_bytes, const char* what) {
    const std::uint64_t limit = device.info().limits.max_storage_buffer_range;
    if (size_bytes <= limit) return {};
    return bad_input("{} needs {} bytes in one binding; [{}] takes at most {}. Use smaller sizes or several plans.",
                     what, size_bytes, device.info().name, limit);
}

Result<std::uint64_t> binding_bytes(const Device& device, std::initializer_list<std::uint64_t> extents,
                                    const char* what) {
    YOLK_TRY(const std::uint64_t size_bytes, checked_bytes(extents, kElementBytes, what));
    YOLK_TRY_VOID(check_binding_size(device, size_bytes, what));
    return size_bytes;
}

Result<void> check_views(const Device& device, const char* plan, std::span<const NeededView> inputs,
                         std::span<const NeededView> outputs) {
    const DeviceLimits& limits = device.info().limits;
    std::vector<BufferView> input_views;
    std::vector<BufferView> output_views;
    YOLK_TRY_VOID(check_needed_views(limits, plan, inputs, input_views));
    YOLK_TRY_VOID(check_needed_views(limits, plan, outputs, output_views));
    return check_no_overlap(output_views, input_views, plan);
}

Result<std::uint64_t> loop_budget(const Device& device) {
    YOLK_TRY(const DeviceFindings findings, probe(device));
    return findings.loop_limit.value_or(std::numeric_limits<std::uint64_t>::max());
}

Result<DeviceInfo> probed_info(const Device& device) {
    YOLK_TRY_VOID(probe(device));
    return device.usable_info();
}

Result<void> check_quads(std::uint32_t elements_per_load, std::uint64_t columns) {
    if (elements_per_load == 1 || columns % kQuad == 0) return {};
    return bad_input("elements_per_load is {} for {} columns; use 1, or columns that are a multiple of 4.",
                     elements_per_load, columns);
}

LinearGrid grid_of(std::uint64_t count, std::uint64_t items_per_group, std::uint64_t cost_per_item) noexcept {
    return {.groups = ceil_div(count, items_per_group), .cost_per_group = items_per_group * cost_per_item};
}

}  // namespace yolk
