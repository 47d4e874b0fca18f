// SPDX-License-Identifier: Apache-2.0
#include "equation_writer.hpp"

#include <algorithm>
#include <numeric>

namespace yolk::hyper {

Atom EquationWriter::operator()(std::string_view operation, std::vector<Atom> operands, Attributes attributes) {
    if (error_) return Value(0.0);
    return take<Atom>(builder_.apply(operation, std::move(operands), std::move(attributes)), Value(0.0));
}

std::vector<Atom> EquationWriter::all(Equation equation, std::size_t fallback, std::span<const ValueType> host_types) {
    const std::vector<Atom> zeros(fallback, Atom(Value(0.0)));
    if (error_) return zeros;
    return take(builder_.add(std::move(equation), host_types), zeros);
}

std::vector<Atom> EquationWriter::spliced(const Graph& body, std::span<const Atom> inputs) {
    const std::vector<Atom> zeros(body.outputs.size(), Atom(Value(0.0)));
    if (error_) return zeros;
    return take(splice(body, inputs, builder_), zeros);
}

Atom EquationWriter::reshape(const Atom& x, const Shape& shape) {
    if (error_ || this->shape(x) == shape) return x;
    return (*this)("reshape", {x}, {{"shape", integers_of(shape)}});
}

Atom EquationWriter::broadcast_to(const Atom& x, const Shape& shape) {
    if (error_ || this->shape(x) == shape) return x;
    return (*this)("broadcast_to", {x}, {{"shape", integers_of(shape)}});
}

Atom EquationWriter::sum(const Atom& x, std::size_t dimension, bool keep) {
    return (*this)("sum", {x}, {{"dimension", static_cast<std::int64_t>(dimension)}, {"keep", std::int64_t{keep}}});
}

Atom EquationWriter::transposed(const Atom& x) {
    std::vector<std::int64_t> order(shape(x).rank());
    std::iota(order.begin(), order.end(), 0);
    if (order.size() >= 2) std::swap(order[order.size() - 1], order[order.size() - 2]);
    return permute(x, std::move(order));
}

std::vector<std::int64_t> integers_of(const Shape& shape) { return {shape.extents().begin(), shape.extents().end()}; }

Shape with_extent_at(const Shape& shape, std::size_t dimension, std::uint64_t extent) {
    std::vector<std::uint64_t> extents(shape.extents().begin(), shape.extents().end());
    if (dimension < extents.size()) extents[dimension] = extent;
    return Shape(std::move(extents));
}

Shape without_dimension(const Shape& shape, std::size_t dimension) {
    std::vector<std::uint64_t> extents(shape.extents().begin(), shape.extents().end());
    if (dimension < extents.size()) extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(dimension));
    return Shape(std::move(extents));
}

Shape prepended(std::uint64_t first, const Shape& shape) {
    std::vector<std::uint64_t> extents{first};
    extents.insert(extents.end(), shape.extents().begin(), shape.extents().end());
    return Shape(std::move(extents));
}

Tensor counting(std::uint64_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 0.0F);
    return Tensor::vector(std::move(values));
}

std::uint64_t element_count_of(const Shape& shape) { return shape.element_count().value_or(0); }

Atom gathered_back(EquationWriter& emit, const Atom& cotangent, const ValueType& type) {
    const ValueType from = emit.type(cotangent);
    if (emit.failed() || from == type) return cotangent;
    const std::uint64_t count = element_count_of(from.shape);
    if (type.kind == ValueKind::Number) {
        if (count == 0) return Value(0.0);
        const Atom flat = emit.reshape(cotangent, {count});
        return emit("to_number", {count == 1 ? flat : emit.sum(flat, 0, /*keep=*/true)});
    }
    if (count == 0) return zero_of(type);
    // [repeated dimensions in front as one, ...], then one dimension after the other.
    const std::size_t rank = type.shape.rank(), lead = from.shape.rank() - rank;
    std::uint64_t rows = 1;
    for (std::size_t i = 0; i < lead; ++i) rows *= from.shape[i];
    std::vector<std::uint64_t> extents(from.shape.extents().begin() + static_cast<std::ptrdiff_t>(lead),
                                       from.shape.extents().end());
    Atom left = cotangent;
    if (lead > 0) {
        left = emit.reshape(left, prepended(rows, Shape(extents)));
        left = emit.sum(left, 0, /*keep=*/false);
    }
    for (std::size_t i = 0; i < rank; ++i) {
        if (type.shape[i] == 1 && extents[i] != 1) left = emit.sum(left, i, /*keep=*/true);
    }
    return emit.reshape(left, type.shape);
}

}  // namespace yolk::hyper
