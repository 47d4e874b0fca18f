// SPDX-License-Identifier: Apache-2.0
// d f(x) = f'(x) dx, element by element: the same product in both directions. Where f has no derivative: relu and
// absolute take 0 at 0; of two equal operands maximum and minimum follow the first; floor and round do not move.
#include <array>

#include "derivatives.hpp"

namespace yolk::hyper {
namespace {

using Slope = Atom (*)(EquationWriter& emit, const Atom& x, const Atom& y);

template <Slope kSlope>
std::vector<Tangent> push_slope(Site& site, Tangents operands) {
    return {site.emit.multiply(kSlope(site.emit, site.operands[0], site.results[0]), *operands[0])};
}
template <Slope kSlope>
std::vector<Tangent> pull_slope(Site& site, Tangents results, const std::vector<bool>&) {
    return {site.emit.multiply(kSlope(site.emit, site.operands[0], site.results[0]), *results[0])};
}
template <Slope kSlope>
constexpr Derivative unary_derivative(std::string_view name) {
    return {name, push_slope<kSlope>, pull_slope<kSlope>};
}

Atom one_minus(EquationWriter& emit, const Atom& x) { return emit.add(emit.negate(x), Value(1.0)); }

Atom slope_of_absolute(EquationWriter& emit, const Atom& x, const Atom&) {
    return emit.subtract(emit("greater_than", {x, Value(0.0)}), emit("less_than", {x, Value(0.0)}));
}
Atom slope_of_sqrt(EquationWriter& emit, const Atom&, const Atom& y) { return emit.divide(Value(0.5), y); }
Atom slope_of_rsqrt(EquationWriter& emit, const Atom&, const Atom& y) {
    return emit.multiply(emit.multiply(emit.multiply(y, y), y), Value(-0.5));
}
Atom slope_of_sin(EquationWriter& emit, const Atom& x, const Atom&) { return emit("cos", {x}); }
Atom slope_of_cos(EquationWriter& emit, const Atom& x, const Atom&) { return emit.negate(emit("sin", {x})); }
Atom slope_of_exp(EquationWriter&, const Atom&, const Atom& y) { return y; }
Atom slope_of_log(EquationWriter& emit, const Atom& x, const Atom&) { return emit.divide(Value(1.0), x); }
Atom slope_of_relu(EquationWriter& emit, const Atom& x, const Atom&) { return emit("greater_than", {x, Value(0.0)}); }
Atom slope_of_tanh(EquationWriter& emit, const Atom&, const Atom& y) {
    // 1 - y^2, as (-y) y + 1.
    return emit.add(emit.multiply(emit.negate(y), y), Value(1.0));
}
Atom slope_of_sigmoid(EquationWriter& emit, const Atom&, const Atom& y) { return emit.multiply(one_minus(emit, y), y); }
Atom slope_of_silu(EquationWriter& emit, const Atom& x, const Atom& y) {
    const Atom s = emit("sigmoid", {x});
    return emit.add(emit.multiply(one_minus(emit, s), y), s);
}
Atom slope_of_gelu(EquationWriter& emit, const Atom& x, const Atom&) {
    // Of x (1 + t) / 2 with t = tanh(u), u = c (x + a x^3): (1 + t) / 2 + x (1 - t^2) u' / 2.
    constexpr double kC = 0.7978845608028654, kA = 0.044715;  // sqrt(2 / pi)
    const Atom square = emit.multiply(x, x);
    const Atom u = emit.multiply(emit.add(emit.multiply(square, Value(kC * kA)), Value(kC)), x);
    const Atom du = emit.add(emit.multiply(square, Value(3.0 * kC * kA)), Value(kC));
    const Atom t = emit("tanh", {u});
    const Atom bend = emit.multiply(emit.multiply(slope_of_tanh(emit, u, t), du), x);
    return emit.multiply(emit.add(emit.add(bend, t), Value(1.0)), Value(0.5));
}

/// t times the slope along one operand; `y` is the result.
using Scaled = Atom (*)(EquationWriter& emit, const Site& site, const Atom& t);

template <Scaled kFirst, Scaled kSecond>
std::vector<Tangent> push_binary(Site& site, Tangents operands) {
    EquationWriter& emit = site.emit;
    Tangent moved;
    if (operands[0]) moved = kFirst(emit, site, *operands[0]);
    if (operands[1]) {
        Atom second = kSecond(emit, site, *operands[1]);
        moved = moved ? emit.add(*moved, second) : std::move(second);
    }
    // A row's or number's movement goes over all that it was repeated over.
    if (!emit.failed() && emit.type(*moved) != site.result_type())
        moved = emit.add(zero_of(site.result_type()), *moved);
    return {moved};
}

template <Scaled kFirst, Scaled kSecond>
std::vector<Tangent> pull_binary(Site& site, Tangents results, const std::vector<bool>& wanted) {
    std::vector<Tangent> moved(2);
    if (wanted[0]) moved[0] = gathered_back(site.emit, kFirst(site.emit, site, *results[0]), site.type(0));
    if (wanted[1]) moved[1] = gathered_back(site.emit, kSecond(site.emit, site, *results[0]), site.type(1));
    return moved;
}
template <Scaled kFirst, Scaled kSecond>
constexpr Derivative binary_derivative(std::string_view name) {
    return {name, push_binary<kFirst, kSecond>, pull_binary<kFirst, kSecond>};
}

Atom as_it_is(EquationWriter&, const Site&, const Atom& t) { return t; }
Atom negated(EquationWriter& emit, const Site&, const Atom& t) { return emit.negate(t); }
Atom by_second(EquationWriter& emit, const Site& site, const Atom& t) { return emit.multiply(t, site.operands[1]); }
Atom by_first(EquationWriter& emit, const Site& site, const Atom& t) { return emit.multiply(t, site.operands[0]); }
Atom over_second(EquationWriter& emit, const Site& site, const Atom& t) { return emit.divide(t, site.operands[1]); }
Atom quotient_by_second(EquationWriter& emit, const Site& site, const Atom& t) {
    return emit.negate(emit.multiply(t, emit.divide(site.results[0], site.operands[1])));
}
Atom power_by_base(EquationWriter& emit, const Site& site, const Atom& t) {
    // b a^(b - 1); for b = 0 the exponent is taken as 0, so that 0^0 does not move either.
    const Atom &a = site.operands[0], &b = site.operands[1];
    const Atom lower = emit.add(emit.subtract(b, Value(1.0)), emit("equal_to", {b, Value(0.0)}));
    return emit.multiply(t, emit.multiply(emit("power", {a, lower}), b));
}
Atom power_by_exponent(EquationWriter& emit, const Site& site, const Atom& t) {
    // y log a where a > 0, otherwise 0: there the logarithm is taken of 1.
    const Atom& a = site.operands[0];
    const Atom inside = emit.multiply(a, emit("greater_than", {a, Value(0.0)}));
    const Atom positive = emit.add(inside, emit("less_or_equal", {a, Value(0.0)}));
    return emit.multiply(t, emit.multiply(site.results[0], emit("log", {positive})));
}
template <bool kMaximum>
Atom where_first_wins(EquationWriter& emit, const Site& site, const Atom& t) {
    const char* compared = kMaximum ? "greater_or_equal" : "less_or_equal";
    return emit.multiply(t, emit(compared, {site.operands[0], site.operands[1]}));
}
template <bool kMaximum>
Atom where_second_wins(EquationWriter& emit, const Site& site, const Atom& t) {
    const char* compared = kMaximum ? "less_than" : "greater_than";
    return emit.multiply(t, emit(compared, {site.operands[0], site.operands[1]}));
}

std::vector<Tangent> push_where(Site& site, Tangents operands) {
    Atom moved = site.emit("where", {site.operands[0], or_zero(operands[1], {}), or_zero(operands[2], {})});
    if (!site.emit.failed() && site.emit.type(moved) != site.result_type())
        moved = site.emit.add(zero_of(site.result_type()), moved);
    return {Tangent(moved)};
}
std::vector<Tangent> pull_where(Site& site, Tangents results, const std::vector<bool>& wanted) {
    std::vector<Tangent> moved(3);
    const Atom zero = Value(0.0), &condition = site.operands[0], &t = *results[0];
    if (wanted[1]) moved[1] = gathered_back(site.emit, site.emit("where", {condition, t, zero}), site.type(1));
    if (wanted[2]) moved[2] = gathered_back(site.emit, site.emit("where", {condition, zero, t}), site.type(2));
    return moved;
}

std::vector<Tangent> pull_negate(Site& site, Tangents results, const std::vector<bool>&) {
    return {site.emit.negate(*results[0])};
}

constexpr std::array kElementwiseDerivatives{
    binary_derivative<as_it_is, as_it_is>("add"),
    binary_derivative<as_it_is, negated>("subtract"),
    binary_derivative<by_second, by_first>("multiply"),
    binary_derivative<over_second, quotient_by_second>("divide"),
    binary_derivative<power_by_base, power_by_exponent>("power"),
    binary_derivative<where_first_wins<true>, where_second_wins<true>>("maximum"),
    binary_derivative<where_first_wins<false>, where_second_wins<false>>("minimum"),
    Derivative{"where", push_where, pull_where},
    Derivative{"negate", push_same, pull_negate},
    unary_derivative<slope_of_absolute>("absolute"),
    unary_derivative<slope_of_sqrt>("sqrt"),
    unary_derivative<slope_of_rsqrt>("rsqrt"),
    unary_derivative<slope_of_sin>("sin"),
    unary_derivative<slope_of_cos>("cos"),
    unary_derivative<slope_of_exp>("exp"),
    unary_derivative<slope_of_log>("log"),
    unary_derivative<slope_of_relu>("relu"),
    unary_derivative<slope_of_gelu>("gelu"),
    unary_derivative<slope_of_silu>("silu"),
    unary_derivative<slope_of_tanh>("tanh"),
    unary_derivative<slope_of_sigmoid>("sigmoid"),
    Derivative{"floor", push_nothing, pull_nothing},
    Derivative{"round", push_nothing, pull_nothing},
    Derivative{"less_than", push_nothing, pull_nothing},
    Derivative{"less_or_equal", push_nothing, pull_nothing},
    Derivative{"greater_than", push_nothing, pull_nothing},
    Derivative{"greater_or_equal", push_nothing, pull_nothing},
    Derivative{"equal_to", push_nothing, pull_nothing},
    Derivative{"not_equal_to", push_nothing, pull_nothing},
};

}  // namespace

std::span<const Derivative> elementwise_derivatives() noexcept { return kElementwiseDerivatives; }

}  // namespace yolk::hyper
