// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <volk.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command_segments.hpp"
#include "device_context.hpp"
#include "fixed_label.hpp"
#include "timeline.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// "the recorder [generation], last labelled work [rollout]".
[[nodiscard]] std::string describe_work(const std::string& recorder, const FixedLabel& last_label);

struct Recorder::Impl {
    enum class State { Recording, Ended };

    std::shared_ptr<Device::Impl> device;
    std::string label;
    bool callers_commands = false;  ///< `commands` is the caller's: begun, ended and submitted by him
    CommandSegments segments;
    VkCommandBuffer commands = VK_NULL_HANDLE;  ///< recorded into now: the open segment
    std::uint64_t segment_cost = 0;             ///< of what the open segment holds (LinearGrid::cost_per_group)
    VkQueryPool queries = VK_NULL_HANDLE;       ///< null without timestamps

    State state = State::Ended;
    std::optional<Error> stuck;  ///< the first thing that went wrong since begin()
    std::uint64_t dispatches = 0;
    std::uint64_t read_back_bytes = 0;  ///< copied to Readback buffers
    std::uint32_t label_depth = 0;
    std::array<FixedLabel, 8> open_labels;  ///< the outer ones, to be opened again in the next segment
    FixedLabel last_label;
    FixedLabel work_label;            ///< of the last dispatch, so of what a cut ends
    std::vector<bool> written_slots;  ///< sized once; whether a timestamp was recorded

    /// The last submission; null before the first. Work of one queue ends in order, so its end is the end of all.
    std::shared_ptr<Timeline> submitted_to;
    std::uint64_t submitted_value = 0;

    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl();

    [[nodiscard]] Result<void> create(const RecorderOptions& options);
    void record_into(VkCommandBuffer callers) noexcept;
    void begin() noexcept;
    void end() noexcept;
    /// Waits until nothing of it runs, or marks the device hung.
    void settle() noexcept;
    /// Keeps the first error. Takes a function that makes it, so that nothing is formatted in the good case.
    void stick(Error error) noexcept {
        if (!stuck) stuck = std::move(error);
    }
    /// Whether commands may be recorded now; sticks an error where recording has ended.
    [[nodiscard]] bool recording(const char* what) noexcept;
    [[nodiscard]] const DeviceContext& context() const noexcept;
    /// Makes room in the open segment for work of `cost`: what follows is submitted apart where the two together would
    /// be long work. Whether commands may be recorded.
    [[nodiscard]] bool make_room(std::uint64_t cost) noexcept;
    void open_label(const FixedLabel& label) noexcept;
    void close_label() noexcept;

   private:
    [[nodiscard]] bool cut() noexcept;
    [[nodiscard]] Result<void> create_queries(std::uint32_t count);
    /// Sees what was submitted before, by any dispatcher of the device.
    void order_after_earlier_submissions() noexcept;
};

/// Records a dispatch of no workgroups. lavapipe puts most of its compilation off to the first dispatch, and compiles
/// for this one, too.
void dispatch_no_workgroup(Recorder& recorder, const Binding& binding, std::span<const std::byte> params) noexcept;

}  // namespace yolk
