// SPDX-License-Identifier: Apache-2.0
// A step call on a device: its inputs lie in one upload buffer, its outputs in one readback buffer, and both in one
// buffer of the device's, so that a call is two copies, the kernels and one submission.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "yolk/device.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/autotune/step_counts.hpp"
#include "yolk/internal/runtime/buffer.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

struct StagedOutput {
    std::span<std::byte> to{};  ///< on the host; empty where it is not wanted
    std::uint64_t size_bytes = 0;
};

/// One call. Arrays that it does not have are empty.
struct StagedRequest {
    const char* label = "";                ///< "kfac_step"
    std::array<std::uint32_t, 4> shape{};  ///< what its plan is made for, in the step's own words
    float rate = 0.0F;                     ///< what its recording is made for, beside the plan
    std::array<std::span<const std::byte>, 2> inputs{};
    std::array<StagedOutput, 3> outputs{};
};

/// What a step's scratch holds. One thread at a time.
class StagedCall {
   public:
    /// Writes the inputs, runs the recording, waits and reads the outputs. Where the shape or the device is not that of
    /// the call before, `bind(device)` plans, calls reserve() and binds; what it returns is kept, and
    /// `record(bound, recorder, rate)` records it.
    template <class Bind, class Record>
    [[nodiscard]] Result<StepCounts> run(Dispatcher& dispatcher, const StagedRequest& request, Bind&& bind,
                                         Record record) {
        const bool plans = shape_ != request.shape || device_ != dispatcher.device().impl().get();
        if (plans) {
            shape_.reset();
            record_ = {};
            YOLK_TRY(auto made, bind(dispatcher.device()));
            record_ = [bound = std::make_shared<const decltype(made)>(std::move(made)), record](
                          Recorder& recorder, float rate) { record(*bound, recorder, rate); };
            shape_ = request.shape;
            rate_bits_.reset();
            ++counts_.plans;
        }
        YOLK_TRY(StepCounts done, submit(dispatcher, request));
        done.plans = plans ? 1 : 0;
        return done;
    }
    /// Room for the arrays, one behind the other, and the kernels' scratch: with less than it wants, down to the least,
    /// where memory is short. What is large enough stays.
    [[nodiscard]] Result<BufferView> reserve(const Device& device, const StagedRequest& request,
                                             const MemoryNeeds& scratch);
    [[nodiscard]] BufferView input(std::size_t index) const noexcept;   ///< on the device
    [[nodiscard]] BufferView output(std::size_t index) const noexcept;  ///< on the device

    [[nodiscard]] StepCounts counts() const noexcept { return counts_; }
    [[nodiscard]] StepFootprint footprint() const noexcept;

   private:
    /// Where an array lies: at the same offset in the device's buffer (plus that of the outputs) as in its mirror.
    struct Place {
        std::uint64_t offset = 0;
        std::uint64_t size_bytes = 0;
    };
    struct Memory {
        Buffer upload, readback, data, scratch;
        std::optional<Recorder> recorder;
    };
    [[nodiscard]] Result<Place> place(std::uint64_t& end, std::uint64_t size_bytes);
    [[nodiscard]] Result<StepCounts> submit(Dispatcher& dispatcher, const StagedRequest& request);
    void record(float rate);

    const void* device_ = nullptr;  ///< whose memory this is; it keeps it alive
    std::array<Place, 2> inputs_;
    std::array<Place, 3> outputs_;
    std::uint64_t input_bytes_ = 0;
    std::uint64_t output_bytes_ = 0;
    Memory memory_;  // before what is bound to its buffers
    std::function<void(Recorder&, float)> record_;
    std::optional<std::array<std::uint32_t, 4>> shape_;
    std::optional<std::uint32_t> rate_bits_;  ///< of what is recorded
    StepCounts counts_;
};

}  // namespace yolk::autotune
