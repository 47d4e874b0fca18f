// SPDX-License-Identifier: Apache-2.0
// Modules for programs of rows, made at run time as those for programs of elements are (docs/adr/0061, 0068).
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/shaders/element_module.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// A program of rows, without its sizes. Values are counted: the inputs, the numbers, then the steps' results, of which
/// the last one is written.
struct RowCode {
    struct Run {
        ElementCode::Run of{};
        bool has_row = false;  ///< the row's dimension is one of it
        auto operator<=>(const Run&) const = default;
    };
    struct Input {
        std::vector<std::uint32_t> runs;  ///< outermost first; none: one element
        bool varies = false;              ///< along the row
        auto operator<=>(const Input&) const = default;
    };
    struct Step {
        std::string function{};  ///< "elementwise_add", "row_operand"; of a reduction "sum", "max", "min", "argmax"
        std::vector<std::uint32_t> operands{};
        bool is_reduction = false;  ///< of its one operand
        auto operator<=>(const Step&) const = default;
    };
    std::vector<Run> runs{};  ///< at most kMostRuns
    std::vector<Input> inputs{};
    std::uint32_t numbers = 0;  ///< that all elements share, in Params
    std::vector<Step> steps{};  ///< at least one reduction, at most kMostReductions
    bool is_last = false;       ///< the row's dimension is the last: its elements lie side by side
    auto operator<=>(const RowCode&) const = default;
};

/// By value: whether it varies along the row.
[[nodiscard]] std::vector<bool> varies_along_row(const RowCode& code);

/// `library`: row_program_by_group, _by_invocation or _by_invocation_texel, or for rows along the last dimension
/// row_program_quads or _quads_texel, where inputs that vary are vectors of four. Error (BadInput): the library lacks a
/// function or a name; no reduction, or too many.
[[nodiscard]] Result<std::vector<std::uint32_t>> make_row_module(std::span<const std::uint32_t> library,
                                                                 const RowCode& code);

}  // namespace yolk
