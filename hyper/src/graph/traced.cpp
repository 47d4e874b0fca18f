// SPDX-License-Identifier: Apache-2.0
#include "yolk/hyper/traced.hpp"

#include <array>

#include "tracer.hpp"

namespace yolk::hyper {
namespace {

bool is_number(const Traced& x) { return x.type().kind == ValueKind::Number; }

/// Whether the second operand of an elementwise operation is the larger one.
bool is_second_larger(const Traced& a, const Traced& b) {
    if (b.type().kind != ValueKind::Tensor) return false;
    return is_number(a) || (a.type().kind == ValueKind::Tensor && a.shape().rank() < b.shape().rank());
}

Traced commutative(std::string_view name, const Traced& a, const Traced& b) {
    return is_second_larger(a, b) ? apply(name, {b, a}) : apply(name, {a, b});
}

/// Counted from the front. A dimension out of range stays what it is: the operation refuses it.
std::int64_t from_front(std::int64_t dimension, const Shape& shape) {
    const auto rank = static_cast<std::int64_t>(shape.rank());
    return dimension < 0 && dimension >= -rank ? dimension + rank : dimension;
}

template <class Extents>
std::vector<std::int64_t> integers(const Extents& extents) {
    std::vector<std::int64_t> list;
    for (const std::uint64_t extent : extents) list.push_back(static_cast<std::int64_t>(extent));
    return list;
}

}  // namespace

TracedTruth::TracedTruth(bool truth, bool from_parameter, std::shared_ptr<Tracer> tracer)
    : truth_(truth), from_parameter_(from_parameter), tracer_(std::move(tracer)) {}
TracedTruth::operator bool() const { return tracer_ == nullptr ? truth_ : tracer_->steer(truth_, from_parameter_); }

TracedNumber::TracedNumber(double value, bool from_parameter, std::shared_ptr<Tracer> tracer, Traced source)
    : value_(value),
      from_parameter_(from_parameter),
      tracer_(std::move(tracer)),
      source_(std::make_shared<const Traced>(std::move(source))) {}
TracedNumber::operator double() const {
    if (Tracer::tracer_of(*source_) != nullptr) tracer_->note_read(*source_, "as a number");
    return value_;
}
TracedTruth TracedNumber::compared(bool truth) const { return {truth, from_parameter_, tracer_}; }
TracedTruth TracedNumber::compared(bool truth, const TracedNumber& other) const {
    return {truth, from_parameter_ || other.from_parameter_, other.from_parameter_ ? other.tracer_ : tracer_};
}

Traced::Traced(Value value) : value_(std::move(value)) {}
Traced::Traced(double value) : value_(value) {}
Traced::Traced(Tensor value) : value_(std::move(value)) {}
Traced::Traced(Value value, VariableId variable, std::shared_ptr<Tracer> tracer)
    : value_(std::move(value)), variable_(variable), tracer_(std::move(tracer)) {}

ValueType Traced::type() const { return type_of(value_); }
const Shape& Traced::shape() const {
    static const Shape none;
    return value_.tensor() != nullptr ? value_.tensor()->shape() : none;
}
TracedNumber Traced::number() const {
    auto number = value_.as_number();
    const double known = number ? *number : 0.0;
    const auto tracer = tracer_ != nullptr ? tracer_ : Tracer::current();
    if (!number && tracer != nullptr) tracer->stick(std::move(number).error());
    return {known, tracer_ != nullptr && tracer_->from_parameter(*this), tracer, *this};
}
const Value& Traced::read() const {
    if (tracer_ != nullptr) tracer_->note_read(*this, "past the tracer");
    return value_;
}

Traced operator+(const Traced& a, const Traced& b) { return commutative("add", a, b); }
Traced operator-(const Traced& a, const Traced& b) {
    // a - b is (-b) + a, the same bits; the larger operand comes first.
    return is_second_larger(a, b) ? apply("add", {apply("negate", {b}), a}) : apply("subtract", {a, b});
}
Traced operator*(const Traced& a, const Traced& b) { return commutative("multiply", a, b); }
Traced operator-(const Traced& a) { return apply("negate", {a}); }
Traced maximum(const Traced& a, const Traced& b) { return commutative("maximum", a, b); }
Traced relu(const Traced& x) { return apply("relu", {x}); }
Traced gelu(const Traced& x) { return apply("gelu", {x}); }
Traced silu(const Traced& x) { return apply("silu", {x}); }
Traced tanh(const Traced& x) { return apply("tanh", {x}); }
Traced sigmoid(const Traced& x) { return apply("sigmoid", {x}); }
Traced exp(const Traced& x) { return apply("exp", {x}); }
Traced log(const Traced& x) { return apply("log", {x}); }
Traced softmax(const Traced& x) { return apply("softmax", {x}); }
Traced log_softmax(const Traced& x) { return apply("log_softmax", {x}); }
Traced sum(const Traced& x) { return apply("sum", {x}); }
Traced mean(const Traced& x) { return apply("mean", {x}); }
Traced argmax(const Traced& x) { return apply("argmax", {x}); }
Traced linear(const Traced& weight, const Traced& x) { return apply("linear", {weight, x}); }
Traced linear_transposed(const Traced& weight, const Traced& x) { return apply("linear_transposed", {weight, x}); }
Traced embedding(const Traced& table, const Traced& ids) { return apply("embedding", {table, ids}); }

Traced concat(std::span<const Traced> parts, std::int64_t dimension) {
    const Shape shape = parts.empty() ? Shape() : parts[0].shape();
    return apply("concat", parts, {{"dimension", from_front(dimension, shape)}}, 1)[0];
}
Traced concat(std::initializer_list<Traced> parts, std::int64_t dimension) {
    return concat(std::span(parts.begin(), parts.size()), dimension);
}
std::vector<Traced> split(const Traced& whole, std::span<const std::uint64_t> sizes, std::int64_t dimension) {
    Attributes attributes{{"dimension", from_front(dimension, whole.shape())}, {"sizes", integers(sizes)}};
    return apply("split", std::span(&whole, 1), std::move(attributes), sizes.size());
}
std::vector<Traced> split(const Traced& whole, std::initializer_list<std::uint64_t> sizes, std::int64_t dimension) {
    return split(whole, std::span(sizes.begin(), sizes.size()), dimension);
}
Traced reshape(const Traced& x, const Shape& shape) {
    return apply("reshape", {x}, {{"shape", integers(shape.extents())}});
}
Traced less(const Traced& a, const Traced& b) { return apply("less", {a, b}); }
Traced equal(const Traced& a, const Traced& b) { return apply("equal", {a, b}); }
Traced logical_and(const Traced& a, const Traced& b) { return apply("and", {a, b}); }
Traced logical_or(const Traced& a, const Traced& b) { return apply("or", {a, b}); }
Traced logical_not(const Traced& a) { return apply("not", {a}); }
Traced select(const Traced& condition, const Traced& if_true, const Traced& if_false) {
    return apply("select", {condition, if_true, if_false});
}
Traced format(std::string pattern, std::span<const Traced> values) {
    return apply("format", values, {{"pattern", std::move(pattern)}}, 1)[0];
}
Traced format(std::string pattern, std::initializer_list<Traced> values) {
    return format(std::move(pattern), std::span(values.begin(), values.size()));
}

}  // namespace yolk::hyper
