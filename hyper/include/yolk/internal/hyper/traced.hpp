// SPDX-License-Identifier: Apache-2.0
// Values under the tracer: they carry what they are and remember where they come from. What the user's function does
// with them becomes a graph. The operations on them are in traced_operations.hpp and traced_layers.hpp.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "yolk/internal/hyper/graph.hpp"
#include "yolk/internal/hyper/line.hpp"
#include "yolk/tensor.hpp"

namespace yolk::hyper {

class Tracer;  // hyper/src/tracing/tracer.hpp
class Traced;
class TracedNumber;

/// A truth value that may depend on a parameter. Using it to steer (if, while, ?:, &&, ||) is refused where it does:
/// the graph would hold for this candidate only. `select` chooses by data flow instead.
class TracedTruth {
   public:
    /// Where refused, the error sticks in the tracer, and false and true come back by turns, so that loops on it end.
    explicit operator bool() const;

   private:
    friend class TracedNumber;
    TracedTruth(bool truth, bool from_parameter, std::shared_ptr<Tracer> tracer, Line line);
    bool truth_;
    bool from_parameter_;
    std::shared_ptr<Tracer> tracer_;
    Line line_;  ///< where the number was asked for
};

/// A number read out of a traced value. Comparing it keeps the trace's eyes open; turning it into a double is noted,
/// and warned about where it depends on a parameter.
class TracedNumber {
   public:
    operator double() const;  // NOLINT(google-explicit-constructor): the noted way out
    // Templates, so that no built-in comparison of the double is as good.
    template <class N>
    requires(std::is_arithmetic_v<N>) friend TracedTruth operator<(const TracedNumber& a, N b) {
        return a.compared(a.value_ < static_cast<double>(b));
    }
    template <class N>
    requires(std::is_arithmetic_v<N>) friend TracedTruth operator>(const TracedNumber& a, N b) {
        return a.compared(a.value_ > static_cast<double>(b));
    }
    template <class N>
    requires(std::is_arithmetic_v<N>) friend TracedTruth operator<=(const TracedNumber& a, N b) {
        return a.compared(a.value_ <= static_cast<double>(b));
    }
    template <class N>
    requires(std::is_arithmetic_v<N>) friend TracedTruth operator>=(const TracedNumber& a, N b) {
        return a.compared(a.value_ >= static_cast<double>(b));
    }
    template <class N>
    requires(std::is_arithmetic_v<N>) friend TracedTruth operator==(const TracedNumber& a, N b) {
        return a.compared(a.value_ == static_cast<double>(b));
    }
    template <class N>
    requires(std::is_arithmetic_v<N>) friend TracedTruth operator!=(const TracedNumber& a, N b) {
        return a.compared(a.value_ != static_cast<double>(b));
    }
    template <class N>
    requires(std::is_arithmetic_v<N>) friend TracedTruth operator<(N a, const TracedNumber& b) { return b > a; }
    template <class N>
    requires(std::is_arithmetic_v<N>) friend TracedTruth operator>(N a, const TracedNumber& b) { return b < a; }
    template <class N>
    requires(std::is_arithmetic_v<N>) friend TracedTruth operator<=(N a, const TracedNumber& b) { return b >= a; }
    template <class N>
    requires(std::is_arithmetic_v<N>) friend TracedTruth operator>=(N a, const TracedNumber& b) { return b <= a; }
    friend TracedTruth operator<(const TracedNumber& a, const TracedNumber& b) {
        return a.compared(a.value_ < b.value_, b);
    }
    friend TracedTruth operator>(const TracedNumber& a, const TracedNumber& b) {
        return a.compared(a.value_ > b.value_, b);
    }
    friend TracedTruth operator<=(const TracedNumber& a, const TracedNumber& b) {
        return a.compared(a.value_ <= b.value_, b);
    }
    friend TracedTruth operator>=(const TracedNumber& a, const TracedNumber& b) {
        return a.compared(a.value_ >= b.value_, b);
    }

