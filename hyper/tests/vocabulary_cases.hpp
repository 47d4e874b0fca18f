// SPDX-License-Identifier: Apache-2.0
// Equations of every tensor operation, drawn: shapes with extents of 1 and primes, operands that are repeated, each
// dimension in its turn.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "array_oracle.hpp"
#include "population_fixtures.hpp"

namespace yolk::hyper {

struct VocabularyCase {
    std::string operation;
    std::vector<Shape> shapes;  ///< of the operands
    Attributes attributes{};
    std::vector<bool> numbers{};  ///< which operands are numbers
    std::uint64_t ids_below = 0;  ///< operand 1 holds ids below it
    bool positive = false;        ///< operand 0 is above 0
    [[nodiscard]] std::string name() const {
        std::string text = operation;
        for (std::size_t i = 0; i < shapes.size(); ++i) text += ' ' + (is_number(i) ? "number" : shapes[i].to_string());
        for (const auto& [key, value] : attributes) {
            if (const auto* whole = std::get_if<std::int64_t>(&value)) text += ' ' + key + std::to_string(*whole);
        }
        return text;
    }
    [[nodiscard]] bool is_number(std::size_t operand) const { return operand < numbers.size() && numbers[operand]; }
};

/// Draws of one kind after the other, the same in every run.
class Draws {
   public:
    explicit Draws(std::uint32_t seed) : seed_(seed) {}
    [[nodiscard]] std::uint32_t below(std::uint32_t count) {
        return philox4x32({next_++, 1, 0, 0}, {seed_, 6})[0] % count;
    }
    [[nodiscard]] Shape shape(std::size_t rank) {
        constexpr std::uint64_t kExtents[] = {1, 2, 3, 5, 7};
        std::vector<std::uint64_t> extents;
        for (std::size_t k = 0; k < rank; ++k) extents.push_back(kExtents[below(5)]);
        return Shape(std::move(extents));
    }
    /// What NumPy repeats to `shape`: fewer dimensions, extents of 1.
    [[nodiscard]] Shape repeated_to(const Shape& shape) {
        const auto all = shape.extents();
        if (all.empty()) return {};
        std::vector<std::uint64_t> extents(all.begin() + below(static_cast<std::uint32_t>(all.size())), all.end());
        for (std::uint64_t& extent : extents) extent = below(3) == 0 ? 1 : extent;
        return Shape(std::move(extents));
    }

