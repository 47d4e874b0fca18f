// SPDX-License-Identifier: Apache-2.0
// Values under the tracer: they carry what they are and remember where they come from. What the user's function does
// with them becomes a graph.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "yolk/hyper/graph.hpp"
#include "yolk/hyper/value.hpp"

namespace yolk::hyper {

class Tracer;  // hyper/src/tracer.hpp
class TracedNumber;

/// A truth value that may depend on a parameter. Using it to steer (if, while, ?:, &&, ||) is refused where it does:
/// the graph would hold for this candidate only. `select` chooses by data flow instead.
class TracedTruth {
   public:
    explicit operator bool() const;  ///< where refused, the error sticks in the tracer and false comes back
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
    friend TracedTruth operator<(const TracedNumber& a, double b) { return a.compared(a.value_ < b); }
    friend TracedTruth operator>(const TracedNumber& a, double b) { return a.compared(a.value_ > b); }
    friend TracedTruth operator<=(const TracedNumber& a, double b) { return a.compared(a.value_ <= b); }
    friend TracedTruth operator>=(const TracedNumber& a, double b) { return a.compared(a.value_ >= b); }
    friend TracedTruth operator==(const TracedNumber& a, double b) { return a.compared(a.value_ == b); }

   private:
    friend class Traced;
    TracedNumber(double value, bool from_parameter, std::shared_ptr<Tracer> tracer);
    [[nodiscard]] TracedTruth compared(bool truth) const;
    double value_;
    bool from_parameter_;
    std::shared_ptr<Tracer> tracer_;
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

// Elementwise; numbers and tensors. The second operand has the first's shape, or is a number, or a row [columns].
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
// Along the last dimension.
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
[[nodiscard]] Traced combine(std::span<const Traced> parts, std::int64_t dimension);
[[nodiscard]] Traced combine(std::initializer_list<Traced> parts, std::int64_t dimension = 0);
[[nodiscard]] std::vector<Traced> split(const Traced& whole, std::span<const std::uint64_t> sizes,
                                        std::int64_t dimension);
[[nodiscard]] std::vector<Traced> split(const Traced& whole, std::initializer_list<std::uint64_t> sizes,
                                        std::int64_t dimension = 0);
/// The same elements in another shape.
[[nodiscard]] Traced reshape(const Traced& x, Shape shape);
/// a < b as a truth value in the graph, and choosing by it: control that depends on parameters.
[[nodiscard]] Traced less(const Traced& a, const Traced& b);
[[nodiscard]] Traced select(const Traced& condition, const Traced& if_true, const Traced& if_false);

}  // namespace yolk::hyper
