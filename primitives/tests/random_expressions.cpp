// SPDX-License-Identifier: Apache-2.0
// Expressions of random environments.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "random_environment.hpp"
#include "random_words.hpp"

namespace yolk::testing {

using namespace random_words;

namespace {

template <class Operation>
Expression one(const char* form, const Expression& a, Operation operation) {
    return {fmt::format(fmt::runtime(form), a.text),
            [a = a.value, operation](const Frame& frame) -> Word { return operation(a(frame)); }};
}
template <class Operation>
Expression two(const char* form, const Expression& a, const Expression& b, Operation operation) {
    return {
        fmt::format(fmt::runtime(form), a.text, b.text),
        [a = a.value, b = b.value, operation](const Frame& frame) -> Word { return operation(a(frame), b(frame)); }};
}
template <class Operation>
Expression three(const char* form, const Expression& a, const Expression& b, const Expression& c, Operation operation) {
    return {fmt::format(fmt::runtime(form), a.text, b.text, c.text),
            [a = a.value, b = b.value, c = c.value, operation](const Frame& frame) -> Word {
                return operation(a(frame), b(frame), c(frame));
            }};
}

Expression constant(Kind kind, Word bits) {
    std::string text = fmt::format("0x{:X}u", bits);
    if (kind == Kind::Int) text = fmt::format("int(0x{:X}u)", bits);
    if (kind == Kind::Bool) text = bits != 0 ? "true" : "false";
    if (kind == Kind::Float) text = fmt::format("exact_from_bits(0x{:X}u)", bits);
    return {text, [bits](const Frame&) { return bits; }};
}

Word reversed(Word x) {
    Word all = 0;
    for (int i = 0; i < 32; ++i) all |= (x >> i & 1U) << (31 - i);
    return all;
}
Word find_msb(Word x) { return x == 0 ? ~Word{0} : static_cast<Word>(31 - std::countl_zero(x)); }
Word find_lsb(Word x) { return x == 0 ? ~Word{0} : static_cast<Word>(std::countr_zero(x)); }

}  // namespace

Word RandomEnvironment::literal() {
    constexpr std::array<Word, 12> kEdges{0,  1,          2,          7,          31,         32,
                                          33, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF};
    return below(2) == 0 ? kEdges[below(kEdges.size())] : static_cast<Word>(random_() >> below(32));
}

const Variable* RandomEnvironment::any(const std::vector<Variable>& of, Kind kind) {
    std::vector<const Variable*> fitting;
    for (const Variable& variable : of) {
        if (variable.kind == kind) fitting.push_back(&variable);
    }
    return fitting.empty() ? nullptr : fitting[below(static_cast<Word>(fitting.size()))];
}

Expression RandomEnvironment::leaf(Kind kind, const Scope& scope) {
    const Variable* const variable = any(scope.variables, kind);
    if (variable != nullptr && below(4) != 0)
        return {variable->name, [slot = variable->slot](const Frame& frame) { return frame[slot]; }};
    if (kind == Kind::Bool) return constant(kind, below(2));
    // From 2^-6 to below 2^6, of either sign: within what may be multiplied.
    if (kind == Kind::Float) return constant(kind, (121 + below(12)) << 23 | below(1U << 23) | below(2) << 31);
    return constant(kind, literal());
}

Expression RandomEnvironment::expression(Kind kind, const Scope& scope, int depth) {
    if (depth <= 0) return leaf(kind, scope);
    if (below(10) == 0) return chosen(kind, scope, depth - 1);
    switch (kind) {
        case Kind::Uint: return of_uint(scope, depth - 1);
        case Kind::Int: return of_int(scope, depth - 1);
        case Kind::Bool: return of_bool(scope, depth - 1);
        default: return of_float(scope, depth - 1);
    }
}

Expression RandomEnvironment::chosen(Kind kind, const Scope& scope, int depth) {
    return three("({} ? {} : {})", expression(Kind::Bool, scope, depth), expression(kind, scope, depth),
                 expression(kind, scope, depth), [](Word c, Word a, Word b) { return c != 0 ? a : b; });
}

Expression RandomEnvironment::of_uint(const Scope& scope, int depth) {
    const auto a = expression(Kind::Uint, scope, depth), b = expression(Kind::Uint, scope, depth);
    const Expression by = constant(Kind::Uint, 1 + below(40)), places = constant(Kind::Uint, below(32));
    switch (below(18)) {
        case 0: return two("({} + {})", a, b, [](Word x, Word y) { return x + y; });
        case 1: return two("({} - {})", a, b, [](Word x, Word y) { return x - y; });
        case 2: return two("({} * {})", a, b, [](Word x, Word y) { return x * y; });
        case 3: return two("({} & {})", a, b, [](Word x, Word y) { return x & y; });
        case 4: return two("({} | {})", a, b, [](Word x, Word y) { return x | y; });
        case 5: return two("({} ^ {})", a, b, [](Word x, Word y) { return x ^ y; });
        case 6: return one("(~{})", a, [](Word x) { return ~x; });
        case 7: return two("({} << {})", a, places, [](Word x, Word y) { return x << y; });
        case 8: return two("({} >> ({} & 31u))", a, b, [](Word x, Word y) { return x >> (y & 31); });
        case 9: return two("({} / {})", a, by, [](Word x, Word y) { return x / y; });
        case 10: return two("({} % {})", a, by, [](Word x, Word y) { return x % y; });
        case 11: return two("({} % max({}, 1u))", a, b, [](Word x, Word y) { return x % std::max(y, Word{1}); });
        case 12:
            return two("(uvec2({0}, {1}) * uvec2({1}) + uvec2(1u, 2u)).y", a, b,
                       [](Word, Word y) { return y * y + 2; });
        case 13:
            return two("uvec3({0}, {1}, 5u)[{1} % 3u]", a, b, [](Word x, Word y) {
                return std::array{x, y, Word{5}}[y % 3];
            });
        case 14: return one("uint({})", expression(Kind::Int, scope, depth), [](Word x) { return x; });
        case 15: return one("uint({})", expression(Kind::Bool, scope, depth), [](Word x) { return x; });
        case 16: return uint_by_built_in(scope, depth);
        default: return uint_by_helper(scope, depth);
    }
}

Expression RandomEnvironment::uint_by_helper(const Scope& scope, int depth) {
    using namespace exact;
    const auto a = expression(Kind::Uint, scope, depth), b = expression(Kind::Uint, scope, depth),
               c = expression(Kind::Uint, scope, depth);
    const Variable* const array = any(scope.arrays, Kind::Uint);
    switch (below(12)) {
        case 0: return two("exact_divide({}, {})", a, b, [](Word x, Word y) { return exact_divide(x, y); });
        case 1: return two("exact_remainder({}, {})", a, b, [](Word x, Word y) { return exact_remainder(x, y); });
        case 2: return two("exact_shift_left({}, {})", a, b, [](Word x, Word y) { return exact_shift_left(x, y); });
        case 3: return two("exact_shift_right({}, {})", a, b, [](Word x, Word y) { return exact_shift_right(x, y); });
        case 4:
            return three("exact_extract_bits({}, {}, {})", a, b, c,
                         [](Word x, Word y, Word z) { return exact_extract_bits(x, y, z); });
        case 5:
            return three("exact_insert_bits({}, {}, {} % 40u, 11u)", a, b, c,
                         [](Word x, Word y, Word z) { return exact_insert_bits(x, y, z % 40, 11); });
        case 6:
            return one("exact_to_uint({})", expression(Kind::Float, scope, depth),
                       [](Word x) { return exact_to_uint(as_float(x)); });
        case 7:
            // Any number but denormal ones, infinities and NaN.
            return one("exact_to_uint(exact_from_bits(({} & 0x3FFFFFFFu) + 0x20000000u))", a,
                       [](Word x) { return exact_to_uint(as_float((x & 0x3FFFFFFF) + 0x20000000)); });
        case 8: return one("exact_bits({})", leaf(Kind::Float, scope), [](Word x) { return x; });
        case 9:
            if (array == nullptr) break;
            return {fmt::format("{}[{} % 4u]", array->name, a.text),
                    [a = a.value, slot = array->slot](const Frame& frame) { return frame[slot + a(frame) % 4]; }};
        case 10:
            if (!scope.calls) break;
            return two("f({}, {})", a, b, [this](Word x, Word y) { return function_(x, y); });
        default: break;
    }
    const auto count = static_cast<Word>(table_.size());
    return {fmt::format("kTable[exact_index({}, {}u)]", a.text, count),
            [a = a.value, this, count](const Frame& frame) { return table_[exact_index(a(frame), count)]; }};
}

Expression RandomEnvironment::uint_by_built_in(const Scope& scope, int depth) {
    const auto a = expression(Kind::Uint, scope, depth), b = expression(Kind::Uint, scope, depth);
    const Word offset = below(32), count = below(33 - offset);
    const Word mask = count == 32 ? ~Word{0} : (Word{1} << count) - 1;
    switch (below(9)) {
        case 0: return two("min({}, {})", a, b, [](Word x, Word y) { return std::min(x, y); });
        case 1: return two("max({}, {})", a, b, [](Word x, Word y) { return std::max(x, y); });
        case 2: return one("clamp({}, 3u, 900u)", a, [](Word x) { return std::clamp(x, Word{3}, Word{900}); });
        case 3: return one("uint(bitCount({}))", a, [](Word x) { return static_cast<Word>(std::popcount(x)); });
        case 4: return one("uint(findLSB({}))", a, find_lsb);
        case 5: return one("uint(findMSB({}))", a, find_msb);
        case 6: return one("bitfieldReverse({})", a, reversed);
        case 7:
            return {fmt::format("bitfieldExtract({}, {}, {})", a.text, offset, count),
                    [a = a.value, offset, mask](const Frame& frame) { return a(frame) >> offset & mask; }};
        default:
            return {fmt::format("bitfieldInsert({}, {}, {}, {})", a.text, b.text, offset, count),
                    [a = a.value, b = b.value, offset, mask](const Frame& frame) {
                        return (a(frame) & ~(mask << offset)) | (b(frame) & mask) << offset;
                    }};
    }
}

Expression RandomEnvironment::of_int(const Scope& scope, int depth) {
    using namespace exact;
    const auto a = expression(Kind::Int, scope, depth), b = expression(Kind::Int, scope, depth);
    const Expression by = constant(Kind::Int, 1 + below(40));
    const auto u = expression(Kind::Uint, scope, depth);
    switch (below(20)) {
        case 0: return two("({} + {})", a, b, [](Word x, Word y) { return x + y; });
        case 1: return two("({} - {})", a, b, [](Word x, Word y) { return x - y; });
        case 2: return two("({} * {})", a, b, [](Word x, Word y) { return x * y; });
        case 3: return two("({} ^ {})", a, b, [](Word x, Word y) { return x ^ y; });
        case 4: return one("(-{})", a, [](Word x) { return 0 - x; });
        case 5: return one("(~{})", a, [](Word x) { return ~x; });
        case 6: return one("({} >> 5)", a, [](Word x) { return as_word(as_int(x) >> 5); });
        case 7: return two("(({} & 0xFFFF) / {})", a, by, [](Word x, Word y) { return (x & 0xFFFF) / y; });
        case 8: return two("(({} & 0x7FFFFFFF) % {})", a, by, [](Word x, Word y) { return (x & 0x7FFFFFFF) % y; });
        case 9:
            return two("exact_divide({}, {})", a, b,
                       [](Word x, Word y) { return as_word(exact_divide(as_int(x), as_int(y))); });
        case 10:
            return two("exact_remainder({}, {})", a, b,
                       [](Word x, Word y) { return as_word(exact_remainder(as_int(x), as_int(y))); });
        case 11:
            return two("exact_shift_right({}, {})", a, u,
                       [](Word x, Word y) { return as_word(exact_shift_right(as_int(x), y)); });
        case 12:
            return one("exact_to_int({})", expression(Kind::Float, scope, depth),
                       [](Word x) { return as_word(exact_to_int(as_float(x))); });
        case 13: return one("exact_index({}, 9)", a, [](Word x) { return as_word(exact_index(as_int(x), 9)); });
        case 14: return one("int({})", u, [](Word x) { return x; });
        case 15:
            return two("min({}, {})", a, b, [](Word x, Word y) { return as_word(std::min(as_int(x), as_int(y))); });
        case 16: return one("clamp({}, -70, 3)", a, [](Word x) { return as_word(std::clamp(as_int(x), -70, 3)); });
        case 17: return one("abs({})", a, [](Word x) { return as_int(x) < 0 ? 0 - x : x; });
        case 18: return one("sign({})", a, [](Word x) { return as_word(as_int(x) > 0 ? 1 : as_int(x) < 0 ? -1 : 0); });
        default: return one("findMSB({})", a, [](Word x) { return find_msb(as_int(x) < 0 ? ~x : x); });
    }
}

Expression RandomEnvironment::of_bool(const Scope& scope, int depth) {
    const auto p = expression(Kind::Bool, scope, depth), q = expression(Kind::Bool, scope, depth);
    const auto u = expression(Kind::Uint, scope, depth), v = expression(Kind::Uint, scope, depth);
    const auto i = expression(Kind::Int, scope, depth), j = expression(Kind::Int, scope, depth);
    const auto x = expression(Kind::Float, scope, depth), y = leaf(Kind::Float, scope);
    switch (below(11)) {
        case 0: return two("({} && {})", p, q, [](Word a, Word b) { return a & b; });
        case 1: return two("({} || {})", p, q, [](Word a, Word b) { return a | b; });
        case 2: return two("({} ^^ {})", p, q, [](Word a, Word b) { return a ^ b; });
        case 3: return one("(!{})", p, [](Word a) { return 1 - a; });
        case 4: return two("({} < {})", u, v, [](Word a, Word b) { return Word{a < b}; });
        case 5: return two("({} >= {})", u, v, [](Word a, Word b) { return Word{a >= b}; });
        case 6: return two("({} == {})", u, v, [](Word a, Word b) { return Word{a == b}; });
        case 7: return two("({} <= {})", i, j, [](Word a, Word b) { return Word{as_int(a) <= as_int(b)}; });
        case 8: return two("({} != {})", i, j, [](Word a, Word b) { return Word{a != b}; });
        case 9: return two("({} < {})", x, y, [](Word a, Word b) { return Word{as_float(a) < as_float(b)}; });
        default: return two("({} > {})", x, y, [](Word a, Word b) { return Word{as_float(a) > as_float(b)}; });
    }
}

/// Without arithmetic, which needs a statement of its own. Each value may be multiplied.
Expression RandomEnvironment::of_float(const Scope& scope, int depth) {
    using namespace exact;
    const auto x = expression(Kind::Float, scope, depth), u = expression(Kind::Uint, scope, depth);
    const auto apply = [&](const char* form, float (*function)(float)) {
        return one(form, x, [function](Word bits) { return as_bits(limited(function(as_float(bits)))); });
    };
    switch (below(10)) {
        case 0: return one("limited(float({}))", u, [](Word a) { return as_bits(limited(static_cast<float>(a))); });
        case 1:
            return one("limited(float({} >> 8))", expression(Kind::Int, scope, depth),
                       [](Word a) { return as_bits(limited(static_cast<float>(as_int(a) >> 8))); });
        case 2: return one("limited(exact_uniform({}))", u, [](Word a) { return as_bits(limited(exact_uniform(a))); });
        case 3: return apply("limited(exact_sin({}))", exact_sin);
        case 4: return apply("limited(exact_cos({}))", exact_cos);
        case 5: return apply("limited(exact_tanh({}))", exact_tanh);
        case 6: return apply("limited(exact_exp({}))", exact_exp);
        case 7: return apply("limited(exact_sqrt({}))", exact_sqrt);
        case 8: return apply("limited(exact_round_half_even({}))", exact_round_half_even);
        default: return apply("exact_abs({})", exact_abs);
    }
}

}  // namespace yolk::testing
