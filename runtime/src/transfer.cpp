// SPDX-License-Identifier: Apache-2.0
// Dispatcher::upload and download: through the mapping where the caller may have it, else through staging.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "buffer_impl.hpp"
#include "device_impl.hpp"
#include "dispatcher_impl.hpp"

namespace yolk {
namespace {

/// Staging goes piece by piece, so that a transfer of gigabytes does not need as much host-visible memory.
constexpr std::size_t kStagingBytes = std::size_t{32} << 20U;
constexpr std::size_t kSmallestStagingBytes = std::size_t{64} << 10U;

Result<void> check_transfer(const Device& device, const BufferView& view, std::size_t bytes, const char* what) {
    if (view.buffer == nullptr) {
        return bad_input("Cannot {} {} bytes: the view has no buffer.", what, bytes);
    }
    const std::uint64_t whole = view.buffer->size_bytes;
    if (view.offset_bytes > whole || view.size_bytes > whole - view.offset_bytes || bytes > view.size_bytes) {
        return bad_input("Cannot {} {} bytes: the view has {} at offset {} of the buffer [{}] of {} bytes.", what,
                         bytes, view.size_bytes, view.offset_bytes, view.buffer->label, whole);
    }
    if (view.buffer->device != device.impl()) {
        return bad_input("Cannot {}: the buffer [{}] was made by another device.", what, view.buffer->label);
    }
    return {};
}

/// For pieces of `bytes`, or smaller ones where memory is short: the transfer then takes more of them.
Result<Buffer> create_staging(const Device& device, std::size_t bytes, MemoryDomain domain, const char* label) {
    for (std::size_t piece = std::min(bytes, kStagingBytes);; piece = std::max(piece / 2, kSmallestStagingBytes)) {
        auto staging = device.create_buffer({.size_bytes = piece, .domain = domain, .label = label});
        const bool smaller_may_fit =
            !staging && staging.error().kind == ErrorKind::OutOfMemory && piece > kSmallestStagingBytes;
        if (!smaller_may_fit) return staging;
    }
}

Result<Recorder*> transfer_recorder(std::optional<Recorder>& slot, const Device& device) {
    if (!slot) {
        YOLK_TRY(auto made, Recorder::create(device, {.timestamp_count = 0, .label = "transfer"}));
        slot = std::move(made);
    }
    slot->begin();
    return &*slot;
}

}  // namespace

Result<void> Dispatcher::upload(const BufferView& to, std::span<const std::byte> bytes) {
    if (bytes.empty()) return {};
    YOLK_TRY_VOID(check_transfer(impl_->device, to, bytes.size(), "upload"));
    const DeviceContext& context = impl_->device.impl()->context;
    if (!context.health.good())
        return context.failed(fmt::format("upload {} bytes to the buffer [{}]", bytes.size(), to.buffer->label));
    const std::lock_guard lock(impl_->transfer_mutex);
    impl_->device.counters().bytes_uploaded.fetch_add(bytes.size());
    const Buffer::Impl& target = *to.buffer;
    if (target.host_access) {
        // Earlier submissions may still read what is there.
        if (const std::uint64_t last = impl_->last(); last > 0) YOLK_TRY_VOID(impl_->wait_or_give_up(last));
        std::memcpy(target.host + to.offset_bytes, bytes.data(), bytes.size());
        return target.flush(to.offset_bytes, bytes.size());
    }
    YOLK_TRY(const Buffer staging, create_staging(impl_->device, bytes.size(), MemoryDomain::Upload, "upload staging"));
    const std::size_t piece = staging.size_bytes();
    for (std::size_t done = 0; done < bytes.size(); done += piece) {
        const std::size_t now = std::min(piece, bytes.size() - done);
        std::memcpy(staging.mapped().data(), bytes.data() + done, now);
        YOLK_TRY_VOID(staging.flush());
        YOLK_TRY(Recorder* const recorder, transfer_recorder(impl_->transfer, impl_->device));
        recorder->copy({staging, 0, now}, to.part(done, now));
        YOLK_TRY_VOID(run(*recorder));
    }
    return {};
}

Result<void> Dispatcher::download(const BufferView& from, std::span<std::byte> bytes) {
    if (bytes.empty()) return {};
    YOLK_TRY_VOID(check_transfer(impl_->device, from, bytes.size(), "download"));
    const DeviceContext& context = impl_->device.impl()->context;
    if (!context.health.good()) {
        return context.failed(fmt::format("download {} bytes of the buffer [{}]", bytes.size(), from.buffer->label));
    }
    const std::lock_guard lock(impl_->transfer_mutex);
    impl_->device.counters().bytes_downloaded.fetch_add(bytes.size());
    const Buffer::Impl& source = *from.buffer;
    if (source.host_access) {
        // The barrier makes what kernels wrote visible to the host, whether or not their recording did.
        YOLK_TRY(Recorder* const recorder, transfer_recorder(impl_->transfer, impl_->device));
        recorder->barrier(Barrier::ToHost);
        YOLK_TRY_VOID(run(*recorder));
        YOLK_TRY_VOID(source.invalidate(from.offset_bytes, bytes.size()));
        std::memcpy(bytes.data(), source.host + from.offset_bytes, bytes.size());
        return {};
    }
    YOLK_TRY(const Buffer staging,
             create_staging(impl_->device, bytes.size(), MemoryDomain::Readback, "download staging"));
    const std::size_t piece = staging.size_bytes();
    for (std::size_t done = 0; done < bytes.size(); done += piece) {
        const std::size_t now = std::min(piece, bytes.size() - done);
        YOLK_TRY(Recorder* const recorder, transfer_recorder(impl_->transfer, impl_->device));
        recorder->copy(from.part(done, now), {staging, 0, now});
        recorder->barrier(Barrier::ToHost);
        YOLK_TRY_VOID(run(*recorder));
        YOLK_TRY_VOID(staging.invalidate());
        std::memcpy(bytes.data() + done, staging.mapped().data(), now);
    }
    return {};
}

}  // namespace yolk
