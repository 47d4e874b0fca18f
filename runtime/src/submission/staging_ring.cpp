// SPDX-License-Identifier: Apache-2.0
#include "staging_ring.hpp"

#include <algorithm>
#include <bit>

namespace yolk {

Result<void> StagingRing::prepare(const Device& device, std::size_t bytes) {
    const bool small = bytes <= kPieceBytes;
    const std::size_t wanted_piece =
        small ? std::max(std::bit_ceil(bytes), kSmallestBytes)
              : std::clamp(std::bit_floor(bytes / kPiecesOfTransfer), kPieceBytes, kLargestPieceBytes);
    const std::size_t wanted = small ? wanted_piece : kMostPieces * wanted_piece;
    const std::size_t before = buffer_.size_bytes();
    for (std::size_t size = wanted; size > before; size /= 2) {
        auto made = device.create_buffer({.size_bytes = size, .domain = domain_, .label = label_});
        if (made) {
            buffer_ = *std::move(made);
            break;
        }
        const bool smaller_may_fit = made.error().kind == ErrorKind::OutOfMemory && size > kSmallestBytes;
        if (!smaller_may_fit) return std::move(made).error();
    }
    const std::size_t size = buffer_.size_bytes();
    pieces_ = small && bytes <= size ? 1 : std::min(kMostPieces, size / kSmallestBytes);
    piece_bytes_ = small ? size / pieces_ : std::min(wanted_piece, size / pieces_);
    return {};
}

}  // namespace yolk
