// SPDX-License-Identifier: Apache-2.0
#include "staged_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "yolk/internal/core/shape.hpp"

namespace yolk::autotune {
namespace {

/// A buffer of at least so many bytes; the one there is where it is large enough.
Result<void> grow(const Device& device, Buffer& buffer, std::uint64_t size_bytes, MemoryDomain domain,
                  const std::string& label) {
    if (buffer.size_bytes() >= size_bytes) return {};
    buffer = Buffer();  // before the new one is made, so that memory need not hold both
    YOLK_TRY(buffer, device.create_buffer({.size_bytes = size_bytes, .domain = domain, .label = label}));
    return {};
}

}  // namespace

/// The next place behind `end`, which moves on.
Result<StagedCall::Place> StagedCall::place(std::uint64_t& end, std::uint64_t size_bytes) {
    const Place array{.offset = end, .size_bytes = size_bytes};
    YOLK_TRY(const std::uint64_t padded, checked_add(size_bytes, kViewAlignment - 1, "a step's staging"));
    YOLK_TRY(end, checked_add(end, padded / kViewAlignment * kViewAlignment, "a step's staging"));
    return array;
}

Result<BufferView> StagedCall::reserve(const Device& device, const StagedRequest& request, const MemoryNeeds& scratch) {
    if (device_ != device.impl().get()) memory_ = {};
    device_ = nullptr;  // until all is there
    input_bytes_ = output_bytes_ = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        YOLK_TRY(inputs_[i], place(input_bytes_, request.inputs[i].size()));
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
        YOLK_TRY(outputs_[i], place(output_bytes_, request.outputs[i].size_bytes));
    }
    YOLK_TRY(const std::uint64_t total, checked_add(input_bytes_, output_bytes_, "a step's staging"));
    const auto named = [&](const char* what) { return fmt::format("{} {}", request.label, what); };
    YOLK_TRY_VOID(grow(device, memory_.upload, input_bytes_, MemoryDomain::Upload, named("upload")));
    YOLK_TRY_VOID(grow(device, memory_.readback, output_bytes_, MemoryDomain::Readback, named("readback")));
    YOLK_TRY_VOID(grow(device, memory_.data, total, MemoryDomain::Device, named("data")));
    if (!memory_.recorder) {
        YOLK_TRY(memory_.recorder, Recorder::create(device, {.label = request.label}));
    }
    device_ = device.impl().get();
    if (scratch.size_bytes == 0) return BufferView{};
    std::uint64_t wanted = scratch.size_bytes;
    while (true) {
        const Result<void> made = grow(device, memory_.scratch, wanted, MemoryDomain::Device, named("scratch"));
        if (made) return BufferView{memory_.scratch, 0, wanted};
        if (made.error().kind != ErrorKind::OutOfMemory || wanted <= scratch.least()) return made.error();
        wanted = std::max(wanted / 2, scratch.least());
    }
}

BufferView StagedCall::input(std::size_t index) const noexcept {
    const Place& array = inputs_[index];
    return array.size_bytes == 0 ? BufferView{} : BufferView{memory_.data, array.offset, array.size_bytes};
}
BufferView StagedCall::output(std::size_t index) const noexcept {
    return {memory_.data, input_bytes_ + outputs_[index].offset, outputs_[index].size_bytes};
}

void StagedCall::record(float rate) {
    Recorder& recorder = *memory_.recorder;
    recorder.begin();
    // What the call before has written and read: it is over for the host, but not yet ordered for the device.
    recorder.barrier(Barrier::ComputeToTransfer);
    recorder.barrier(Barrier::TransferToTransfer);
    recorder.copy({memory_.upload, 0, input_bytes_}, {memory_.data, 0, input_bytes_});
    recorder.barrier(Barrier::TransferToCompute);
    record_(recorder, rate);
    recorder.barrier(Barrier::ComputeToTransfer);
    recorder.copy({memory_.data, input_bytes_, output_bytes_}, {memory_.readback, 0, output_bytes_});
    recorder.barrier(Barrier::ToHost);
    recorder.end();
    rate_bits_ = std::bit_cast<std::uint32_t>(rate);
}

Result<StepCounts> StagedCall::submit(Dispatcher& dispatcher, const StagedRequest& request) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        if (const auto from = request.inputs[i]; !from.empty())
            std::memcpy(memory_.upload.mapped().data() + inputs_[i].offset, from.data(), from.size());
    }
    if (rate_bits_ != std::bit_cast<std::uint32_t>(request.rate)) record(request.rate);
    YOLK_TRY_VOID(memory_.upload.flush());
    YOLK_TRY_VOID(dispatcher.run(*memory_.recorder));
    YOLK_TRY_VOID(memory_.readback.invalidate());
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
        if (const auto to = request.outputs[i].to; !to.empty())
            std::memcpy(to.data(), memory_.readback.mapped().data() + outputs_[i].offset, to.size());
    }
    const StepCounts done{.calls = 1,
                          .submissions = memory_.recorder->submission_count(),
                          .dispatches = memory_.recorder->dispatch_count()};
    counts_.calls += done.calls;
    counts_.submissions += done.submissions;
    counts_.dispatches += done.dispatches;
    return done;
}

StepFootprint StagedCall::footprint() const noexcept {
    return {.upload = memory_.upload.mapped().data(),
            .readback = memory_.readback.mapped().data(),
            .upload_bytes = memory_.upload.size_bytes(),
            .readback_bytes = memory_.readback.size_bytes(),
            .device_bytes = memory_.data.size_bytes(),
            .scratch_bytes = memory_.scratch.size_bytes()};
}

StepScratch::StepScratch() : call_(std::make_unique<StagedCall>()) {}
StepCounts StepScratch::counts() const noexcept { return call_ ? call_->counts() : StepCounts{}; }
StepFootprint StepScratch::footprint() const noexcept { return call_ ? call_->footprint() : StepFootprint{}; }

}  // namespace yolk::autotune
