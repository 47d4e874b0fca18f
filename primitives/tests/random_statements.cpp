// SPDX-License-Identifier: Apache-2.0
// Statements of random environments.
#include <fmt/format.h>

#include "random_environment.hpp"
#include "random_words.hpp"

namespace yolk::testing {

using namespace random_words;

Statement RandomEnvironment::float_arithmetic(const Scope& scope) {
    const Variable* const to = any(scope.variables, Kind::Float);
    const auto a = expression(Kind::Float, scope, 2), b = expression(Kind::Float, scope, 2),
               c = leaf(Kind::Float, scope);
    const std::string name = fmt::format("t{}", names_++);
    const bool minus = below(2) == 0;
    return {fmt::format("exact_float {} = {} * {} {} {}; {} = limited({});", name, a.text, b.text, minus ? '-' : '+',
                        c.text, to->name, name),
            [a = a.value, b = b.value, c = c.value, minus, slot = to->slot](Frame& frame) {
                const float product = as_float(a(frame)) * as_float(b(frame));
                const float added = as_float(c(frame));
                frame[slot] = as_bits(limited(minus ? product - added : product + added));
            }};
}

Statement RandomEnvironment::assignment(const Scope& scope) {
    const Variable* const array = any(scope.arrays, Kind::Uint);
    const auto kind = static_cast<Kind>(below(3));
    const Expression value = expression(kind, scope, 4);
    if (array != nullptr && kind == Kind::Uint && below(4) == 0) {
        const Expression at = expression(Kind::Uint, scope, 1);
        return {fmt::format("{}[exact_index({}, 4u)] = {};", array->name, at.text, value.text),
                [at = at.value, value = value.value, slot = array->slot](Frame& frame) {
                    const std::uint32_t stored = value(frame);
                    frame[slot + exact::exact_index(at(frame), 4U)] = stored;
                }};
    }
    const Variable* const to = any(scope.variables, kind);
    const bool mixes = kind != Kind::Bool && below(3) == 0;
    return {fmt::format("{} {}= {};", to->name, mixes ? "^" : "", value.text),
            [value = value.value, slot = to->slot, mixes](Frame& frame) {
                const std::uint32_t with = value(frame);
                frame[slot] = mixes ? frame[slot] ^ with : with;
            }};
}

Statement RandomEnvironment::block(const Scope& scope, int depth, std::uint32_t count) {
    std::vector<Statement> all;
    std::string text;
    for (std::uint32_t i = 0; i < count; ++i) {
        all.push_back(statement(scope, depth));
        text += "    " + all.back().text + "\n";
    }
    return {text, [all](Frame& frame) {
                for (const Statement& one : all) one.run(frame);
            }};
}

Statement RandomEnvironment::branch(const Scope& scope, int depth) {
    const Expression condition = expression(Kind::Bool, scope, 2);
    const Statement yes = block(scope, depth, 1 + below(2)), no = block(scope, depth, 1 + below(2));
    return {fmt::format("if ({}) {{\n{}}} else {{\n{}}}", condition.text, yes.text, no.text),
            [condition = condition.value, yes, no](Frame& frame) { (condition(frame) != 0 ? yes : no).run(frame); }};
}

Statement RandomEnvironment::switched(const Scope& scope, int depth) {
    const Expression selector = expression(Kind::Uint, scope, 2);
    std::vector<Statement> cases;
    for (int i = 0; i < 3; ++i) cases.push_back(block(scope, depth, 1));
    return {fmt::format("switch ({} % 4u) {{\ncase 0u:\n{}break;\ncase 2u:\n{}break;\ndefault:\n{}break; }}",
                        selector.text, cases[0].text, cases[1].text, cases[2].text),
            [selector = selector.value, cases](Frame& frame) {
                const std::uint32_t which = selector(frame) % 4;
                cases[which == 0 ? 0 : which == 2 ? 1 : 2].run(frame);
            }};
}

/// An out and an inout parameter; the results first go to a variable that is declared without a value.
Statement RandomEnvironment::call_with_results(const Scope& scope) {
    const Expression given = expression(Kind::Uint, scope, 2);
    const Variable *const to = any(scope.variables, Kind::Uint), *const both = any(scope.variables, Kind::Int);
    const std::string name = fmt::format("r{}", names_++);
    return {fmt::format("uint {0}; g({1}, {0}, {2}); {3} = {0};", name, given.text, both->name, to->name),
            [this, given = given.value, slot = to->slot, in = both->slot](Frame& frame) {
                const auto [out, changed] = procedure_(given(frame), frame[in]);
                frame[in] = changed;
                frame[slot] = out;
            }};
}

Statement RandomEnvironment::statement(const Scope& scope, int depth) {
    switch (below(depth > 0 ? 8 : 5)) {
        case 0: return float_arithmetic(scope);
        case 1: return scope.calls ? call_with_results(scope) : assignment(scope);
        case 5: return branch(scope, depth - 1);
        case 6: return switched(scope, depth - 1);
        default: return assignment(scope);
    }
}

}  // namespace yolk::testing
