// SPDX-License-Identifier: Apache-2.0
// The command buffers of one recording. A recording is cut into several where one submission would be long work:
// drivers give up on work that holds a device for seconds, and count by submission.
#pragma once

#include <volk.h>

#include <cstdint>
#include <string>
#include <vector>

#include "device_context.hpp"
#include "fixed_label.hpp"
#include "yolk/result.hpp"

namespace yolk {

struct CommandSegment {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    FixedLabel last_label;   ///< begun last before the segment's end
    std::uint64_t cost = 0;  ///< in multiply-adds (LinearGrid::cost_per_group)
};

/// Command buffers are kept when the recording is begun anew, so a recording of as many segments as an earlier one
/// makes no Vulkan object. Not thread-safe. `destroy` is the owner's to call: work may still run.
class CommandSegments {
   public:
    [[nodiscard]] Result<void> create(const DeviceContext& context, const std::string& label);
    void destroy(const DeviceContext& context) noexcept;

    /// Forgets what was recorded and opens the first segment.
    [[nodiscard]] VkResult begin(const DeviceContext& context) noexcept;
    /// Opens one more; the last one has been closed.
    [[nodiscard]] VkResult open(const DeviceContext& context) noexcept;
    [[nodiscard]] VkResult close(const DeviceContext& context, const FixedLabel& last_label,
                                 std::uint64_t cost) noexcept;

    [[nodiscard]] VkCommandBuffer current() const noexcept { return segments_[used_ - 1].commands; }
    [[nodiscard]] std::size_t count() const noexcept { return used_; }
    [[nodiscard]] std::uint64_t cost() const noexcept;  ///< of all; saturates
    /// What destroy() would destroy.
    [[nodiscard]] std::uint64_t pool_count() const noexcept { return pool_ != VK_NULL_HANDLE ? 1 : 0; }
    [[nodiscard]] const CommandSegment& operator[](std::size_t i) const noexcept { return segments_[i]; }

   private:
    [[nodiscard]] VkResult allocate(const DeviceContext& context) noexcept;

    VkCommandPool pool_ = VK_NULL_HANDLE;
    std::string label_;
    std::vector<CommandSegment> segments_;  ///< the first used_ belong to the recording
    std::size_t used_ = 0;
};

}  // namespace yolk
