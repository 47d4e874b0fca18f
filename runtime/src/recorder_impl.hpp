// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <volk.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device_context.hpp"
#include "timeline.hpp"
#include "yolk/core/result.hpp"
#include "yolk/runtime/recorder.hpp"

namespace yolk {

/// A label without a heap allocation; longer ones are cut.
class FixedLabel {
   public:
    FixedLabel() = default;
    explicit FixedLabel(std::string_view text) noexcept {
        text.copy(text_.data(), text_.size() - 1);  // the last byte stays zero
    }
    [[nodiscard]] const char* c_str() const noexcept { return text_.data(); }
    [[nodiscard]] bool empty() const noexcept { return text_[0] == '\0'; }

   private:
    std::array<char, 64> text_{};
};

struct Recorder::Impl {
    enum class State { Recording, Ended };

    std::shared_ptr<Device::Impl> device;
    std::string label;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkQueryPool queries = VK_NULL_HANDLE;  ///< null without timestamps

    State state = State::Ended;
    std::optional<Error> stuck;  ///< the first thing that went wrong since begin()
    std::uint64_t dispatches = 0;
    std::uint32_t label_depth = 0;
    FixedLabel last_label;
    std::vector<bool> written_slots;  ///< sized once; whether a timestamp was recorded

    /// The last submission; null before the first. Work of one queue ends in order, so its end is the end of all.
    std::shared_ptr<Timeline> submitted_to;
    std::uint64_t submitted_value = 0;

    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl();

    [[nodiscard]] Result<void> create(const RecorderOptions& options);
    void begin() noexcept;
    void end() noexcept;
    /// Keeps the first error. Takes a function that makes it, so that nothing is formatted in the good case.
    void stick(Error error) noexcept {
        if (!stuck) stuck = std::move(error);
    }
    /// Whether commands may be recorded now; sticks an error where recording has ended.
    [[nodiscard]] bool recording(const char* what) noexcept;
    [[nodiscard]] const DeviceContext& context() const noexcept;

   private:
    [[nodiscard]] Result<void> create_queries(std::uint32_t count);
    /// Sees what was submitted before, by any dispatcher of the device.
    void order_after_earlier_submissions() noexcept;
};

}  // namespace yolk
