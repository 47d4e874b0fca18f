// SPDX-License-Identifier: Apache-2.0
// Staging of uploads and downloads: pieces of one buffer that are filled, copied and emptied in turn, so that the host
// copies one piece while the device copies others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "copy_team.hpp"
#include "yolk/device.hpp"
#include "yolk/internal/runtime/buffer.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// Of one direction; made by the first transfer that needs it, as large as the largest transfer so far wanted it, up to
/// kMostBytes. One transfer at a time uses it, and leaves none of its pieces in use.
class StagingRing {
   public:
    static constexpr std::size_t kMostPieces = 4;
    /// The device copies one in about the time that a submission takes the host (40 us at 25 GB/s). Two pieces would
    /// keep both at work; the others cover what delays one of them.
    static constexpr std::size_t kPieceBytes = std::size_t{1} << 20U;
    /// Of large transfers, whose pieces are an eighth of them: waking threads, submissions and waits of tens of
    /// microseconds each are little beside the 160 us that PCIe 5 takes for one.
    static constexpr std::size_t kLargestPieceBytes = std::size_t{8} << 20U;
    static constexpr std::size_t kPiecesOfTransfer = 8;
    static constexpr std::size_t kMostBytes = kMostPieces * kLargestPieceBytes;
    /// Of the buffer, and of a piece: what remains where memory is short.
    static constexpr std::size_t kSmallestBytes = std::size_t{64} << 10U;

    StagingRing(MemoryDomain domain, const char* label) noexcept : domain_(domain), label_(label) {}

    /// Before each transfer of `bytes`: makes the buffer or a larger one, half as large and half of that where memory
    /// is short, and cuts it: one piece for what fits into kPieceBytes. Errors: as Device::create_buffer, where there
    /// is none.
    [[nodiscard]] Result<void> prepare(const Device& device, std::size_t bytes);

    [[nodiscard]] std::size_t pieces() const noexcept { return pieces_; }
    [[nodiscard]] std::size_t piece_bytes() const noexcept { return piece_bytes_; }
    /// The first `bytes` of a piece.
    [[nodiscard]] BufferView piece(std::size_t index, std::size_t bytes) const noexcept {
        return {buffer_, index * piece_bytes_, bytes};
    }

   private:
    MemoryDomain domain_;
    const char* label_;
    Buffer buffer_;
    std::size_t pieces_ = 1;
    std::size_t piece_bytes_ = 0;
};

/// All that a dispatcher moves bytes with. A piece has a recorder of its own, which both directions use.
struct Transfers {
    StagingRing up{MemoryDomain::Upload, "upload staging"};
    StagingRing down{MemoryDomain::Readback, "download staging"};
    std::array<std::optional<Recorder>, StagingRing::kMostPieces> recorders;  ///< made on first use
    std::array<std::uint64_t, StagingRing::kMostPieces> in_flight{};          ///< serials of copies; 0: none
    std::optional<CopyTeam> team;  ///< made by the first transfer of several pieces
};

}  // namespace yolk
