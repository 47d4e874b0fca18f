// SPDX-License-Identifier: Apache-2.0
// What every plan checks, so that all of them refuse in the same words: ranges of configurations, sizes, views, the
// loop budget. `plan` is the label in messages ("[noise]"), `what` a noun phrase that contains it ("workgroup_size of
// [noise]").
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/internal/primitives/parameters.hpp"
#include "yolk/internal/runtime/buffer.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// The largest workgroup of the portable floor.
inline constexpr std::uint32_t kMaxWorkgroupSize = 256;
/// Of fp32 numbers and 32-bit words.
inline constexpr std::uint64_t kElementBytes = 4;
/// Elements that an invocation loads at once where rows divide by it.
inline constexpr std::uint32_t kQuad = 4;
/// Of one parameter and domain: element indices are 32-bit words in the kernels.
inline constexpr std::uint64_t kMaxNoiseElements = 0xFFFFFFFFU;

/// The workgroup sizes of most spaces; the floor allows no larger ones.
[[nodiscard]] std::vector<std::uint32_t> workgroup_sizes();

/// An error unless low <= value <= high.
[[nodiscard]] Result<void> check_range(std::uint64_t value, std::uint64_t low, std::uint64_t high, const char* what);

/// The product of `extents` times `element_bytes`; an error where it does not fit in 64 bits. Zero where an extent is
/// zero.
[[nodiscard]] Result<std::uint64_t> checked_bytes(std::initializer_list<std::uint64_t> extents,
                                                  std::uint64_t element_bytes, const char* what);

/// An error where `size_bytes` is more than one storage binding of the device may have.
[[nodiscard]] Result<void> check_binding_size(const Device& device, std::uint64_t size_bytes, const char* what);

/// checked_bytes of 4-byte elements that lie in one binding.
[[nodiscard]] Result<std::uint64_t> binding_bytes(const Device& device, std::initializer_list<std::uint64_t> extents,
                                                  const char* what);

/// A view that a plan is about to bind, the bytes it must have, and its name in messages ("out").
struct NeededView {
    BufferView view;
    std::uint64_t needed_bytes = 0;
    const char* name = "";
    bool uniform = false;    ///< bound as a uniform buffer, whose range may be smaller
    bool in_pieces = false;  ///< bound piece by piece or window by window, so it may be longer than a binding
};

/// check_view for all of them, then check_no_overlap. Scratch counts as an output; so does what is read and written in
/// place.
[[nodiscard]] Result<void> check_views(const Device& device, const char* plan, std::span<const NeededView> inputs,
                                       std::span<const NeededView> outputs);
[[nodiscard]] inline Result<void> check_views(const Device& device, const char* plan,
                                              std::initializer_list<NeededView> inputs,
                                              std::initializer_list<NeededView> outputs) {
    return check_views(device, plan, std::span(inputs.begin(), inputs.size()),
                       std::span(outputs.begin(), outputs.size()));
}

/// What the loops of one invocation may cost in all, by the rules of yolk/internal/runtime/loop_budget.hpp; the largest
/// number where the device has no such limit. Probes the device if nobody has (yolk/internal/runtime/probe.hpp),
/// because exceeding the limit gives wrong results without a message.
[[nodiscard]] Result<std::uint64_t> loop_budget(const Device& device);

/// Error: elements are loaded four at a time of rows of `columns` that four does not divide.
[[nodiscard]] Result<void> check_quads(std::uint32_t elements_per_load, std::uint64_t columns);

/// What plans decide by: Device::usable_info() of a device that has been probed, now if nobody has. Errors: the
/// probe's.
[[nodiscard]] Result<DeviceInfo> probed_info(const Device& device);

/// About what a block of noise costs: ten rounds of Philox, and the sums of nibbles for eight elements.
inline constexpr std::uint64_t kNoiseBlockCost = 256;

/// Pairs that `members` members from `first_member` on belong to. An odd first member, the mean among them, is the
/// second side of a pair; without antithetic sampling every member is a pair of its own.
[[nodiscard]] constexpr std::uint64_t pairs_drawn(std::uint32_t members, std::int32_t first_member,
                                                  bool antithetic) noexcept {
    if (!antithetic) return members;
    const std::uint64_t odd = first_member % 2 == 0 ? 0 : 1;
    return (std::uint64_t{members} + odd + 1) / 2;
}

/// The grid of `count` items at `items_per_group`, each of which costs about `cost_per_item` multiply-adds.
[[nodiscard]] LinearGrid grid_of(std::uint64_t count, std::uint64_t items_per_group,
                                 std::uint64_t cost_per_item) noexcept;

}  // namespace yolk
