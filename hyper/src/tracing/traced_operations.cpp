// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/traced_operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "tracer.hpp"

namespace yolk::hyper {
namespace {

bool is_number(const Traced& x) {
    const ValueKind kind = x.type().kind;
    return kind == ValueKind::Number || kind == ValueKind::Integer;
}

/// Whether the second operand of an elementwise operation is the larger one.
bool is_second_larger(const Traced& a, const Traced& b) {
    if (b.type().kind != ValueKind::Tensor) return false;
    return is_number(a) || (a.type().kind == ValueKind::Tensor && a.shape().rank() < b.shape().rank());
}

Traced commutative(std::string_view name, const Traced& a, const Traced& b, const Line& line) {
    return is_second_larger(a, b) ? apply(name, {b, a}, {}, line) : apply(name, {a, b}, {}, line);
}

/// Counted from the front. A dimension out of range stays what it is: the operation refuses it.
std::int64_t from_front(std::int64_t dimension, std::size_t rank) {
    const auto count = static_cast<std::int64_t>(rank);
    return dimension < 0 && dimension >= -count ? dimension + count : dimension;
}

bool is_last(std::int64_t dimension, const Traced& x) {
    return from_front(dimension, x.shape().rank()) + 1 == static_cast<std::int64_t>(x.shape().rank());
}

/// What is as by default is left out, so that graphs of one meaning are one graph.
Traced reduce_along(std::string_view name, const Traced& x, std::int64_t dimension, bool keep, const Line& line) {
    Attributes attributes;
    if (!is_last(dimension, x)) attributes.emplace_back("dimension", from_front(dimension, x.shape().rank()));
    if (keep) attributes.emplace_back("keep", std::int64_t{1});
    return apply(name, {x}, std::move(attributes), line);
}

Traced reduce_all(std::string_view name, const Traced& x, const Integers& dimensions, bool keep, const Line& line) {
    Integers order;
    for (const std::int64_t dimension : dimensions) order.push_back(from_front(dimension, x.shape().rank()));
    std::ranges::sort(order, std::ranges::greater{});  // from the last one on, the others keep their numbers
    if (std::ranges::adjacent_find(order) != order.end()) {
        return refuse(bad_input("{}: dimensions [{}] of a tensor {} name one of them twice.", name,
                                fmt::join(dimensions, ", "), x.shape().to_string()),
                      std::span(&x, 1))[0];
    }
    Traced result = x;
    for (const std::int64_t dimension : order) result = reduce_along(name, result, dimension, keep, line);
    return result;
}

Traced softmax_along(std::string_view name, const Traced& x, std::int64_t dimension, const Line& line) {
    if (is_last(dimension, x)) return apply(name, {x}, {}, line);
    Integers order(x.shape().rank());
    std::iota(order.begin(), order.end(), 0);
    const std::int64_t along = from_front(dimension, order.size());
    if (along < 0 || along >= static_cast<std::int64_t>(order.size())) {
        return refuse(bad_input("{}: dimension {} of a tensor {}; it has {}.", name, dimension, x.shape().to_string(),
                                order.size()),
                      std::span(&x, 1))[0];
    }
    std::swap(order[static_cast<std::size_t>(along)], order.back());
    return permute(apply(name, {permute(x, order, line)}, {}, line), order, line);
}

}  // namespace

Traced operator+(const Traced& a, const Located& b) { return commutative("add", a, b.value(), b.line()); }
Traced operator-(const Traced& a, const Located& b) {
    // a - b is (-b) + a, the same bits; the larger operand comes first.
    return is_second_larger(a, b.value()) ? apply("add", {-b, a}, {}, b.line())
                                          : apply("subtract", {a, b.value()}, {}, b.line());
}
Traced operator*(const Traced& a, const Located& b) { return commutative("multiply", a, b.value(), b.line()); }
Traced operator/(const Traced& a, const Located& b) { return apply("divide", {a, b.value()}, {}, b.line()); }
Traced operator-(const Located& a) { return apply("negate", {a.value()}, {}, a.line()); }

Traced power(const Traced& a, const Traced& b, Line line) { return apply("power", {a, b}, {}, line); }
Traced maximum(const Traced& a, const Traced& b, Line line) { return commutative("maximum", a, b, line); }
Traced minimum(const Traced& a, const Traced& b, Line line) { return commutative("minimum", a, b, line); }
Traced clamp(const Traced& x, const Traced& low, const Traced& high, Line line) {
    return minimum(maximum(x, low, line), high, line);
}
Traced less_than(const Traced& a, const Traced& b, Line line) { return apply("less_than", {a, b}, {}, line); }
Traced less_or_equal(const Traced& a, const Traced& b, Line line) { return apply("less_or_equal", {a, b}, {}, line); }
Traced greater_than(const Traced& a, const Traced& b, Line line) { return apply("greater_than", {a, b}, {}, line); }
Traced greater_or_equal(const Traced& a, const Traced& b, Line line) {
    return apply("greater_or_equal", {a, b}, {}, line);
}
Traced equal_to(const Traced& a, const Traced& b, Line line) { return apply("equal_to", {a, b}, {}, line); }
Traced not_equal_to(const Traced& a, const Traced& b, Line line) { return apply("not_equal_to", {a, b}, {}, line); }
Traced where(const Traced& condition, const Traced& a, const Traced& b, Line line) {
    return apply("where", {condition, a, b}, {}, line);
}
Traced absolute(const Traced& x, Line line) { return apply("absolute", {x}, {}, line); }
Traced sqrt(const Traced& x, Line line) { return apply("sqrt", {x}, {}, line); }
Traced rsqrt(const Traced& x, Line line) { return apply("rsqrt", {x}, {}, line); }
Traced sin(const Traced& x, Line line) { return apply("sin", {x}, {}, line); }
Traced cos(const Traced& x, Line line) { return apply("cos", {x}, {}, line); }
Traced exp(const Traced& x, Line line) { return apply("exp", {x}, {}, line); }
Traced log(const Traced& x, Line line) { return apply("log", {x}, {}, line); }
Traced floor(const Traced& x, Line line) { return apply("floor", {x}, {}, line); }
Traced round(const Traced& x, Line line) { return apply("round", {x}, {}, line); }
Traced relu(const Traced& x, Line line) { return apply("relu", {x}, {}, line); }
Traced gelu(const Traced& x, Line line) { return apply("gelu", {x}, {}, line); }
Traced silu(const Traced& x, Line line) { return apply("silu", {x}, {}, line); }
Traced tanh(const Traced& x, Line line) { return apply("tanh", {x}, {}, line); }
Traced sigmoid(const Traced& x, Line line) { return apply("sigmoid", {x}, {}, line); }

Traced sum(const Traced& x, std::int64_t dimension, bool keep, Line line) {
    return reduce_along("sum", x, dimension, keep, line);
}
Traced mean(const Traced& x, std::int64_t dimension, bool keep, Line line) {
    return reduce_along("mean", x, dimension, keep, line);
}
Traced max(const Traced& x, std::int64_t dimension, bool keep, Line line) {
    return reduce_along("max", x, dimension, keep, line);
}
Traced min(const Traced& x, std::int64_t dimension, bool keep, Line line) {
    return reduce_along("min", x, dimension, keep, line);
}
Traced argmax(const Traced& x, std::int64_t dimension, bool keep, Line line) {
    return reduce_along("argmax", x, dimension, keep, line);
}
Traced sum(const Traced& x, const Integers& dimensions, bool keep, Line line) {
    return reduce_all("sum", x, dimensions, keep, line);
}
Traced mean(const Traced& x, const Integers& dimensions, bool keep, Line line) {
    return reduce_all("mean", x, dimensions, keep, line);
}
Traced max(const Traced& x, const Integers& dimensions, bool keep, Line line) {
    return reduce_all("max", x, dimensions, keep, line);
}
Traced min(const Traced& x, const Integers& dimensions, bool keep, Line line) {
    return reduce_all("min", x, dimensions, keep, line);
}
Traced cumulative_sum(const Traced& x, std::int64_t dimension, Line line) {
    return apply("cumulative_sum", {x}, {{"dimension", from_front(dimension, x.shape().rank())}}, line);
}
Traced softmax(const Traced& x, std::int64_t dimension, Line line) {
    return softmax_along("softmax", x, dimension, line);
}
Traced log_softmax(const Traced& x, std::int64_t dimension, Line line) {
    return softmax_along("log_softmax", x, dimension, line);
}

Traced matmul(const Traced& a, const Traced& b, Line line) { return apply("matmul", {a, b}, {}, line); }
Traced linear(const Traced& weight, const Traced& x, Line line) { return apply("linear", {weight, x}, {}, line); }
Traced linear_transposed(const Traced& weight, const Traced& x, Line line) {
    return apply("linear_transposed", {weight, x}, {}, line);
}
Traced embedding(const Traced& table, const Traced& ids, Line line) {
    return apply("embedding", {table, ids}, {}, line);
}
Traced gather(const Traced& x, const Traced& ids, std::int64_t dimension, Line line) {
    return apply("gather", {x, ids}, {{"dimension", from_front(dimension, x.shape().rank())}}, line);
}
Traced scatter(const Traced& x, const Traced& ids, const Traced& updates, std::int64_t dimension, Line line) {
    return apply("scatter", {x, ids, updates}, {{"dimension", from_front(dimension, x.shape().rank())}}, line);
}
Traced scatter_add(const Traced& x, const Traced& ids, const Traced& updates, std::int64_t dimension, Line line) {
    return apply("scatter_add", {x, ids, updates}, {{"dimension", from_front(dimension, x.shape().rank())}}, line);
}

Traced less(const Traced& a, const Traced& b, Line line) { return apply("less", {a, b}, {}, line); }
Traced equal(const Traced& a, const Traced& b, Line line) { return apply("equal", {a, b}, {}, line); }
Traced logical_and(const Traced& a, const Traced& b, Line line) { return apply("and", {a, b}, {}, line); }
Traced logical_or(const Traced& a, const Traced& b, Line line) { return apply("or", {a, b}, {}, line); }
Traced logical_not(const Traced& a, Line line) { return apply("not", {a}, {}, line); }
Traced select(const Traced& condition, const Traced& if_true, const Traced& if_false, Line line) {
    // An integer beside a number is a number. Of a host call under way the kind comes later.
    if (!Tracer::is_under_way(if_true) && !Tracer::is_under_way(if_false)) {
        const ValueKind a = if_true.type().kind, b = if_false.type().kind;
        if (a == ValueKind::Integer && b == ValueKind::Number)
            return apply("select", {condition, apply("to_number", {if_true}, {}, line), if_false}, {}, line);
        if (a == ValueKind::Number && b == ValueKind::Integer)
            return apply("select", {condition, if_true, apply("to_number", {if_false}, {}, line)}, {}, line);
    }
    return apply("select", {condition, if_true, if_false}, {}, line);
}
Traced format(std::string pattern, std::span<const Traced> values, Line line) {
    return apply("format", values, {{"pattern", std::move(pattern)}}, 1, line)[0];
}
Traced format(std::string pattern, std::initializer_list<Traced> values, Line line) {
    return format(std::move(pattern), std::span(values.begin(), values.size()), line);
}
Traced match(const Traced& text, const Traced& wanted, Match how, Line line) {
    constexpr std::array<const char*, 4> kWords{"equal", "contains", "starts", "ends"};
    return apply("match", {text, wanted}, {{"how", std::string(kWords.at(static_cast<std::size_t>(how)))}}, line);
}
Traced word_index(const Traced& text, std::vector<std::string> words, Line line) {
    return apply("word_index", {text}, {{"words", std::move(words)}}, line);
}

Traced pack(const NamedValues& values, Line line) {
    std::vector<std::string> names;
    std::vector<Traced> fields;
    for (const auto& [name, value] : values) {
        names.push_back(name);
        fields.push_back(value);
    }
    return apply("pack", fields, {{"names", std::move(names)}}, 1, line)[0];
}
Traced field(const Traced& record, const std::string& name, Line line) {
    const auto tracer = Tracer::tracer_of(record);
    if (tracer != nullptr) {
        if (auto known = tracer->unpacked(record, name)) return *std::move(known);
    }
    return apply("field", {record}, {{"name", name}}, line);
}

}  // namespace yolk::hyper
