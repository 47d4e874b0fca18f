// SPDX-License-Identifier: Apache-2.0
// NumPy's meaning of the graph's operations, in double, by coordinates: nothing here knows of strides or of kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "yolk/internal/hyper/graph.hpp"
#include "yolk/tensor.hpp"

namespace yolk::hyper::oracle {

using Coordinates = std::vector<std::size_t>;

/// Values by coordinates; a number is an array without dimensions.
struct Array {
    std::vector<std::size_t> shape;
    std::map<Coordinates, double> values;
};

inline void each(const std::vector<std::size_t>& shape, const std::function<void(const Coordinates&)>& visit,
                 Coordinates prefix = {}) {
    if (prefix.size() == shape.size()) return visit(prefix);
    prefix.push_back(0);
    for (std::size_t i = 0; i < shape[prefix.size() - 1]; ++i) {
        prefix.back() = i;
        each(shape, visit, prefix);
    }
}

inline Array array_of(const Value& value) {
    Array array;
    if (const double* number = value.number()) {
        array.values[{}] = static_cast<float>(*number);
        return array;
    }
    const Tensor& tensor = *value.tensor();
    array.shape.assign(tensor.shape().extents().begin(), tensor.shape().extents().end());
    auto next = tensor.values().begin();
    each(array.shape, [&](const Coordinates& at) { array.values[at] = *next++; });
    return array;
}

inline Array made(std::vector<std::size_t> shape, const std::function<double(const Coordinates&)>& value) {
    Array array{std::move(shape), {}};
    each(array.shape, [&](const Coordinates& at) { array.values[at] = value(at); });
    return array;
}

/// What NumPy reads of an operand at the coordinates of a result with at least as many dimensions.
inline double repeated(const Array& operand, const Coordinates& at) {
    Coordinates own(at.end() - static_cast<std::ptrdiff_t>(operand.shape.size()), at.end());
    for (std::size_t k = 0; k < own.size(); ++k) own[k] = operand.shape[k] == 1 ? 0 : own[k];
    return operand.values.at(own);
}

inline std::vector<std::size_t> common(std::span<const Array> operands) {
    std::vector<std::size_t> shape;
    for (const Array& operand : operands) {
        if (operand.shape.size() > shape.size()) shape.insert(shape.begin(), operand.shape.size() - shape.size(), 1);
        for (std::size_t back = 1; back <= operand.shape.size(); ++back) {
            const std::size_t extent = operand.shape[operand.shape.size() - back];
            if (extent != 1) shape[shape.size() - back] = extent;
        }
    }
    return shape;
}

inline Coordinates with(Coordinates at, std::size_t k, std::size_t i) {
    at[k] = i;
    return at;
}
inline std::vector<std::size_t> without(std::vector<std::size_t> of, std::size_t k) {
    of.erase(of.begin() + static_cast<std::ptrdiff_t>(k));
    return of;
}

/// All along dimension k of x at these coordinates.
inline std::vector<double> line(const Array& x, const Coordinates& at, std::size_t k) {
    std::vector<double> values;
    for (std::size_t i = 0; i < x.shape[k]; ++i) values.push_back(x.values.at(with(at, k, i)));
    return values;
}

inline double total(const std::vector<double>& values) {
    double sum = 0.0;
    for (auto value = values.rbegin(); value != values.rend(); ++value) sum += *value;
    return sum;
}

inline const std::map<std::string, std::function<double(double, double)>>& of_two() {
    static const std::map<std::string, std::function<double(double, double)>> all{
        {"add", [](double a, double b) { return a + b; }},
        {"subtract", [](double a, double b) { return a - b; }},
        {"multiply", [](double a, double b) { return a * b; }},
        {"divide", [](double a, double b) { return a / b; }},
        {"power", [](double a, double b) { return std::pow(a, b); }},
        {"maximum", [](double a, double b) { return a < b ? b : a; }},
        {"minimum", [](double a, double b) { return b < a ? b : a; }},
        {"less_than", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
        {"less_or_equal", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
        {"greater_than", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
        {"greater_or_equal", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
        {"equal_to", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
        {"not_equal_to", [](double a, double b) { return a != b ? 1.0 : 0.0; }},
    };
    return all;
}

inline const std::map<std::string, std::function<double(double)>>& of_one() {
    static const std::map<std::string, std::function<double(double)>> all{
        {"negate", [](double x) { return -x; }},
        {"absolute", [](double x) { return x < 0.0 ? -x : x; }},
        {"sqrt", [](double x) { return std::sqrt(x); }},
        {"rsqrt", [](double x) { return 1.0 / std::sqrt(x); }},
        {"sin", [](double x) { return std::sin(x); }},
        {"cos", [](double x) { return std::cos(x); }},
        {"exp", [](double x) { return std::exp(x); }},
        {"log", [](double x) { return std::log(x); }},
        {"floor", [](double x) { return std::floor(x); }},
        {"round", [](double x) { return x - std::remainder(x, 1.0); }},
        {"relu", [](double x) { return x < 0.0 ? 0.0 : x; }},
        {"silu", [](double x) { return x / (1.0 + std::exp(-x)); }},
        {"gelu",
         [](double x) { return .5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + .044715 * x * x * x))); }},
        {"tanh", [](double x) { return std::tanh(x); }},
        {"sigmoid", [](double x) { return 1.0 / (1.0 + std::exp(-x)); }},
    };
    return all;
}

inline std::vector<std::size_t> list(const Attributes& attributes, const std::string& name) {
    for (const auto& [key, value] : attributes) {
        if (key != name) continue;
        const auto& integers = std::get<std::vector<std::int64_t>>(value);
        return {integers.begin(), integers.end()};
    }
    return {};
}
inline std::size_t whole(const Attributes& attributes, const std::string& name, std::size_t otherwise) {
    for (const auto& [key, value] : attributes) {
        if (key == name) return static_cast<std::size_t>(std::get<std::int64_t>(value));
    }
    return otherwise;
}
inline double real(const Attributes& attributes, const std::string& name) {
    for (const auto& [key, value] : attributes) {
        if (key == name) return std::get<double>(value);
    }
    return std::numeric_limits<double>::quiet_NaN();
}

inline double reduced(const std::string& operation, const std::vector<double>& values) {
    if (operation == "sum") return total(values);
    if (operation == "mean") return total(values) / static_cast<double>(values.size());
    if (operation == "max") return *std::ranges::max_element(values);
    if (operation == "min") return *std::ranges::min_element(values);
    return static_cast<double>(std::ranges::max_element(values) - values.begin());  // argmax
}

inline Array reduce(const std::string& operation, const Array& x, const Attributes& attributes) {
    const std::size_t k = whole(attributes, "dimension", x.shape.size() - 1);
    const bool keep = whole(attributes, "keep", 0) == 1 || x.shape.size() == 1;
    std::vector<std::size_t> shape = x.shape;
    shape[k] = 1;
    const Array kept = made(shape, [&](const Coordinates& at) { return reduced(operation, line(x, at, k)); });
    if (keep) return kept;
    return made(without(x.shape, k), [&](Coordinates at) {
        at.insert(at.begin() + static_cast<std::ptrdiff_t>(k), 0);
        return kept.values.at(at);
    });
}

/// Of operations along the last dimension that keep it.
inline Array by_row(const std::string& operation, const Array& x, const Attributes& attributes) {
    const std::size_t last = x.shape.size() - 1;
    return made(x.shape, [&](const Coordinates& at) {
        std::vector<double> row = line(x, at, last);
        const double value = x.values.at(at);
        const auto count = static_cast<double>(row.size());
        if (operation == "softmax" || operation == "log_softmax") {
            for (double& each : row) each = std::exp(each - value);
            return operation == "softmax" ? 1.0 / total(row) : -std::log(total(row));
        }
        const double mean = operation == "layer_norm" ? total(row) / count : 0.0;
        for (double& each : row) each = (each - mean) * (each - mean);
        return (value - mean) / std::sqrt(total(row) / count + real(attributes, "epsilon"));
    });
}

inline Array cumulative_sum(const Array& x, const Attributes& attributes) {
    const std::size_t k = whole(attributes, "dimension", 0);
    return made(x.shape, [&](const Coordinates& at) {
        std::vector<double> values = line(x, at, k);
        values.resize(at[k] + 1);
        return total(values);
    });
}

inline Array matmul(const Array& a, const Array& b) {
    const std::size_t a_rank = a.shape.size(), b_rank = b.shape.size();
    Array a_lead{{a.shape.begin(), a.shape.end() - 2}, {}}, b_lead{{b.shape.begin(), b.shape.end() - 2}, {}};
    std::vector<std::size_t> shape = common(std::vector{a_lead, b_lead});
    shape.push_back(a.shape[a_rank - 2]);
    shape.push_back(b.shape[b_rank - 1]);
    return made(shape, [&](const Coordinates& at) {
        std::vector<double> terms;
        for (std::size_t k = 0; k < a.shape[a_rank - 1]; ++k) {
            terms.push_back(repeated(a, with(at, at.size() - 1, k)) * repeated(b, with(at, at.size() - 2, k)));
        }
        return total(terms);
    });
}

inline Array permute(const Array& x, const Attributes& attributes) {
    const std::vector<std::size_t> order = list(attributes, "order");
    Array result;
    for (const std::size_t k : order) result.shape.push_back(x.shape[k]);
    each(x.shape, [&](const Coordinates& from) {
        Coordinates to;
        for (const std::size_t k : order) to.push_back(from[k]);
        result.values[to] = x.values.at(from);
    });
    return result;
}

inline Array slice(const Array& x, const Attributes& attributes) {
    const auto starts = list(attributes, "starts"), stops = list(attributes, "stops"),
               steps = list(attributes, "steps");
    Array result{std::vector<std::size_t>(x.shape.size(), 0), {}};
    each(x.shape, [&](const Coordinates& from) {
        Coordinates to;
        for (std::size_t k = 0; k < from.size(); ++k) {
            if (from[k] < starts[k] || from[k] >= stops[k] || (from[k] - starts[k]) % steps[k] != 0) return;
            to.push_back((from[k] - starts[k]) / steps[k]);
            result.shape[k] = std::max(result.shape[k], to[k] + 1);
        }
        result.values[to] = x.values.at(from);
    });
    return result;
}

inline Array pad(const Array& x, const Attributes& attributes) {
    const auto before = list(attributes, "before"), after = list(attributes, "after");
    std::vector<std::size_t> shape = x.shape;
    for (std::size_t k = 0; k < shape.size(); ++k) shape[k] += before[k] + after[k];
    Array result = made(shape, [&](const Coordinates&) { return real(attributes, "value"); });
    each(x.shape, [&](Coordinates at) {
        const double value = x.values.at(at);
        for (std::size_t k = 0; k < at.size(); ++k) at[k] += before[k];
        result.values[at] = value;
    });
    return result;
}

/// Of gather's coordinates: those in x.
inline Coordinates named(const Array& ids, const Coordinates& at, std::size_t k) {
    const auto first = at.begin() + static_cast<std::ptrdiff_t>(k);
    const auto last = first + static_cast<std::ptrdiff_t>(ids.shape.size());
    Coordinates in_x(at.begin(), first);
    in_x.push_back(static_cast<std::size_t>(ids.values.at(Coordinates(first, last))));
    in_x.insert(in_x.end(), last, at.end());
    return in_x;
}

inline Array gather(const Array& x, const Array& ids, const Attributes& attributes) {
    const std::size_t k = whole(attributes, "dimension", 0);
    std::vector<std::size_t> shape = without(x.shape, k);
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(k), ids.shape.begin(), ids.shape.end());
    return made(shape, [&](const Coordinates& at) { return x.values.at(named(ids, at, k)); });
}

inline Array scatter(Array x, const Array& ids, const Array& updates, const Attributes& attributes, bool adds) {
    const std::size_t k = whole(attributes, "dimension", 0);
    each(updates.shape, [&](const Coordinates& at) {
        double& place = x.values.at(named(ids, at, k));
        place = updates.values.at(at) + (adds ? place : 0.0);
    });
    return x;
}

/// The operation's result.
inline Array computed(const std::string& operation, std::span<const Array> operands, const Attributes& attributes) {
    if (const auto found = of_two().find(operation); found != of_two().end()) {
        return made(common(operands), [&](const Coordinates& at) {
            return found->second(repeated(operands[0], at), repeated(operands[1], at));
        });
    }
    const Array& x = operands[0];
    if (const auto found = of_one().find(operation); found != of_one().end())
        return made(x.shape, [&](const Coordinates& at) { return found->second(x.values.at(at)); });
    if (operation == "where") {
        return made(common(operands),
                    [&](const Coordinates& at) { return repeated(operands[repeated(x, at) != 0.0 ? 1 : 2], at); });
    }
    if (operation == "matmul") return matmul(x, operands[1]);
    if (operation == "permute") return permute(x, attributes);
    if (operation == "slice") return slice(x, attributes);
    if (operation == "pad") return pad(x, attributes);
    if (operation == "broadcast_to")
        return made(list(attributes, "shape"), [&](const Coordinates& at) { return repeated(x, at); });
    if (operation == "gather") return gather(x, operands[1], attributes);
    if (operation == "scatter" || operation == "scatter_add")
        return scatter(x, operands[1], operands[2], attributes, operation == "scatter_add");
    if (operation == "cumulative_sum") return cumulative_sum(x, attributes);
    if (operation == "softmax" || operation == "log_softmax" || operation == "layer_norm" || operation == "rms_norm")
        return by_row(operation, x, attributes);
    return reduce(operation, x, attributes);
}

}  // namespace yolk::hyper::oracle
