// SPDX-License-Identifier: Apache-2.0
// Recording: dispatches, copies, barriers and timestamps into a command buffer. Recording never fails; what a recorder
// cannot hold (a driver error, an oversized dispatch) sticks and comes out of submit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "yolk/device.hpp"
#include "yolk/internal/runtime/grid.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// What must be finished before what may begin.
enum class Barrier {
    ComputeToCompute,    ///< kernel writes -> kernel reads (storage and uniform) and writes
    ComputeToTransfer,   ///< kernel writes -> copies and fills
    TransferToCompute,   ///< copies and fills -> kernels
    TransferToTransfer,  ///< copies and fills -> copies and fills
    ToHost,              ///< kernel writes, copies and fills -> host reads after wait()
};

struct RecorderOptions {
    std::uint32_t timestamp_count = 0;
    std::string label = "recorder";
};

/// A recording of commands, re-recordable, replayable: submitting it again without begin() runs the same work on new
/// data. Threading: one thread at a time; different recorders may record on different threads.
class Recorder {
   public:
    [[nodiscard]] static Result<Recorder> create(const Device& device, const RecorderOptions& options = {});

    /// Forgets what was recorded. The earlier work must have finished.
    void begin() noexcept;
    /// Closes the recording; submit() does it where the caller did not.
    void end() noexcept;
    /// end(), and what went wrong while recording. For recordings that Dispatcher::submit never sees.
    [[nodiscard]] Result<void> finish() noexcept;

    template <class Params>
    void dispatch(const BindingOf<Params>& binding, const Params& params, GroupCount groups) noexcept {
        dispatch(binding.binding, std::as_bytes(std::span(&params, 1)), groups);
    }
    /// A grid with a zero extent records nothing.
    void dispatch(const Binding& binding, std::span<const std::byte> params, GroupCount groups) noexcept;

    /// Folded as the device wants it, and cut where it is long work: no submission of this recording then costs more
    /// than DeviceOptions::max_submission_cost, but for what cannot be cut (a workgroup; a GroupCount; copies).
    template <class Params>
    void dispatch(const BindingOf<Params>& binding, const Params& params, const LinearGrid& grid) noexcept {
        dispatch(binding.binding, std::as_bytes(std::span(&params, 1)), grid);
    }
    void dispatch(const Binding& binding, std::span<const std::byte> params, const LinearGrid& grid) noexcept;

    void barrier(Barrier barrier) noexcept;
    /// Sizes must be equal; empty views record nothing.
    void copy(const BufferView& from, const BufferView& to) noexcept;
    /// Offset and size in multiples of 4.
    void fill(const BufferView& view, std::uint32_t word) noexcept;
    /// The device's time when everything recorded before has finished. `slot` below timestamp_count.
    void timestamp(std::uint32_t slot) noexcept;

    /// What an operation cannot record: the first such error sticks and comes out of submit.
    void refuse(Error error) noexcept;

    /// Named region for debug layers and for the error that names the last labelled work.
    void begin_label(std::string_view label) noexcept;
    void end_label() noexcept;

    /// Nanoseconds of the slots, from an arbitrary origin, after the work has finished. Error: a slot not written.
    [[nodiscard]] Result<void> read_timestamps(std::span<double> nanoseconds) const;
    [[nodiscard]] std::uint64_t dispatch_count() const noexcept;
    /// Submissions that one submit() makes; more than one for long work.
    [[nodiscard]] std::size_t submission_count() const noexcept;

    struct Impl;  // runtime/src/submission/recorder_impl.hpp
    [[nodiscard]] Impl* impl() const noexcept { return impl_.get(); }

   private:
    friend struct Interop;  // runtime/src/device/private_access.hpp
    explicit Recorder(Owned<Impl> impl) noexcept : impl_(std::move(impl)) {}
    Owned<Impl> impl_;
};

/// Ends the label at the end of the scope.
class ScopedLabel {
   public:
    ScopedLabel(Recorder& recorder, std::string_view label) noexcept : recorder_(recorder) {
        recorder_.begin_label(label);
    }
    ~ScopedLabel() { recorder_.end_label(); }
    ScopedLabel(const ScopedLabel&) = delete;
    ScopedLabel& operator=(const ScopedLabel&) = delete;

   private:
    Recorder& recorder_;
};

}  // namespace yolk
