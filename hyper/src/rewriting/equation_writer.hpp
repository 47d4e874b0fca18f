// SPDX-License-Identifier: Apache-2.0
// Writes equations of a rule as one writes formulas: the first error sticks and comes out at the end.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "graph_copy.hpp"

namespace yolk::hyper {

class EquationWriter {
   public:
    explicit EquationWriter(GraphBuilder& builder) : builder_(builder) {}

    /// After an error a number 0, whose shape is empty: take shapes from what the rule was given.
    Atom operator()(std::string_view operation, std::vector<Atom> operands, Attributes attributes = {});
    /// An equation with any number of results. After an error it gives `fallback` zeros.
    std::vector<Atom> all(Equation equation, std::size_t fallback, std::span<const ValueType> host_types = {});
    /// The outputs of a body whose equations are appended.
    std::vector<Atom> spliced(const Graph& body, std::span<const Atom> inputs);

    Atom add(const Atom& a, const Atom& b) { return (*this)("add", {a, b}); }
    Atom subtract(const Atom& a, const Atom& b) { return (*this)("subtract", {a, b}); }
    Atom multiply(const Atom& a, const Atom& b) { return (*this)("multiply", {a, b}); }
    Atom divide(const Atom& a, const Atom& b) { return (*this)("divide", {a, b}); }
    Atom negate(const Atom& x) { return (*this)("negate", {x}); }
    Atom reshape(const Atom& x, const Shape& shape);
    Atom broadcast_to(const Atom& x, const Shape& shape);
    Atom permute(const Atom& x, std::vector<std::int64_t> order) {
        return (*this)("permute", {x}, {{"order", std::move(order)}});
    }
    /// Along one dimension, which stays with extent 1 where `keep`.
    Atom sum(const Atom& x, std::size_t dimension, bool keep);
    /// The last two dimensions changed for each other.
    Atom transposed(const Atom& x);

    [[nodiscard]] ValueType type(const Atom& atom) const { return builder_.type(atom); }
    [[nodiscard]] Shape shape(const Atom& atom) const { return builder_.type(atom).shape; }
    [[nodiscard]] GraphBuilder& builder() const noexcept { return builder_; }
    void stick(Error error) {
        if (!error_) error_ = std::move(error);
    }
    [[nodiscard]] bool failed() const noexcept { return error_.has_value(); }
    /// The value of a result; its error sticks.
    template <class T>
    T take(Result<T> result, T fallback = {}) {
        if (result) return *std::move(result);
        stick(std::move(result).error());
        return fallback;
    }
    /// `value`, or what stuck.
    template <class T>
    Result<T> done(T value) {
        if (error_) return *std::move(error_);
        return value;
    }

   private:
    GraphBuilder& builder_;
    std::optional<Error> error_;
};

[[nodiscard]] std::vector<std::int64_t> integers_of(const Shape& shape);
/// The same extents with another one along a dimension.
[[nodiscard]] Shape with_extent_at(const Shape& shape, std::size_t dimension, std::uint64_t extent);
[[nodiscard]] Shape without_dimension(const Shape& shape, std::size_t dimension);
/// `first` in front.
[[nodiscard]] Shape prepended(std::uint64_t first, const Shape& shape);
/// 0, 1, ... count - 1 in fp32.
[[nodiscard]] Tensor counting(std::uint64_t count);
[[nodiscard]] std::uint64_t element_count_of(const Shape& shape);

/// The cotangent of an operand of type `type` that was repeated to the cotangent's: summed over the repeated
/// dimensions.
[[nodiscard]] Atom gathered_back(EquationWriter& emit, const Atom& cotangent, const ValueType& type);

}  // namespace yolk::hyper
