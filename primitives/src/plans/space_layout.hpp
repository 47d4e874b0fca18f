// SPDX-License-Identifier: Apache-2.0
// How the inputs of a program lie in its space: kernels made at run time address them by runs of dimensions.
#pragma once

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "yolk/internal/primitives/operation.hpp"
#include "yolk/internal/shaders/element_module.hpp"

namespace yolk {

/// Dimensions from `first` to `last`, both included.
struct DimensionRun {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    auto operator<=>(const DimensionRun&) const = default;
};

struct SpaceLayout {
    std::vector<std::uint64_t> extents;              ///< of dimensions that no input tells apart, multiplied
    std::vector<DimensionRun> runs;                  ///< in extents
    std::vector<std::vector<std::uint32_t>> inputs;  ///< of each its runs, outermost first
    std::vector<bool> is_repeated;                   ///< by input: it lacks the last dimension
    std::uint32_t row = 0;                           ///< in extents, where one was given

    [[nodiscard]] ElementCode::Run code_of(const DimensionRun& run) const {
        return {.has_inner = run.last + 1 < extents.size(), .has_outer = run.first > 0};
    }
};
/// `inputs`: bit d: it has dimension d. `row`: a dimension that stays one of its own.
[[nodiscard]] SpaceLayout space_layout(std::span<const std::uint32_t> extents, std::span<const std::uint32_t> inputs,
                                       std::optional<std::uint32_t> row = {});

/// The product of the extents from `first` to before `end`.
[[nodiscard]] std::uint64_t extents_product(std::span<const std::uint64_t> extents, std::size_t first,
                                            std::size_t end) noexcept;

struct Quotient {
    std::uint32_t factor = 0;
    std::uint32_t shift = 0;
};
/// floor(n / d) = floor(4 n factor / 2^(32 + shift)) for n below 2^30: factor d - 2^(30 + shift) is below d, and so at
/// most 2^shift.
[[nodiscard]] Quotient quotient_by(std::uint64_t divisor) noexcept;

/// Fills in what an ABI's Params have of runs and numbers.
template <class Params>
void set_runs(Params& params, const SpaceLayout& layout, std::span<const float> numbers) {
    const std::size_t rank = layout.extents.size();
    for (std::size_t r = 0; r < layout.runs.size(); ++r) {
        const DimensionRun& run = layout.runs[r];
        const std::uint64_t inner = extents_product(layout.extents, run.last + 1, rank);
        const std::uint64_t size = extents_product(layout.extents, run.first, run.last + 1);
        const auto [inner_factor, inner_shift] = quotient_by(inner);
        const auto [outer_factor, outer_shift] = quotient_by(inner * size);
        params.inner_factor[r] = inner_factor;
        params.inner_shift[r] = inner_shift;
        params.outer_factor[r] = outer_factor;
        params.outer_shift[r] = outer_shift;
        params.size[r] = static_cast<std::uint32_t>(size);
    }
    for (std::size_t n = 0; n < numbers.size(); ++n) params.numbers[n] = std::bit_cast<std::uint32_t>(numbers[n]);
}

/// The views of a program's inputs, 4-byte elements.
[[nodiscard]] std::vector<ViewShape> program_input_views(std::span<const std::uint32_t> extents,
                                                         std::span<const std::uint32_t> inputs);
/// Elements of an input.
[[nodiscard]] std::uint64_t input_elements(std::span<const std::uint32_t> extents, std::uint32_t input) noexcept;

}  // namespace yolk
