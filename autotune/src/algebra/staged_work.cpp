// SPDX-License-Identifier: Apache-2.0
#include "staged_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "yolk/core/shape.hpp"

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

/// The next place behind `end`, which moves on.
Result<StagedArray> place(std::uint64_t& end, std::uint64_t size_bytes) {
    const StagedArray array{.offset = end, .size_bytes = size_bytes};
    YOLK_TRY(const std::uint64_t padded, checked_add(size_bytes, kViewAlignment - 1, "a step's staging"));
    YOLK_TRY(end, checked_add(end, padded / kViewAlignment * kViewAlignment, "a step's staging"));
    return array;
}

}  // namespace

bool StagedWork::on(const Device& device) const noexcept { return device_ == device.impl().get(); }

Result<void> StagedWork::reserve(const Device& device, const char* label,
                                 std::initializer_list<std::uint64_t> input_bytes,
                                 std::initializer_list<std::uint64_t> output_bytes, std::span<StagedArray> arrays) {
    if (!on(device)) *this = StagedWork();
    device_ = nullptr;  // until all is there
    input_bytes_ = output_bytes_ = 0;
    std::size_t next = 0;
    for (const std::uint64_t size : input_bytes) {
        YOLK_TRY(arrays[next++], place(input_bytes_, size));
    }
    for (const std::uint64_t size : output_bytes) {
        YOLK_TRY(arrays[next++], place(output_bytes_, size));
    }
    YOLK_TRY(const std::uint64_t total, checked_add(input_bytes_, output_bytes_, "a step's staging"));
    YOLK_TRY_VOID(grow(device, upload_, input_bytes_, MemoryDomain::Upload, fmt::format("{} upload", label)));
    YOLK_TRY_VOID(grow(device, readback_, output_bytes_, MemoryDomain::Readback, fmt::format("{} readback", label)));
    YOLK_TRY_VOID(grow(device, data_, total, MemoryDomain::Device, fmt::format("{} data", label)));
    if (!recorder_) {
        YOLK_TRY(Recorder recorder, Recorder::create(device, {.label = label}));
        recorder_ = std::move(recorder);
    }
    device_ = device.impl().get();
    return {};
}

Result<BufferView> StagedWork::reserve_scratch(const Device& device, const char* label, const MemoryNeeds& needs) {
    if (needs.size_bytes == 0) return BufferView{};
    std::uint64_t wanted = needs.size_bytes;
    while (true) {
        const Result<void> made =
            grow(device, scratch_, wanted, MemoryDomain::Device, fmt::format("{} scratch", label));
        if (made) return BufferView{scratch_, 0, wanted};
        if (made.error().kind != ErrorKind::OutOfMemory || wanted <= needs.least()) return made.error();
        wanted = std::max(wanted / 2, needs.least());
    }
}

BufferView StagedWork::input(const StagedArray& array) const noexcept {
    return array.size_bytes == 0 ? BufferView{} : BufferView{data_, array.offset, array.size_bytes};
}
BufferView StagedWork::output(const StagedArray& array) const noexcept {
    return {data_, input_bytes_ + array.offset, array.size_bytes};
}

Recorder& StagedWork::begin_recording() noexcept {
    recorder_->begin();
    // What the call before has written and read: it is over for the host, but not yet ordered for the device.
    recorder_->barrier(Barrier::ComputeToTransfer);
    recorder_->barrier(Barrier::TransferToTransfer);
    recorder_->copy({upload_, 0, input_bytes_}, {data_, 0, input_bytes_});
    recorder_->barrier(Barrier::TransferToCompute);
    return *recorder_;
}

void StagedWork::finish_recording() noexcept {
    recorder_->barrier(Barrier::ComputeToTransfer);
    recorder_->copy({data_, input_bytes_, output_bytes_}, {readback_, 0, output_bytes_});
    recorder_->barrier(Barrier::ToHost);
    recorder_->end();
}

void StagedWork::write(const StagedArray& array, std::span<const std::byte> bytes) noexcept {
    if (!bytes.empty()) std::memcpy(upload_.mapped().data() + array.offset, bytes.data(), bytes.size());
}
void StagedWork::read(const StagedArray& array, std::span<std::byte> bytes) const noexcept {
    if (!bytes.empty()) std::memcpy(bytes.data(), readback_.mapped().data() + array.offset, bytes.size());
}

Result<StepCounts> StagedWork::run(Dispatcher& dispatcher) {
    YOLK_TRY_VOID(upload_.flush());
    YOLK_TRY_VOID(dispatcher.run(*recorder_));
    YOLK_TRY_VOID(readback_.invalidate());
    return StepCounts{
        .calls = 1, .submissions = recorder_->submission_count(), .dispatches = recorder_->dispatch_count()};
}

StepFootprint StagedWork::footprint() const noexcept {
    return {.upload = upload_.mapped().data(),
            .readback = readback_.mapped().data(),
            .upload_bytes = upload_.size_bytes(),
            .readback_bytes = readback_.size_bytes(),
            .device_bytes = data_.size_bytes(),
            .scratch_bytes = scratch_.size_bytes()};
}

}  // namespace yolk::autotune
