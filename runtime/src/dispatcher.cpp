// SPDX-License-Identifier: Apache-2.0
#include "yolk/runtime/dispatcher.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "device_impl.hpp"
#include "dispatcher_impl.hpp"
#include "vk_result.hpp"
#include "yolk/core/log.hpp"

namespace yolk {
namespace {

/// One submission of a recording's segments: the first waits, each signals its own value of the timeline.
struct Piece {
    VkCommandBuffer commands;
    const WaitList* waits;  ///< null: none
    VkSemaphore signal;
    std::uint64_t value;
};

VkResult submit_piece(Device::Impl& device, const Piece& piece) {
    static constexpr WaitList kNothing{};
    const WaitList& waits = piece.waits == nullptr ? kNothing : *piece.waits;
    const VkTimelineSemaphoreSubmitInfo timeline{.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                 .waitSemaphoreValueCount = waits.count,
                                                 .pWaitSemaphoreValues = waits.values.data(),
                                                 .signalSemaphoreValueCount = 1,
                                                 .pSignalSemaphoreValues = &piece.value};
    const VkSubmitInfo info{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                            .pNext = &timeline,
                            .waitSemaphoreCount = waits.count,
                            .pWaitSemaphores = waits.semaphores.data(),
                            .pWaitDstStageMask = waits.stages.data(),
                            .commandBufferCount = 1,
                            .pCommandBuffers = &piece.commands,
                            .signalSemaphoreCount = 1,
                            .pSignalSemaphores = &piece.signal};
    const std::lock_guard lock(device.queue_mutex);
    return device.context.vk.vkQueueSubmit(device.queue, 1, &info, VK_NULL_HANDLE);
}

}  // namespace

Dispatcher::Dispatcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Dispatcher::~Dispatcher() = default;
Dispatcher::Dispatcher(Dispatcher&&) noexcept = default;
Dispatcher& Dispatcher::operator=(Dispatcher&&) noexcept = default;

Result<Dispatcher> Dispatcher::create(const Device& device) {
    auto impl = std::make_unique<Impl>(device);
    YOLK_TRY(impl->timeline, Timeline::create(device.impl()));
    return Dispatcher(std::move(impl));
}

const Device& Dispatcher::device() const noexcept { return impl_->device; }

Dispatcher::Impl::~Impl() {
    if (!timeline) return;
    if (const auto waited = wait(last_serial, kDestructorPatience); !waited) {
        log_warning(fmt::format("A dispatcher was destroyed with work unfinished: {}", waited.error().message));
        timeline->handle = VK_NULL_HANDLE;  // leaked: the queue may still signal it
    }
}

std::uint64_t Dispatcher::Impl::last() const {
    const std::lock_guard lock(mutex);
    return last_serial;
}

std::string Dispatcher::Impl::describe(std::uint64_t serial) const {
    const std::lock_guard lock(mutex);
    const Named& named = recent[serial % recent.size()];
    if (named.serial != serial) return fmt::format("submission {}", serial);
    std::string recorder = fmt::format("submission {} of the recorder [{}]", serial, named.recorder.c_str());
    if (named.last_label.empty()) return recorder;
    return fmt::format("{}, last labelled work [{}]", recorder, named.last_label.c_str());
}

Result<void> Dispatcher::Impl::wait(std::uint64_t serial, std::chrono::nanoseconds timeout) const {
    const VkResult result = timeline->wait(serial, timeout);
    if (result == VK_SUCCESS) return {};
    if (result != VK_TIMEOUT)
        return vk_error(result, fmt::format("wait for {} on device '{}'", describe(serial), device.info().name));
    return Error{
        ErrorKind::Driver,
        fmt::format(
            "After {} ms, {} on device '{}' has not finished; it goes on. Wait again, or give it less work at once.",
            std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count(), describe(serial),
            device.info().name),
        result};
}

Result<Submission> Dispatcher::submit(Recorder& recorder, std::span<const Submission> wait_for) {
    Recorder::Impl* recording = recorder.impl();
    if (recording == nullptr) return bad_input("Cannot submit: the recorder was moved from.");
    if (recording->device != impl_->device.impl()) {
        return bad_input(
            fmt::format("Cannot submit the recorder [{}]: it was made by another device.", recording->label));
    }
    recording->end();
    if (recording->stuck) return *recording->stuck;

    WaitList waits;
    for (const Submission& wait : wait_for) {
        if (waits.count == kMaxWaits)
            return bad_input(fmt::format("A submission can wait for {} others at most.", kMaxWaits));
        if (wait.dispatcher == nullptr || wait.dispatcher->impl_ == nullptr ||
            wait.dispatcher->impl_->device.impl() != impl_->device.impl()) {
            return bad_input(fmt::format("The recorder [{}] was to wait for a submission that is not of this device.",
                                         recording->label));
        }
        // A value that nothing will signal would stop the queue for good.
        if (wait.serial.value > wait.dispatcher->impl_->last()) {
            return bad_input(fmt::format("The recorder [{}] was to wait for submission {}, which was not made.",
                                         recording->label, wait.serial.value));
        }
        waits.add(wait.dispatcher->impl_->timeline->handle, wait.serial.value);
    }

    const std::unique_lock lock(impl_->mutex);
    YOLK_TRY_VOID(impl_->submit_segments(*recording, waits));
    OperationCounters& counters = impl_->device.counters();
    counters.submissions.fetch_add(recording->segments.count());
    counters.dispatches.fetch_add(recording->dispatches);
    return Submission{.dispatcher = this, .serial = SubmitSerial{impl_->last_serial}};
}

Result<void> Dispatcher::Impl::submit_segments(Recorder::Impl& recording, const WaitList& waits) {
    for (std::size_t i = 0; i < recording.segments.count(); ++i) {
        const CommandSegment& segment = recording.segments[i];
        const std::uint64_t serial = last_serial + 1;
        const VkResult result = submit_piece(*recording.device, {.commands = segment.commands,
                                                                 .waits = i == 0 ? &waits : nullptr,
                                                                 .signal = timeline->handle,
                                                                 .value = serial});
        if (result != VK_SUCCESS) {
            return vk_error(result, fmt::format("submit the recorder [{}] to device '{}', last labelled work [{}]",
                                                recording.label, device.info().name, segment.last_label.c_str()));
        }
        last_serial = serial;
        recent[serial % recent.size()] = {serial, FixedLabel(recording.label), segment.last_label};
        recording.submitted_to = timeline;
        recording.submitted_value = serial;
    }
    return {};
}

Result<void> Dispatcher::wait(Submission submission, std::chrono::nanoseconds timeout) const {
    if (submission.dispatcher != this || submission.serial.value > impl_->last()) {
        return bad_input(
            fmt::format("Cannot wait for submission {}: it was not made by this dispatcher.", submission.serial.value));
    }
    return impl_->wait(submission.serial.value, timeout);
}

Result<bool> Dispatcher::poll(Submission submission) const {
    if (submission.dispatcher != this || submission.serial.value > impl_->last()) {
        return bad_input(
            fmt::format("Cannot poll submission {}: it was not made by this dispatcher.", submission.serial.value));
    }
    const VkResult result = impl_->timeline->poll(submission.serial.value);
    if (result == VK_SUCCESS) return true;
    if (result == VK_NOT_READY) return false;
    return vk_error(result, fmt::format("poll {}", impl_->describe(submission.serial.value)));
}

Result<void> Dispatcher::run(Recorder& recorder) {
    YOLK_TRY(const Submission submission, submit(recorder));
    return wait(submission);
}

}  // namespace yolk
