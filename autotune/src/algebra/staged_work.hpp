// SPDX-License-Identifier: Apache-2.0
// Work on host data that is done again and again: the inputs lie in one upload buffer, the outputs in one readback
// buffer, and both in one buffer of the device's, so that a call is two copies, the kernels and one submission.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "yolk/autotune/step_counts.hpp"
#include "yolk/core/result.hpp"
#include "yolk/runtime/buffer.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/dispatcher.hpp"
#include "yolk/runtime/recorder.hpp"

namespace yolk::autotune {

/// Where an array lies: at the same offset in the device's buffer (plus that of the outputs) as in its mirror.
struct StagedArray {
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
};

/// One thread at a time.
class StagedWork {
   public:
    /// Whether reserve() has succeeded on this device.
    [[nodiscard]] bool on(const Device& device) const noexcept;
    /// Room for arrays of these sizes, one behind the other, aligned; what is large enough stays. `arrays` is filled in
    /// the order of the sizes, inputs first.
    [[nodiscard]] Result<void> reserve(const Device& device, const char* label,
                                       std::initializer_list<std::uint64_t> input_bytes,
                                       std::initializer_list<std::uint64_t> output_bytes,
                                       std::span<StagedArray> arrays);
    /// Scratch of the kernels: with less than it wants, down to the least, where memory is short.
    [[nodiscard]] Result<BufferView> reserve_scratch(const Device& device, const char* label, const MemoryNeeds& needs);

    [[nodiscard]] BufferView input(const StagedArray& array) const noexcept;   ///< on the device
    [[nodiscard]] BufferView output(const StagedArray& array) const noexcept;  ///< on the device
    /// Begins a recording with the copy of the inputs; the kernels follow. finish_recording() copies the outputs.
    [[nodiscard]] Recorder& begin_recording() noexcept;
    void finish_recording() noexcept;

    /// Host memory into the staging of an input, and from that of an output.
    void write(const StagedArray& array, std::span<const std::byte> bytes) noexcept;
    void read(const StagedArray& array, std::span<std::byte> bytes) const noexcept;
    /// Runs the recording and waits for it. What it did.
    [[nodiscard]] Result<StepCounts> run(Dispatcher& dispatcher);

    [[nodiscard]] StepFootprint footprint() const noexcept;

   private:
    const void* device_ = nullptr;  ///< whose buffers these are; they keep it alive
    std::uint64_t input_bytes_ = 0;
    std::uint64_t output_bytes_ = 0;
    Buffer upload_, readback_, data_, scratch_;
    std::optional<Recorder> recorder_;
};

}  // namespace yolk::autotune