   private:
    std::uint32_t seed_;
    std::uint32_t next_ = 0;
};

/// The operand's value: in (-1, 1), of functions of one in (-4, 4), or above .1; ids whole.
inline Value drawn_operand(const VocabularyCase& c, std::size_t operand, std::uint32_t seed) {
    const std::uint64_t count = c.shapes[operand].element_count().value();
    std::vector<float> values = drawn(count, seed);
    if (c.ids_below > 0 && operand == 1) {
        for (float& value : values)
            value = std::min(std::floor((value + 1.0F) * .5F * static_cast<float>(c.ids_below)),
                             static_cast<float>(c.ids_below - 1));
    }
    if (oracle::of_one().contains(c.operation)) {
        for (float& value : values) value *= 4.0F;
    }
    if (c.positive && operand == 0) {
        for (float& value : values) value = .1F + std::abs(value);
    }
    // Some equal elements, so that comparisons and choices see them.
    if (c.ids_below == 0) {
        for (std::size_t i = 0; i < count; i += 3) values[i] = .5F;
    }
    if (c.is_number(operand)) return Value(double{values.at(0)});
    return Tensor::create(c.shapes[operand], std::move(values)).value();
}

inline std::vector<std::int64_t> signed_list(std::span<const std::uint64_t> extents) {
    return {extents.begin(), extents.end()};
}

inline void add_elementwise(std::vector<VocabularyCase>& cases, Draws& draws) {
    for (const auto& [name, function] : oracle::of_two()) {
        for (std::uint32_t i = 0; i < 3; ++i) {
            const Shape shape = draws.shape(1 + draws.below(4));
            VocabularyCase c{name, {draws.repeated_to(shape), draws.repeated_to(shape)}};
            if (i == 0) c.shapes[draws.below(2)] = shape;
            c.positive = name == "power";
            cases.push_back(std::move(c));
        }
        cases.push_back(
            {.operation = name, .shapes = {{}, {2, 3}}, .numbers = {true, false}, .positive = name == "power"});
        cases.push_back(
            {.operation = name, .shapes = {{2, 3}, {}}, .numbers = {false, true}, .positive = name == "power"});
    }
    for (const auto& [name, function] : oracle::of_one())
        cases.push_back({.operation = name,
                         .shapes = {draws.shape(1 + draws.below(3))},
                         .positive = name == "sqrt" || name == "rsqrt" || name == "log"});
}

inline void add_choices(std::vector<VocabularyCase>& cases, Draws& draws) {
    for (std::uint32_t i = 0; i < 6; ++i) {
        const Shape shape = draws.shape(1 + draws.below(4));
        VocabularyCase c{"where", {draws.repeated_to(shape), draws.repeated_to(shape), draws.repeated_to(shape)}};
        if (i % 2 == 1) {
            c.shapes[1 + i % 3 / 2] = {};
            c.numbers = {false, i % 3 < 2, i % 3 == 2};
        }
        cases.push_back(std::move(c));
    }
}

inline void add_along(std::vector<VocabularyCase>& cases, Draws& draws) {
    for (const char* name : {"sum", "mean", "max", "min", "argmax"}) {
        for (std::size_t rank = 1; rank <= 4; ++rank) {
            const auto dimension = static_cast<std::int64_t>(draws.below(static_cast<std::uint32_t>(rank)));
            Attributes attributes{{"dimension", dimension}};
            if (draws.below(2) == 1) attributes.emplace_back("keep", std::int64_t{1});
            cases.push_back({name, {draws.shape(rank)}, std::move(attributes)});
        }
        cases.push_back({name, {draws.shape(3)}});
    }
    for (std::size_t rank = 1; rank <= 4; ++rank) {
        for (std::size_t k = 0; k < rank; ++k)
            cases.push_back({"cumulative_sum", {draws.shape(rank)}, {{"dimension", static_cast<std::int64_t>(k)}}});
        cases.push_back({"softmax", {draws.shape(rank)}});
        cases.push_back({"log_softmax", {draws.shape(rank)}});
        cases.push_back({"layer_norm", {draws.shape(rank)}, {{"epsilon", 1e-3}}});
        cases.push_back({"rms_norm", {draws.shape(rank)}, {{"epsilon", 1e-3}}});
    }
    cases.push_back({"cumulative_sum", {{2, 1030}}, {{"dimension", std::int64_t{1}}}});  // chunks of the kernel
}

inline void add_moves(std::vector<VocabularyCase>& cases, Draws& draws) {
    for (std::size_t rank = 1; rank <= 4; ++rank) {
        for (std::uint32_t i = 0; i < 3; ++i) {
            std::vector<std::int64_t> order(rank);
            for (std::size_t k = 0; k < rank; ++k) order[k] = static_cast<std::int64_t>(k);
            for (std::size_t k = rank; k > 1; --k)
                std::swap(order[k - 1], order[draws.below(static_cast<std::uint32_t>(k))]);
            cases.push_back({"permute", {draws.shape(rank)}, {{"order", order}}});

            const Shape cut = draws.shape(rank);
            std::vector<std::int64_t> starts, stops, steps, before, after;
            for (const std::uint64_t extent : cut.extents()) {
                starts.push_back(draws.below(static_cast<std::uint32_t>(extent)));
                stops.push_back(
                    starts.back() + 1 +
                    draws.below(static_cast<std::uint32_t>(extent) - static_cast<std::uint32_t>(starts.back())));
                steps.push_back(1 + draws.below(3));
                before.push_back(draws.below(3));
                after.push_back(draws.below(3));
            }
            cases.push_back({"slice", {cut}, {{"starts", starts}, {"stops", stops}, {"steps", steps}}});
            cases.push_back({"pad", {cut}, {{"before", before}, {"after", after}, {"value", -2.5}}});

            const Shape wide = draws.shape(rank);
            cases.push_back({"broadcast_to", {draws.repeated_to(wide)}, {{"shape", signed_list(wide.extents())}}});
        }
    }
    // The first row of several: nothing moves, and yet it is not the whole.
    using Places = std::vector<std::int64_t>;
    cases.push_back({"slice", {{3, 2}}, {{"starts", Places{0, 0}}, {"stops", Places{1, 2}}, {"steps", Places{1, 1}}}});
}

inline void add_by_ids(std::vector<VocabularyCase>& cases, Draws& draws) {
    for (std::size_t rank = 1; rank <= 3; ++rank) {
        for (std::size_t k = 0; k < rank; ++k) {
            const Shape shape = draws.shape(rank);
            const Shape ids = draws.shape(1 + draws.below(2));
            std::vector<std::uint64_t> updates(shape.extents().begin(), shape.extents().end());
            const auto at = updates.begin() + static_cast<std::ptrdiff_t>(k);
            updates.insert(updates.erase(at), ids.extents().begin(), ids.extents().end());
            const Attributes attributes{{"dimension", static_cast<std::int64_t>(k)}};
            cases.push_back(
                {.operation = "gather", .shapes = {shape, ids}, .attributes = attributes, .ids_below = shape[k]});
            for (const char* const operation : {"scatter", "scatter_add"}) {
                cases.push_back({.operation = operation,
                                 .shapes = {shape, ids, Shape(updates)},
                                 .attributes = attributes,
                                 .ids_below = shape[k]});
            }
        }
    }
}

inline void add_matmuls(std::vector<VocabularyCase>& cases, Draws& draws) {
    for (std::uint32_t i = 0; i < 8; ++i) {
        const Shape batch = draws.shape(draws.below(3));
        const Shape size = draws.shape(3);
        const auto matrix = [&](std::uint64_t rows, std::uint64_t columns) {
            const Shape leading = i < 2 ? batch : draws.repeated_to(batch);
            std::vector<std::uint64_t> extents(leading.extents().begin(), leading.extents().end());
            extents.insert(extents.end(), {rows, columns});
            return Shape(std::move(extents));
        };
        const Shape a = matrix(size[0], size[1]);
        cases.push_back({"matmul", {a, matrix(size[1], size[2])}});
    }
    cases.push_back({"matmul", {{2, 1, 3, 5}, {7, 5, 2}}});
    cases.push_back({"matmul", {{3, 17, 13}, {13, 19}}});
}

inline std::vector<VocabularyCase> vocabulary_cases() {
    std::vector<VocabularyCase> cases;
    Draws draws(7);
    add_elementwise(cases, draws);
    add_choices(cases, draws);
    add_along(cases, draws);
    add_moves(cases, draws);
    add_by_ids(cases, draws);
    add_matmuls(cases, draws);
    return cases;
}

}  // namespace yolk::hyper
