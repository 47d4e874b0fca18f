// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/traced.hpp"

#include <utility>

#include "equations.hpp"
#include "tracer.hpp"

namespace yolk::hyper {

TracedTruth::TracedTruth(bool truth, bool from_parameter, std::shared_ptr<Tracer> tracer, Line line)
    : truth_(truth), from_parameter_(from_parameter), tracer_(std::move(tracer)), line_(line) {}
TracedTruth::operator bool() const {
    return tracer_ == nullptr ? truth_ : tracer_->steer(truth_, from_parameter_, line_);
}

TracedNumber::TracedNumber(double value, bool from_parameter, std::shared_ptr<Tracer> tracer, Traced source, Line line)
    : value_(value),
      from_parameter_(from_parameter),
      tracer_(std::move(tracer)),
      source_(std::make_shared<const Traced>(std::move(source))),
      line_(line) {}
TracedNumber::operator double() const {
    if (Tracer::tracer_of(*source_) != nullptr) tracer_->note_read(*source_, "as a number", line_);
    return value_;
}
TracedTruth TracedNumber::compared(bool truth) const { return {truth, from_parameter_, tracer_, line_}; }
TracedTruth TracedNumber::compared(bool truth, const TracedNumber& other) const {
    return {truth, from_parameter_ || other.from_parameter_, other.from_parameter_ ? other.tracer_ : tracer_, line_};
}

Traced::Traced(Value value) : value_(std::move(value)) {}
Traced::Traced(double value) : value_(value) {}
Traced::Traced(Tensor value) : value_(std::move(value)) {}
Traced::Traced(Value value, VariableId variable, std::shared_ptr<Tracer> tracer)
    : value_(std::move(value)), variable_(variable), tracer_(std::move(tracer)) {}

const Value& Traced::value() const {
    if (std::exchange(late_, false)) value_ = tracer_->settled(variable_, value_);
    return value_;
}
ValueType Traced::type() const { return type_of(value()); }
const Shape& Traced::shape() const {
    static const Shape none;
    return value().tensor() != nullptr ? value().tensor()->shape() : none;
}
TracedNumber Traced::number(Line line) const {
    auto number = value().as_number();
    const double known = number ? *number : 0.0;
    const auto tracer = tracer_ != nullptr ? tracer_ : Tracer::current();
    if (!number && tracer != nullptr) {
        tracer->stick(std::move(number).error().while_doing("reading a number at " + line_of(line)));
    }
    return {known, tracer_ != nullptr && tracer_->from_parameter(*this), tracer, *this, line};
}
const Value& Traced::read(Line line) const {
    if (tracer_ != nullptr) tracer_->note_read(*this, "past the tracer", line);
    return value();
}

}  // namespace yolk::hyper