   private:
    friend class Traced;
    TracedNumber(double value, bool from_parameter, std::shared_ptr<Tracer> tracer, Traced source, Line line);
    [[nodiscard]] TracedTruth compared(bool truth) const;
    [[nodiscard]] TracedTruth compared(bool truth, const TracedNumber& other) const;
    double value_;
    bool from_parameter_;
    std::shared_ptr<Tracer> tracer_;
    std::shared_ptr<const Traced> source_;
    Line line_;
};

/// A value of a trace, or a plain one (a literal) where it was made from a Value. Cheap to copy. Operations never fail
/// on the spot: the first error (shapes that do not fit, another trace's value, a hyperfunction that threw) sticks in
/// the tracer, which hands it out at the end; what comes back meanwhile is a value of the declared type or a number 0.
class Traced {
   public:
    Traced(Value value);   // NOLINT(google-explicit-constructor): literals
    Traced(double value);  // NOLINT(google-explicit-constructor)
    Traced(Tensor value);  // NOLINT(google-explicit-constructor)
    template <std::same_as<bool> B>
    Traced(B value) : Traced(Value(value)) {}  // NOLINT(google-explicit-constructor)
    /// An integer; beyond 64 bits with a sign the nearest number.
    template <std::integral I>
    requires(!std::same_as<I, bool> && !std::same_as<I, char>) Traced(I value)  // NOLINT(google-explicit-constructor)
        : Traced(std::in_range<std::int64_t>(value) ? Value(static_cast<std::int64_t>(value))
                                                    : Value(static_cast<double>(value))) {}
    template <class T>  // text
    requires(std::is_convertible_v<const T&, std::string_view>)
        Traced(const T& text)  // NOLINT(google-explicit-constructor)
        : Traced(Value(std::string(std::string_view(text)))) {}

    [[nodiscard]] ValueType type() const;
    [[nodiscard]] const Shape& shape() const;  ///< of a tensor; empty otherwise
    /// The value as a number (a tensor of one element counts). Recorded.
    [[nodiscard]] TracedNumber number(Line line = Line::current()) const;
    /// The value itself, past the tracer: what is computed from it is data of this trace. Recorded, warned about where
    /// it depends on a parameter. Data (inputs, and what is made from them alone) may be read freely: that is how
    /// functions branch on data.
    [[nodiscard]] const Value& read(Line line = Line::current()) const;

   private:
    friend class Tracer;
    Traced(Value value, VariableId variable, std::shared_ptr<Tracer> tracer);
    /// Waits where a host call that it depends on is under way.
    [[nodiscard]] const Value& value() const;
    mutable Value value_;
    VariableId variable_{};
    std::shared_ptr<Tracer> tracer_;  ///< null: a literal
    mutable bool late_ = false;       ///< value_ stands in for what the tracer will have
};

/// The right operand of an operator, with the line of the program that it stands in.
class Located {
   public:
    template <class T>
    requires(std::is_convertible_v<const T&, Traced>) Located(  // NOLINT(google-explicit-constructor): as Traced is
        const T& value, Line line = Line::current())
        : value_(value), line_(line) {}
    [[nodiscard]] const Traced& value() const noexcept { return value_; }
    [[nodiscard]] Line line() const noexcept { return line_; }

   private:
    Traced value_;
    Line line_;
};

// Elementwise. Shapes, compared from the last dimension on, have equal extents or 1, which is repeated; a number goes
// with every element. Two numbers: in double.
[[nodiscard]] Traced operator+(const Traced& a, const Located& b);
[[nodiscard]] Traced operator-(const Traced& a, const Located& b);
[[nodiscard]] Traced operator*(const Traced& a, const Located& b);
[[nodiscard]] Traced operator/(const Traced& a, const Located& b);
[[nodiscard]] Traced operator-(const Located& a);

}  // namespace yolk::hyper
