// SPDX-License-Identifier: Apache-2.0
#include "yolk/dispatcher.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "device_impl.hpp"
#include "dispatcher_impl.hpp"
#include "vk_result.hpp"
#include "yolk/log.hpp"
#include "yolk/vulkan.hpp"

namespace yolk {
namespace {

/// A wait of this length saw the work end; a shorter one may have come after the end.
constexpr std::chrono::microseconds kSawTheEnd{100};

VkResult submit_piece(Device::Impl& device, VkCommandBuffer commands, const SemaphoreList& waits,
                      const SemaphoreList& signals) {
    const VkTimelineSemaphoreSubmitInfo timeline{.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                 .waitSemaphoreValueCount = waits.count,
                                                 .pWaitSemaphoreValues = waits.values.data(),
                                                 .signalSemaphoreValueCount = signals.count,
                                                 .pSignalSemaphoreValues = signals.values.data()};
    const VkSubmitInfo info{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                            .pNext = &timeline,
                            .waitSemaphoreCount = waits.count,
                            .pWaitSemaphores = waits.semaphores.data(),
                            .pWaitDstStageMask = waits.stages.data(),
                            .commandBufferCount = 1,
                            .pCommandBuffers = &commands,
                            .signalSemaphoreCount = signals.count,
                            .pSignalSemaphores = signals.semaphores.data()};
    const std::lock_guard lock(device.queue_mutex);
    return device.context.vk.vkQueueSubmit(device.queue, 1, &info, VK_NULL_HANDLE);
}

/// Appends the caller's; an error where they are too many or null. `what` is "wait for" or "signal".
Result<void> add_all(SemaphoreList& list, std::span<const SemaphoreValue> semaphores, std::size_t most,
                     const std::string& label, const char* what) {
    for (const SemaphoreValue& semaphore : semaphores) {
        if (semaphore.semaphore == VK_NULL_HANDLE)
            return bad_input("The recorder [{}] was to {} a null semaphore.", label, what);
        if (list.count >= most)
            return bad_input("The recorder [{}] was to {} more than {} semaphores.", label, what, most);
        list.add(semaphore.semaphore, semaphore.value);
    }
    return {};
}

}  // namespace

Result<Dispatcher> Dispatcher::create(const Device& device, const DispatcherOptions& options) {
    if (!device.impl()->context.health.good()) return device.impl()->context.failed("create a dispatcher");
    if (options.hang_limit < std::chrono::milliseconds(1)) {
        return bad_input("The hang limit of a dispatcher of device '{}' is {} ns; it must be at least 1 ms.",
                         device.info().name, options.hang_limit.count());
    }
    auto impl = std::make_unique<Impl>(device);
    YOLK_TRY(impl->timeline, Timeline::create(device.impl(), options.hang_limit));
    return Dispatcher(std::move(impl));
}

const Device& Dispatcher::device() const noexcept { return impl_->device; }

Dispatcher::Impl::~Impl() {
    if (!timeline) return;
    if (!timeline->settle(last_serial)) {
        const DeviceContext& context = timeline->device->context;
        context.health.mark_hung(describe(timeline->first_unfinished(last_serial)), timeline->given_up());
        log_warning(context.failed("wait for the work of a dispatcher that is destroyed").message);
    }
}

std::uint64_t Dispatcher::Impl::last() const {
    const std::lock_guard lock(mutex);
    return last_serial;
}

void Dispatcher::Impl::observe(std::uint64_t serial, Clock::time_point wait_begun) const {
    const Clock::time_point now = Clock::now();
    const std::lock_guard lock(mutex);
    if (serial != last_serial) return;
    // What other dispatchers have in flight makes the time look longer, and pieces shorter than they could be: the safe
    // side.
    device.impl()->context.pace.observe({.cost = timed.cost,
                                         .pieces = last_serial + 1 - timed.first_serial,
                                         .seconds = std::chrono::duration<double>(now - timed.submitted).count(),
                                         .exact = timed.alone && now - wait_begun >= kSawTheEnd});
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
    const DeviceContext& context = timeline->device->context;
    if (!context.health.good()) return context.failed(fmt::format("wait for submission {}", serial));
    const Clock::time_point begun = Clock::now();
    const VkResult result = timeline->wait(serial, timeout);
    if (result == VK_SUCCESS) {
        observe(serial, begun);
        return {};
    }
    if (result != VK_TIMEOUT) {
        return context.error(result, fmt::format("wait for {} on device '{}'", describe(serial), context.info.name),
                             describe(timeline->first_unfinished(serial)));
    }
    return Error{ErrorKind::Driver,
                 fmt::format("After {} ms, {} on device '{}' has not finished and is still running. Wait again, or "
                             "submit less work at once.",
                             std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count(), describe(serial),
                             device.info().name),
                 result};
}

Result<void> Dispatcher::Impl::wait_or_give_up(std::uint64_t serial) const {
    const DeviceContext& context = timeline->device->context;
    if (!context.health.good()) return context.failed(fmt::format("wait for submission {}", serial));
    const Clock::time_point begun = Clock::now();
    const VkResult result = timeline->wait_while_it_moves(
        serial, Timeline::OnError::Return, [this, serial] { return describe(timeline->first_unfinished(serial)); });
    if (result == VK_SUCCESS) {
        observe(serial, begun);
        return {};
    }
    // Of a recording in several submissions, the one that does not end.
    const std::string work = describe(timeline->first_unfinished(serial));
    const std::string what = fmt::format("wait for {} on device '{}'", describe(serial), context.info.name);
    if (result != VK_TIMEOUT) return context.error(result, what, work);
    context.health.mark_hung(work, timeline->given_up());
    return context.failed(what);
}

Result<Submission> Dispatcher::submit(Recorder& recorder, std::span<const Submission> wait_for) {
    return submit(recorder, wait_for, {});
}

Result<Submission> Dispatcher::submit(Recorder& recorder, std::span<const Submission> wait_for,
                                      const CallerSemaphores& semaphores) {
    Recorder::Impl* recording = recorder.impl();
    if (recording == nullptr) return bad_input("Cannot submit: the recorder was moved from.");
    if (recording->device != impl_->device.impl()) {
        return bad_input("Cannot submit the recorder [{}]: it was made by another device.", recording->label);
    }
    if (recording->callers_commands) {
        return bad_input("Cannot submit the recorder [{}]: its command buffer is the caller's, who submits it.",
                         recording->label);
    }
    if (!recording->context().health.good())
        return recording->context().failed(fmt::format("submit the recorder [{}]", recording->label));
    recording->end();
    if (recording->stuck) return *recording->stuck;

    SemaphoreList waits;
    SemaphoreList signals;
    YOLK_TRY_VOID(impl_->add_submissions(waits, wait_for, recording->label));
    YOLK_TRY_VOID(add_all(waits, semaphores.wait_before, kMaxSemaphores, recording->label, "wait for"));
    YOLK_TRY_VOID(add_all(signals, semaphores.signal_after, kMaxSemaphores - 1, recording->label, "signal"));

    const std::unique_lock lock(impl_->mutex);
    impl_->timed = {.first_serial = impl_->last_serial + 1,
                    .cost = recording->segments.cost(),
                    .alone = waits.count == 0 && impl_->timeline->known(impl_->last_serial),
                    .submitted = Impl::Clock::now()};
    YOLK_TRY_VOID(impl_->submit_segments(*recording, waits, signals));
    OperationCounters& counters = impl_->device.counters();
    counters.bytes_read_back.fetch_add(recording->read_back_bytes);
    counters.submissions.fetch_add(recording->segments.count());
    counters.dispatches.fetch_add(recording->dispatches);
    return Submission{.dispatcher = this, .serial = SubmitSerial{impl_->last_serial}};
}

Result<void> Dispatcher::Impl::add_submissions(SemaphoreList& waits, std::span<const Submission> wait_for,
                                               const std::string& label) const {
    for (const Submission& wait : wait_for) {
        if (waits.count == kMaxSemaphores)
            return bad_input("A submission can wait for {} others at most.", kMaxSemaphores);
        const Impl* other = wait.dispatcher == nullptr ? nullptr : wait.dispatcher->impl_.get();
        if (other == nullptr || other->device.impl() != device.impl()) {
            return bad_input("The recorder [{}] was to wait for a submission that is not of this device.", label);
        }
        // A value that nothing will signal would stop the queue for good.
        if (wait.serial.value > other->last()) {
            return bad_input("The recorder [{}] was to wait for submission {}, which was not made.", label,
                             wait.serial.value);
        }
        waits.add(other->timeline->handle, wait.serial.value);
    }
    return {};
}

Result<void> Dispatcher::Impl::submit_segments(Recorder::Impl& recording, const SemaphoreList& waits,
                                               const SemaphoreList& signals) {
    const std::size_t count = recording.segments.count();
    for (std::size_t i = 0; i < count; ++i) {
        const CommandSegment& segment = recording.segments[i];
        const std::uint64_t serial = last_serial + 1;
        // The first waits, the last signals what the caller asked for, and each its own value of the timeline.
        SemaphoreList after = i + 1 == count ? signals : SemaphoreList();
        after.add(timeline->handle, serial);
        const VkResult result =
            submit_piece(*recording.device, segment.commands, i == 0 ? waits : SemaphoreList(), after);
        if (result != VK_SUCCESS) {
            const std::string work = describe_work(recording.label, segment.last_label);
            return recording.context().error(result, fmt::format("submit {} to device '{}'", work, device.info().name),
                                             "the submission of " + work);
        }
        last_serial = serial;
        recent[serial % recent.size()] = {serial, FixedLabel(recording.label), segment.last_label};
        recording.submitted_to = timeline;
        recording.submitted_value = serial;
    }
    return {};
}

Result<void> Dispatcher::check_own(const Submission& submission, const char* what) const {
    if (submission.dispatcher == this && submission.serial.value <= impl_->last()) return {};
    return bad_input("Cannot {} submission {}: it was not made by this dispatcher.", what, submission.serial.value);
}

Result<void> Dispatcher::wait(Submission submission, std::chrono::nanoseconds timeout) const {
    YOLK_TRY_VOID(check_own(submission, "wait for"));
    return impl_->wait(submission.serial.value, timeout);
}

Result<void> Dispatcher::wait(Submission submission) const {
    YOLK_TRY_VOID(check_own(submission, "wait for"));
    return impl_->wait_or_give_up(submission.serial.value);
}

Result<bool> Dispatcher::poll(Submission submission) const {
    YOLK_TRY_VOID(check_own(submission, "poll"));
    const DeviceContext& context = impl_->timeline->device->context;
    if (!context.health.good()) return context.failed(fmt::format("poll submission {}", submission.serial.value));
    const VkResult result = impl_->timeline->poll(submission.serial.value);
    if (result == VK_SUCCESS) return true;
    if (result == VK_NOT_READY) return false;
    return context.error(result, fmt::format("poll {}", impl_->describe(submission.serial.value)),
                         impl_->describe(impl_->timeline->first_unfinished(submission.serial.value)));
}

Result<void> Dispatcher::run(Recorder& recorder) {
    Result<void> done;
    if (auto submitted = submit(recorder); submitted) {
        done = wait(*submitted);
    } else {
        done = std::move(submitted).error();
    }
    // Callers free what the work uses once this has returned, whatever it returned.
    if (!done && recorder.impl() != nullptr) recorder.impl()->settle();
    return done;
}

}  // namespace yolk
