// SPDX-License-Identifier: Apache-2.0
// What shares of an update's parameters are counted in (docs/kernels/es_update.md, "Shares"): the same for every
// configuration and device.
#pragma once

#include <cstdint>
#include <vector>

#include "yolk/internal/primitives/parameters.hpp"

namespace yolk {

/// Elements [first, first + count) of the parameters.
struct ElementSpan {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

/// The strips of a table, in its order: eight rows of a matrix, or eight elements of a vector; the last strip of a
/// parameter has what is left. Frozen parameters have none. Immutable.
class UpdateStrips {
   public:
    UpdateStrips() = default;
    /// `rank`: of matrices that say none; only the work depends on it.
    explicit UpdateStrips(const ParameterTable& table, std::uint32_t rank = 1);

    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
    /// From the first element of strip `first` to the last of strip `first + strips - 1`, with the frozen parameters
    /// that lie between them. `first + strips` is at most count().
    [[nodiscard]] ElementSpan elements(std::uint32_t first, std::uint32_t strips) const noexcept;
    /// Work of the strips before this one, at most count(): 8 r for each 8 x 8 elements of a matrix of rank r that are
    /// begun, 1 for each 8 of a vector.
    [[nodiscard]] std::uint64_t work_before(std::uint32_t strip) const noexcept;

   private:
    struct Piece {  // one parameter that is not frozen
        std::uint32_t first_strip = 0;
        std::uint32_t first_element = 0;
        std::uint32_t element_count = 0;
        std::uint32_t elements_per_strip = 0;
        std::uint32_t work_per_strip = 0;
        std::uint64_t work_before = 0;
    };
    [[nodiscard]] const Piece& piece_of(std::uint32_t strip) const noexcept;

    std::vector<Piece> pieces_;
    std::uint32_t count_ = 0;
};

}  // namespace yolk
