// SPDX-License-Identifier: Apache-2.0
// The operations on traced values (docs/hyper.md). Each is one equation, or a few where it says so; the last argument,
// which is filled in, is the line that messages name. Dimensions below 0 count from the last, -1.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "yolk/internal/hyper/traced.hpp"

namespace yolk::hyper {

using Integers = std::vector<std::int64_t>;

// Elementwise, of tensors and numbers. Two operands go together as those of + do.
[[nodiscard]] Traced power(const Traced& a, const Traced& b, Line line = Line::current());
[[nodiscard]] Traced maximum(const Traced& a, const Traced& b, Line line = Line::current());
[[nodiscard]] Traced minimum(const Traced& a, const Traced& b, Line line = Line::current());
/// minimum(maximum(x, low), high)
[[nodiscard]] Traced clamp(const Traced& x, const Traced& low, const Traced& high, Line line = Line::current());
// 1 where it holds, otherwise 0; with a NaN only not_equal_to holds.
[[nodiscard]] Traced less_than(const Traced& a, const Traced& b, Line line = Line::current());
[[nodiscard]] Traced less_or_equal(const Traced& a, const Traced& b, Line line = Line::current());
[[nodiscard]] Traced greater_than(const Traced& a, const Traced& b, Line line = Line::current());
[[nodiscard]] Traced greater_or_equal(const Traced& a, const Traced& b, Line line = Line::current());
[[nodiscard]] Traced equal_to(const Traced& a, const Traced& b, Line line = Line::current());
[[nodiscard]] Traced not_equal_to(const Traced& a, const Traced& b, Line line = Line::current());
/// a where the condition is not 0, b elsewhere.
[[nodiscard]] Traced where(const Traced& condition, const Traced& a, const Traced& b, Line line = Line::current());
[[nodiscard]] Traced absolute(const Traced& x, Line line = Line::current());
[[nodiscard]] Traced sqrt(const Traced& x, Line line = Line::current());
[[nodiscard]] Traced rsqrt(const Traced& x, Line line = Line::current());  ///< 1 / sqrt(x)
[[nodiscard]] Traced sin(const Traced& x, Line line = Line::current());
[[nodiscard]] Traced cos(const Traced& x, Line line = Line::current());
[[nodiscard]] Traced exp(const Traced& x, Line line = Line::current());
[[nodiscard]] Traced log(const Traced& x, Line line = Line::current());
[[nodiscard]] Traced floor(const Traced& x, Line line = Line::current());
[[nodiscard]] Traced round(const Traced& x, Line line = Line::current());  ///< halves to the even number
[[nodiscard]] Traced relu(const Traced& x, Line line = Line::current());
[[nodiscard]] Traced gelu(const Traced& x, Line line = Line::current());
[[nodiscard]] Traced silu(const Traced& x, Line line = Line::current());
[[nodiscard]] Traced tanh(const Traced& x, Line line = Line::current());
[[nodiscard]] Traced sigmoid(const Traced& x, Line line = Line::current());

// Over one dimension, which goes; with `keep` it stays with an extent of 1. Of [n] comes [1].
[[nodiscard]] Traced sum(const Traced& x, std::int64_t dimension = -1, bool keep = false, Line line = Line::current());
[[nodiscard]] Traced mean(const Traced& x, std::int64_t dimension = -1, bool keep = false, Line line = Line::current());
[[nodiscard]] Traced max(const Traced& x, std::int64_t dimension = -1, bool keep = false, Line line = Line::current());
[[nodiscard]] Traced min(const Traced& x, std::int64_t dimension = -1, bool keep = false, Line line = Line::current());
/// The first index of the largest, or of a NaN, as fp32.
[[nodiscard]] Traced argmax(const Traced& x, std::int64_t dimension = -1, bool keep = false,
                            Line line = Line::current());
// Over several dimensions, an equation for each; of all of them comes [1].
[[nodiscard]] Traced sum(const Traced& x, const Integers& dimensions, bool keep = false, Line line = Line::current());
[[nodiscard]] Traced mean(const Traced& x, const Integers& dimensions, bool keep = false, Line line = Line::current());
[[nodiscard]] Traced max(const Traced& x, const Integers& dimensions, bool keep = false, Line line = Line::current());
[[nodiscard]] Traced min(const Traced& x, const Integers& dimensions, bool keep = false, Line line = Line::current());
/// Each element with those before it along the dimension.
[[nodiscard]] Traced cumulative_sum(const Traced& x, std::int64_t dimension = -1, Line line = Line::current());
// Along another dimension than the last: three equations.
[[nodiscard]] Traced softmax(const Traced& x, std::int64_t dimension = -1, Line line = Line::current());
[[nodiscard]] Traced log_softmax(const Traced& x, std::int64_t dimension = -1, Line line = Line::current());

/// a [..., m, k] times b [..., k, n]: [..., m, n]. Leading dimensions go together as those of + do.
[[nodiscard]] Traced matmul(const Traced& a, const Traced& b, Line line = Line::current());
/// x W^T: x is [..., in], weight [out, in], the result [..., out].
[[nodiscard]] Traced linear(const Traced& weight, const Traced& x, Line line = Line::current());
/// x W: x is [..., out], the result [..., in].
[[nodiscard]] Traced linear_transposed(const Traced& weight, const Traced& x, Line line = Line::current());
/// Rows of a table: [vocabulary, width], ids whole numbers [n]; the result [n, width].
[[nodiscard]] Traced embedding(const Traced& table, const Traced& ids, Line line = Line::current());
/// Along the dimension, the elements that the ids (a tensor of any shape) name: x.shape[:d] + ids.shape +
/// x.shape[d + 1:]. Errors: an id that is no whole number below the extent.
[[nodiscard]] Traced gather(const Traced& x, const Traced& ids, std::int64_t dimension = 0,
                            Line line = Line::current());
/// x with the updates, of the shape that gather gives, in the places that the ids name; of ids that repeat the last.
[[nodiscard]] Traced scatter(const Traced& x, const Traced& ids, const Traced& updates, std::int64_t dimension = 0,
                             Line line = Line::current());
/// x with the updates, of the shape that gather gives, added where the ids name; ids that repeat add in their order.
[[nodiscard]] Traced scatter_add(const Traced& x, const Traced& ids, const Traced& updates, std::int64_t dimension = 0,
                                 Line line = Line::current());

/// The same elements in another shape.
[[nodiscard]] Traced reshape(const Traced& x, const Shape& shape, Line line = Line::current());
/// Dimension k of the result is dimension order[k] of x.
[[nodiscard]] Traced permute(const Traced& x, const Integers& order, Line line = Line::current());
/// The last two dimensions swapped.
[[nodiscard]] Traced transpose(const Traced& x, Line line = Line::current());
[[nodiscard]] Traced broadcast_to(const Traced& x, const Shape& shape, Line line = Line::current());
/// From `start` up to and without `stop`, every step-th. Below 0 counts from the end; no stop is the end.
struct Range {
    std::int64_t start = 0;
    std::optional<std::int64_t> stop{};
    std::int64_t step = 1;
};
/// A range for each of the first dimensions; all of the others.
[[nodiscard]] Traced slice(const Traced& x, const std::vector<Range>& ranges, Line line = Line::current());
[[nodiscard]] Traced slice(const Traced& x, std::int64_t dimension, Range range, Line line = Line::current());
/// One index of a dimension, which goes (of [n] comes [1]): two equations.
[[nodiscard]] Traced index(const Traced& x, std::int64_t at, std::int64_t dimension = 0, Line line = Line::current());
/// `value` around it: before[k] and after[k] elements along dimension k.
[[nodiscard]] Traced pad(const Traced& x, const Integers& before, const Integers& after, double value = 0.0,
                         Line line = Line::current());
/// Tensors side by side along the dimension; texts one behind the other, with dimension 0.
[[nodiscard]] Traced concat(std::span<const Traced> parts, std::int64_t dimension, Line line = Line::current());
[[nodiscard]] Traced concat(std::initializer_list<Traced> parts, std::int64_t dimension = 0,
                            Line line = Line::current());
/// hyperfunc's word for concat.
[[nodiscard]] inline Traced combine(std::initializer_list<Traced> parts, std::int64_t dimension = 0,
                                    Line line = Line::current()) {
    return concat(parts, dimension, line);
}
/// Parts of one shape, side by side along a new dimension: an equation for each, and one.
[[nodiscard]] Traced stack(std::span<const Traced> parts, std::int64_t dimension, Line line = Line::current());
[[nodiscard]] Traced stack(std::initializer_list<Traced> parts, std::int64_t dimension = 0,
                           Line line = Line::current());
[[nodiscard]] std::vector<Traced> split(const Traced& whole, std::span<const std::uint64_t> sizes,
                                        std::int64_t dimension, Line line = Line::current());
[[nodiscard]] std::vector<Traced> split(const Traced& whole, std::initializer_list<std::uint64_t> sizes,
                                        std::int64_t dimension = 0, Line line = Line::current());

/// a < b as a truth value in the graph, and choosing by it: control that depends on parameters.
[[nodiscard]] Traced less(const Traced& a, const Traced& b, Line line = Line::current());
[[nodiscard]] Traced equal(const Traced& a, const Traced& b, Line line = Line::current());
// Of truth values.
[[nodiscard]] Traced logical_and(const Traced& a, const Traced& b, Line line = Line::current());
[[nodiscard]] Traced logical_or(const Traced& a, const Traced& b, Line line = Line::current());
[[nodiscard]] Traced logical_not(const Traced& a, Line line = Line::current());
[[nodiscard]] Traced select(const Traced& condition, const Traced& if_true, const Traced& if_false,
                            Line line = Line::current());
/// Text: each {} in the pattern takes the next value, as text_of writes it; {{ and }} write a brace.
[[nodiscard]] Traced format(std::string pattern, std::span<const Traced> values, Line line = Line::current());
[[nodiscard]] Traced format(std::string pattern, std::initializer_list<Traced> values, Line line = Line::current());
/// Whether a text is, has in it, begins or ends with another, character by character: a truth value in the graph.
enum class Match { Equal, Contains, Starts, Ends };
[[nodiscard]] Traced match(const Traced& text, const Traced& wanted, Match how = Match::Equal,
                           Line line = Line::current());
/// Which of the words a text is, as a number from 0. Error when it runs: none of them.
[[nodiscard]] Traced word_index(const Traced& text, std::vector<std::string> words, Line line = Line::current());

/// Values by name as one: a record (tensor.hpp). A system's function returns one to have several outputs.
using NamedValues = std::vector<std::pair<std::string, Traced>>;
[[nodiscard]] Traced pack(const NamedValues& values, Line line = Line::current());
/// One of them again. Errors: no record, no such field.
[[nodiscard]] Traced field(const Traced& record, const std::string& name, Line line = Line::current());

// Lists (tensor.hpp). What is in one is data, so an operation that takes something out of it has to know of what type
// that is: from the list itself, for which it waits; or from `like`, a value of that type, which bodies of loops and
// branches need, since they are traced before there are values.
/// Values in an order.
[[nodiscard]] Traced make_list(std::span<const Traced> items, Line line = Line::current());
[[nodiscard]] Traced make_list(std::initializer_list<Traced> items, Line line = Line::current());
/// How many items a list has: an integer.
[[nodiscard]] Traced length(const Traced& list, Line line = Line::current());
/// An item, counted from the end below 0. Errors when it runs: none there, one of another type.
[[nodiscard]] Traced item(const Traced& list, const Traced& index, const std::optional<Value>& like = std::nullopt,
                          Line line = Line::current());
/// The texts of all items (text_of), with another text between them.
[[nodiscard]] Traced join(const Traced& list, std::string between, Line line = Line::current());
/// Numbers, or lists of equal lengths of them, as a tensor. Errors when it runs: other items, another shape.
[[nodiscard]] Traced to_tensor(const Traced& list, const std::optional<Shape>& shape = std::nullopt,
                               Line line = Line::current());
/// A whole number, or a tensor of one element, as an integer; and the way back is to_number (control.hpp).
[[nodiscard]] Traced to_integer(const Traced& x, Line line = Line::current());

/// A struct of traced values that a function can return in place of a pack has `NamedValues outputs_of(const T&)`
/// beside it, which names them.
template <class T>
concept HasOutputs = requires(const T& outputs) {
    { outputs_of(outputs) } -> std::convertible_to<NamedValues>;
};
template <class T>
inline constexpr bool kIsTupleOfTraced = false;
template <class... T>
inline constexpr bool kIsTupleOfTraced<std::tuple<T...>> = sizeof...(T) > 0 && (std::is_same_v<T, Traced> && ...);
/// What functions over traced values return: a traced value, a tuple of them (packed as "0", "1", ...), such a struct.
template <class T>
concept Outputs = std::is_convertible_v<T, Traced> || kIsTupleOfTraced<T> || HasOutputs<T>;
template <Outputs T>
[[nodiscard]] Traced packed(const T& outputs, Line line = Line::current()) {
    if constexpr (std::is_convertible_v<T, Traced>) {
        return outputs;
    } else if constexpr (kIsTupleOfTraced<T>) {
        NamedValues values;
        std::apply([&](const auto&... each) { (values.emplace_back(std::to_string(values.size()), each), ...); },
                   outputs);
        return pack(values, line);
    } else {
        return pack(outputs_of(outputs), line);
    }
}

}  // namespace yolk::hyper
