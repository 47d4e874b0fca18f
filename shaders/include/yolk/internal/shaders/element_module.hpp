// SPDX-License-Identifier: Apache-2.0
// Modules made at run time of one that was compiled with the program (docs/adr/0061): the body of a function is
// replaced, functions that nothing calls any more are left out. No compiler runs, and every operation on floats is one
// of the functions that the tests of the catalogue have read.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "yolk/result.hpp"

namespace yolk {

/// A program of elementwise operations, without its sizes. Values are counted: the inputs, the numbers, then the steps'
/// results, of which the last one is written.
struct ElementCode {
    /// Consecutive dimensions that an input keeps (Params of yolk/internal/abi/elementwise.h).
    struct Run {
        bool has_inner = false;  ///< dimensions follow that it does not have
        bool has_outer = false;  ///< dimensions precede
        auto operator<=>(const Run&) const = default;
    };
    struct Input {
        std::vector<std::uint32_t> runs;  ///< outermost first; none: one element
        bool is_repeated = false;         ///< it lacks the last dimension
        auto operator<=>(const Input&) const = default;
    };
    struct Step {
        std::string function;  ///< "add": elementwise_add of exact_operations.h
        std::vector<std::uint32_t> operands;
        auto operator<=>(const Step&) const = default;
    };
    std::vector<Run> runs;  ///< at most kMostRuns
    std::vector<Input> inputs;
    std::uint32_t numbers = 0;  ///< that all elements share, in Params
    std::vector<Step> steps;    ///< at least one
    /// Of four elements: the steps are written out for each, in place of a loop that chooses the element at run time.
    bool is_unrolled = false;
    auto operator<=>(const ElementCode&) const = default;
};

/// `library`: elementwise, or elementwise_quads for vectors of four elements, or one of the two whose inputs
/// are texel buffers: of vectors, unless they are repeated. Error (BadInput): it lacks something: a function, a name.
[[nodiscard]] Result<std::vector<std::uint32_t>> make_element_module(std::span<const std::uint32_t> library,
                                                                     const ElementCode& code);

}  // namespace yolk
