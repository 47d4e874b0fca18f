// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/runtime/buffer.hpp"

namespace yolk {

/// Pieces of a scratch view, each aligned, one behind the other.
class ScratchPieces {
   public:
    /// The offset of the next piece.
    [[nodiscard]] std::uint64_t add(std::uint64_t size_bytes) noexcept {
        const std::uint64_t offset = size_bytes_;
        size_bytes_ += round_up(size_bytes, kViewAlignment);
        return offset;
    }
    [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_bytes_; }

   private:
    std::uint64_t size_bytes_ = 0;
};

}  // namespace yolk
