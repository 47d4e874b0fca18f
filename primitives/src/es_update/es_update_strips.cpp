// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/primitives/es_update_strips.hpp"

#include <algorithm>
#include <iterator>

#include "yolk/internal/abi/es_update.h"
#include "yolk/internal/abi/parameter_entry.h"
#include "yolk/internal/core/shape.hpp"

namespace yolk {

using abi::es_update::kTileEdge;

UpdateStrips::UpdateStrips(const ParameterTable& table, std::uint32_t rank) {
    std::uint64_t work = 0;
    for (std::uint32_t id = 0; id < table.parameters().size(); ++id) {
        const ParameterDesc& parameter = table.parameters()[id];
        if (parameter.perturbation == Perturbation::Frozen) continue;
        const bool is_vector = parameter.perturbation == Perturbation::Vector;
        const std::uint32_t elements = parameter.rows * parameter.columns;
        const std::uint32_t columns = is_vector ? 1 : parameter.columns;
        const Piece& piece = pieces_.emplace_back(
            Piece{.first_strip = count_,
                  .first_element = table.offset(ParameterId{id}),
                  .element_count = elements,
                  .elements_per_strip =
                      static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{kTileEdge} * columns, elements)),
                  .work_per_strip = is_vector ? 1 : kTileEdge * ceil_div(columns, kTileEdge) * rank_of(parameter, rank),
                  .work_before = work});
        const std::uint32_t strips = ceil_div(elements / columns, kTileEdge);
        count_ += strips;
        work += std::uint64_t{strips} * piece.work_per_strip;
    }
}

const UpdateStrips::Piece& UpdateStrips::piece_of(std::uint32_t strip) const noexcept {
    return *std::prev(std::ranges::upper_bound(pieces_, strip, {}, &Piece::first_strip));
}

ElementSpan UpdateStrips::elements(std::uint32_t first, std::uint32_t strips) const noexcept {
    if (strips == 0) return {};
    const Piece& from = piece_of(first);
    const Piece& to = piece_of(first + strips - 1);
    const std::uint32_t begin = from.first_element + (first - from.first_strip) * from.elements_per_strip;
    const std::uint64_t strips_of_last = first + strips - to.first_strip;
    const std::uint64_t of_last = std::min<std::uint64_t>(strips_of_last * to.elements_per_strip, to.element_count);
    return {.first = begin, .count = to.first_element + static_cast<std::uint32_t>(of_last) - begin};
}

std::uint64_t UpdateStrips::work_before(std::uint32_t strip) const noexcept {
    if (pieces_.empty()) return 0;
    const Piece& piece = piece_of(strip);
    return piece.work_before + std::uint64_t{strip - piece.first_strip} * piece.work_per_strip;
}

}  // namespace yolk
