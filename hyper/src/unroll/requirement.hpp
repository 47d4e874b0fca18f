// SPDX-License-Identifier: Apache-2.0
// What a branch or a loop would refuse when it runs, as an equation of its own: the unrolled form has no other place
// for the error. No user's graph has it.
#pragma once

#include <cstdint>
#include <string>

#include "yolk/internal/hyper/graph.hpp"

namespace yolk::hyper::population {

/// (value: a number or a tensor of one element) -> value. Attributes: `below`, an integer; `of`, the operation that it
/// stands for; `message`, what its error says, in which {} is the value; `input`, 1 where that is bad input. Error when
/// it runs: the value is no whole number from 0 to below - 1.
[[nodiscard]] const Operation& requirement();
[[nodiscard]] inline bool is_requirement(const Equation& equation) { return equation.operation == &requirement(); }

struct Requirement {
    std::int64_t below = 1;
    std::string of;
    std::string message;
    bool is_input = false;  ///< its error is of what was given, not of what came out
};
[[nodiscard]] Equation require(Atom value, Requirement wanted);
[[nodiscard]] bool is_met(double value, std::int64_t below) noexcept;
[[nodiscard]] std::int64_t bound_of(const Equation& equation);

}  // namespace yolk::hyper::population
