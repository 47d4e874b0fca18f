// SPDX-License-Identifier: Apache-2.0
// Values under the tracer: they carry what they are and remember where they come from. What the user's function does
// with them becomes a graph.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "yolk/hyper/graph.hpp"
#include "yolk/hyper/value.hpp"

namespace yolk::hyper {

class Tracer;  // hyper/src/graph/tracer.hpp
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
    TracedTruth(bool truth, bool from_parameter, std::shared_ptr<Tracer> tracer);
    bool truth_;
    bool from_parameter_;
    std::shared_ptr<Tracer> tracer_;
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
    TracedNumber(double value, bool from_parameter, std::shared_ptr<Tracer> tracer, Traced source);
    [[nodiscard]] TracedTruth compared(bool truth) const;
    [[nodiscard]] TracedTruth compared(bool truth, const TracedNumber& other) const;
    double value_;
    bool from_parameter_;
    std::shared_ptr<Tracer> tracer_;
    std::shared_ptr<const Traced> source_;
};

/// A value of a trace, or a plain one (a literal) where it was made from a Value. Cheap to copy. Operations never fail
/// on the spot: the first error (shapes that do not fit, another trace's value, a hyperfunction that threw) sticks in
/// the tracer, which hands it out at the end; what comes back meanwhile is a value of the declared type or a number 0.
class Traced {
   public:
    Traced(Value value);   // NOLINT(google-explicit-constructor): literals
    Traced(double value);  // NOLINT(google-explicit-constructor)
    Traced(Tensor value);  // NOLINT(google-explicit-constructor)

    [[nodiscard]] ValueType type() const;
    [[nodiscard]] const Shape& shape() const;  ///< of a tensor; empty otherwise
    /// The value as a number (a tensor of one element counts). Recorded.
    [[nodiscard]] TracedNumber number() const;
    /// The value itself, past the tracer: what is computed from it is data of this trace. Recorded, warned about where
    /// it depends on a parameter. Data (inputs, and what is made from them alone) may be read freely: that is how
    /// functions branch on data.
    [[nodiscard]] const Value& read() const;

   private:
    friend class Tracer;
    Traced(Value value, VariableId variable, std::shared_ptr<Tracer> tracer);
    Value value_;
    VariableId variable_{};
    std::shared_ptr<Tracer> tracer_;  ///< null: a literal
};

// Elementwise; numbers and tensors. One operand has the other's shape, or is a number, or a row [columns] of the other.
[[nodiscard]] Traced operator+(const Traced& a, const Traced& b);
[[nodiscard]] Traced operator-(const Traced& a, const Traced& b);
[[nodiscard]] Traced operator*(const Traced& a, const Traced& b);
[[nodiscard]] Traced operator-(const Traced& a);
[[nodiscard]] Traced maximum(const Traced& a, const Traced& b);
[[nodiscard]] Traced relu(const Traced& x);
[[nodiscard]] Traced gelu(const Traced& x);
[[nodiscard]] Traced silu(const Traced& x);
[[nodiscard]] Traced tanh(const Traced& x);
[[nodiscard]] Traced sigmoid(const Traced& x);
[[nodiscard]] Traced exp(const Traced& x);
[[nodiscard]] Traced log(const Traced& x);
// Along the last dimension. sum, mean and argmax of [n] are of shape [1].
[[nodiscard]] Traced softmax(const Traced& x);
[[nodiscard]] Traced log_softmax(const Traced& x);
[[nodiscard]] Traced sum(const Traced& x);
[[nodiscard]] Traced mean(const Traced& x);
[[nodiscard]] Traced argmax(const Traced& x);
/// x W^T: x is [..., in], weight [out, in], the result [..., out].
[[nodiscard]] Traced linear(const Traced& weight, const Traced& x);
/// x W: x is [..., out], the result [..., in].
[[nodiscard]] Traced linear_transposed(const Traced& weight, const Traced& x);
/// Rows of a table: [vocabulary, width], ids whole numbers [n]; the result [n, width].
[[nodiscard]] Traced embedding(const Traced& table, const Traced& ids);
[[nodiscard]] Traced concat(std::span<const Traced> parts, std::int64_t dimension);
[[nodiscard]] Traced concat(std::initializer_list<Traced> parts, std::int64_t dimension = 0);
/// hyperfunc's word for concat.
[[nodiscard]] inline Traced combine(std::initializer_list<Traced> parts, std::int64_t dimension = 0) {
    return concat(parts, dimension);
}
[[nodiscard]] std::vector<Traced> split(const Traced& whole, std::span<const std::uint64_t> sizes,
                                        std::int64_t dimension);
[[nodiscard]] std::vector<Traced> split(const Traced& whole, std::initializer_list<std::uint64_t> sizes,
                                        std::int64_t dimension = 0);
/// The same elements in another shape.
[[nodiscard]] Traced reshape(const Traced& x, const Shape& shape);
/// a < b as a truth value in the graph, and choosing by it: control that depends on parameters.
[[nodiscard]] Traced less(const Traced& a, const Traced& b);
[[nodiscard]] Traced equal(const Traced& a, const Traced& b);
[[nodiscard]] Traced logical_and(const Traced& a, const Traced& b);  ///< of two truth values
[[nodiscard]] Traced logical_or(const Traced& a, const Traced& b);   ///< of two truth values
[[nodiscard]] Traced logical_not(const Traced& a);                   ///< of a truth value
[[nodiscard]] Traced select(const Traced& condition, const Traced& if_true, const Traced& if_false);
/// Text: each {} in the pattern takes the next value, texts as they are, others as JSON.
[[nodiscard]] Traced format(std::string pattern, std::span<const Traced> values);
[[nodiscard]] Traced format(std::string pattern, std::initializer_list<Traced> values);

}  // namespace yolk::hyper
