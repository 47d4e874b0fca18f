// SPDX-License-Identifier: Apache-2.0
// Dispatcher::upload and download: through the mapping where the caller may have it, else through staging.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "buffer_impl.hpp"
#include "device_impl.hpp"
#include "dispatcher_impl.hpp"

namespace yolk {
namespace {

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

Result<Recorder*> transfer_recorder(Dispatcher::Impl& impl, std::size_t piece) {
    std::optional<Recorder>& slot = impl.transfers.recorders[piece];
    if (!slot) {
        YOLK_TRY(auto made, Recorder::create(impl.device, {.timestamp_count = 0, .label = "transfer"}));
        slot = std::move(made);
    }
    slot->begin();
    return &*slot;
}

enum class Direction { Up, Down };

/// Leaves a copy between a piece of staging and the caller's view in flight.
Result<void> submit_copy(Dispatcher& dispatcher, Dispatcher::Impl& impl, std::size_t piece, Direction direction,
                         const BufferView& view) {
    YOLK_TRY(Recorder* const recorder, transfer_recorder(impl, piece));
    if (direction == Direction::Up) {
        recorder->copy(impl.transfers.up.piece(piece, view.size_bytes), view);
    } else {
        recorder->copy(view, impl.transfers.down.piece(piece, view.size_bytes));
        recorder->barrier(Barrier::ToHost);
    }
    YOLK_TRY(const Submission submission, dispatcher.submit(*recorder));
    impl.transfers.in_flight[piece] = submission.serial.value;
    return {};
}

Result<void> wait_for_copy(Dispatcher::Impl& impl, std::size_t piece) {
    const std::uint64_t serial = std::exchange(impl.transfers.in_flight[piece], 0);
    return serial == 0 ? Result<void>() : impl.wait_or_give_up(serial);
}

/// Between staging and the caller's bytes. Threads are started by the first transfer of more than one piece: programs
/// that move little have none.
void copy_on_host(Dispatcher::Impl& impl, bool pieces, std::span<std::byte> to, std::span<const std::byte> from) {
    std::optional<CopyTeam>& team = impl.transfers.team;
    if (pieces && !team) team.emplace(CopyTeam::helpers_for(std::thread::hardware_concurrency()));
    if (team) return team->copy(to, from);
    std::memcpy(to.data(), from.data(), from.size());
}

Result<void> staged_upload(Dispatcher& dispatcher, Dispatcher::Impl& impl, const BufferView& to,
                           std::span<const std::byte> bytes) {
    StagingRing& ring = impl.transfers.up;
    YOLK_TRY_VOID(ring.prepare(impl.device, bytes.size()));
    std::size_t piece = 0;
    for (std::size_t done = 0; done < bytes.size(); done += ring.piece_bytes()) {
        const std::size_t now = std::min(ring.piece_bytes(), bytes.size() - done);
        YOLK_TRY_VOID(wait_for_copy(impl, piece));
        const BufferView staging = ring.piece(piece, now);
        copy_on_host(impl, ring.pieces() > 1, staging.mapped(), bytes.subspan(done, now));
        YOLK_TRY_VOID(staging.buffer->flush(staging.offset_bytes, now));
        YOLK_TRY_VOID(submit_copy(dispatcher, impl, piece, Direction::Up, to.part(done, now)));
        piece = (piece + 1) % ring.pieces();
    }
    for (std::size_t i = 0; i < ring.pieces(); ++i) YOLK_TRY_VOID(wait_for_copy(impl, (piece + i) % ring.pieces()));
    return {};
}

Result<void> staged_download(Dispatcher& dispatcher, Dispatcher::Impl& impl, const BufferView& from,
                             std::span<std::byte> bytes) {
    StagingRing& ring = impl.transfers.down;
    YOLK_TRY_VOID(ring.prepare(impl.device, bytes.size()));
    const std::size_t whole = ring.piece_bytes();
    std::size_t asked = 0;  // bytes whose copy was submitted
    std::size_t piece = 0;
    for (std::size_t taken = 0; taken < bytes.size(); taken += whole, piece = (piece + 1) % ring.pieces()) {
        // All pieces are kept busy; the next to be emptied is the one that was asked for first.
        for (; asked < bytes.size() && asked < taken + ring.pieces() * whole; asked += whole) {
            const BufferView part = from.part(asked, std::min(whole, bytes.size() - asked));
            YOLK_TRY_VOID(submit_copy(dispatcher, impl, asked / whole % ring.pieces(), Direction::Down, part));
        }
        YOLK_TRY_VOID(wait_for_copy(impl, piece));
        const BufferView staging = ring.piece(piece, std::min(whole, bytes.size() - taken));
        YOLK_TRY_VOID(staging.buffer->invalidate(staging.offset_bytes, staging.size_bytes));
        copy_on_host(impl, ring.pieces() > 1, bytes.subspan(taken), staging.mapped().first(staging.size_bytes));
    }
    return {};
}

/// The caller may free his view, and the next transfer reuses the pieces: nothing of a transfer that went wrong runs
/// on.
Result<void> settled(Dispatcher::Impl& impl, Result<void> result) {
    if (result) return result;
    for (std::optional<Recorder>& recorder : impl.transfers.recorders)
        if (recorder) recorder->impl()->settle();
    impl.transfers.in_flight.fill(0);
    return result;
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
    return settled(*impl_, staged_upload(*this, *impl_, to, bytes));
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
        YOLK_TRY(Recorder* const recorder, transfer_recorder(*impl_, 0));
        recorder->barrier(Barrier::ToHost);
        YOLK_TRY_VOID(run(*recorder));
        YOLK_TRY_VOID(source.invalidate(from.offset_bytes, bytes.size()));
        std::memcpy(bytes.data(), source.host + from.offset_bytes, bytes.size());
        return {};
    }
    return settled(*impl_, staged_download(*this, *impl_, from, bytes));
}

}  // namespace yolk
