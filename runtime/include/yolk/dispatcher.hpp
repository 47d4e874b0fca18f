// SPDX-License-Identifier: Apache-2.0
// Submissions on a timeline: submit, wait, poll, chain. Owns no memory of the caller's.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include "yolk/internal/core/typed_id.hpp"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/result.hpp"

namespace yolk {

class Dispatcher;
struct CallerSemaphores;  // yolk/vulkan.hpp

struct DispatcherOptions {
    /// Work is given up, and the device with it, when nothing on the device has moved for so long: submissions count,
    /// and so do the parts that long ones are split into. At least 1 ms.
    std::chrono::nanoseconds hang_limit = std::chrono::seconds(120);
};

/// A point on a dispatcher's timeline. Plain data; valid as long as the dispatcher.
struct Submission {
    const Dispatcher* dispatcher = nullptr;
    SubmitSerial serial{};
};

/// Threading: every member may be called from any thread; submissions on one device's queue are serialized inside, and
/// uploads and downloads take turns. A recorder is submitted by one thread at a time. Movable only before the first
/// submission. The destructor waits for its submissions, and gives up at the hang limit.
class Dispatcher {
   public:
    [[nodiscard]] static Result<Dispatcher> create(const Device& device, const DispatcherOptions& options = {});

    /// Ends the recording if need be and submits it, after `wait_for` (of any dispatcher of the same device) have
    /// finished. The recorder, its bindings and their buffers must stay until then. Errors: what stuck in the recorder,
    /// device lost, driver.
    [[nodiscard]] Result<Submission> submit(Recorder& recorder, std::span<const Submission> wait_for = {});
    /// The same, waiting for and signalling semaphores of the caller's, too.
    [[nodiscard]] Result<Submission> submit(Recorder& recorder, std::span<const Submission> wait_for,
                                            const CallerSemaphores& semaphores);

    /// Errors: DeviceLost, also where the work was given up at the hang limit: from then on every call on this device
    /// is that error, and what work may still use is abandoned (Device::counts().abandoned_handles). Driver where the
    /// driver fails to wait; waiting again is legal.
    [[nodiscard]] Result<void> wait(Submission submission) const;
    /// The same for so long and without giving up. Errors: DeviceLost, or Driver when `timeout` has passed (the work
    /// goes on; waiting again is legal).
    [[nodiscard]] Result<void> wait(Submission submission, std::chrono::nanoseconds timeout) const;
    [[nodiscard]] Result<bool> poll(Submission submission) const;
    /// submit and wait. When it returns nothing of the recording runs any more, or the device hangs.
    [[nodiscard]] Result<void> run(Recorder& recorder);

    /// Host bytes to a view, and back; directly where the memory can be mapped, else through staging that the
    /// dispatcher keeps: as large as the largest transfer so far up to 1 MiB, 4 MiB for larger ones, from 16 MiB on
    /// half of the transfer, up to 32 MiB each way. Larger ones than 1 MiB go in pieces, four of which are in flight:
    /// the host, with up to three threads of the dispatcher's, copies one while the device copies others. They block,
    /// and allocate nothing once a transfer of the size was made; where a loop must not wait, copy to a Readback buffer
    /// in its recording.
    [[nodiscard]] Result<void> upload(const BufferView& to, std::span<const std::byte> bytes);
    [[nodiscard]] Result<void> download(const BufferView& from, std::span<std::byte> bytes);

    [[nodiscard]] const Device& device() const noexcept;

    struct Impl;  // runtime/src/submission/dispatcher_impl.hpp

   private:
    friend struct Interop;  // runtime/src/device/private_access.hpp
    [[nodiscard]] Result<void> check_own(const Submission& submission, const char* what) const;
    explicit Dispatcher(Owned<Impl> impl) noexcept : impl_(std::move(impl)) {}
    Owned<Impl> impl_;
};

}  // namespace yolk
