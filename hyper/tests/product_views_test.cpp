// SPDX-License-Identifier: Apache-2.0
// Products that read and write where moves would have put their operands: views are where the host's moves put
// elements, drawn graphs and their derivatives have the bits of the host and of kernels one by one, and what is read
// elsewhere is still made. $YOLK_TEST_GRAPHS draws more.
#include <numeric>

#include "drawn_graphs.hpp"
#include "strided_view.hpp"
#include "yolk/internal/testing/mutation.hpp"

namespace yolk::hyper {
namespace {

constexpr std::uint32_t kViewExamples = 2;

Tensor counted(const Shape& shape) {
    std::vector<float> values(*shape.element_count());
    std::iota(values.begin(), values.end(), 0.0F);
    return *Tensor::create(shape, std::move(values));
}

/// Numbers of the tensor's elements, in the order of the view.
std::vector<float> seen_through(const StridedView& view) {
    std::vector<float> seen{static_cast<float>(view.offset)};
    for (const StridedRuns& runs : view.dimensions) {
        for (const StridedRun& run : runs) {
            std::vector<float> next;
            for (const float first : seen) {
                for (std::uint64_t i = 0; i < run.extent; ++i)
                    next.push_back(first + static_cast<float>(i * run.stride));
            }
            seen = std::move(next);
        }
    }
    return seen;
}

/// A move of `x` that fits its shape; results beside the first are left alone.
Atom drawn_move(Sketch& s, GraphDraws& draws, const Atom& x) {
    const Shape shape = s.value(x).tensor()->shape();
    const std::size_t rank = shape.rank();
    switch (draws.below(4)) {
        case 0: {
            std::vector<std::int64_t> order(rank);
            std::iota(order.begin(), order.end(), 0);
            for (std::size_t k = rank; k-- > 1;)
                std::swap(order[k], order[draws.below(static_cast<std::uint32_t>(k + 1))]);
            return s.one("permute", {x}, {{"order", order}});
        }
        case 1: {
            std::vector<std::int64_t> starts, stops, steps;
            for (std::size_t k = 0; k < rank; ++k) {
                const auto extent = static_cast<std::uint32_t>(shape[k]);
                const std::uint32_t start = draws.below(extent), step = 1 + draws.below(2);
                starts.push_back(draws.below(3) == 0 ? start : 0);
                stops.push_back(extent);
                steps.push_back(draws.below(3) == 0 ? step : 1);
            }
            return s.one("slice", {x}, {{"starts", starts}, {"stops", stops}, {"steps", steps}});
        }
        case 2: {
            const std::uint32_t along = draws.below(static_cast<std::uint32_t>(rank));
            const auto extent = static_cast<std::int64_t>(shape[along]);
            if (extent < 2) return x;
            const std::int64_t first = 1 + draws.below(static_cast<std::uint32_t>(extent - 1));
            const auto parts =
                s.all("split", {x},
                      {{"sizes", std::vector{first, extent - first}}, {"dimension", static_cast<std::int64_t>(along)}});
            return parts[draws.below(2)];
        }
        default: {
            std::vector<std::int64_t> to;
            for (std::size_t k = 0; k < rank; ++k) {
                const auto extent = static_cast<std::int64_t>(shape[k]);
                if (extent % 2 == 0 && draws.below(2) == 0) {
                    to.insert(to.end(), {2, extent / 2});
                } else if (!to.empty() && draws.below(3) == 0) {
                    to.back() *= extent;
                } else {
                    to.push_back(extent);
                }
            }
            return s.one("reshape", {x}, {{"shape", to}});
        }
    }
}

TEST(strided_view, is_where_the_hosts_moves_put_each_element) {
    const ParameterSet none;
    std::uint64_t followed = 0, turned = 0;
    const auto graphs = static_cast<std::uint32_t>(testing::count_from("YOLK_TEST_GRAPHS", 400));
    for (std::uint32_t seed = 0; seed < graphs; ++seed) {
        SCOPED_TRACE(seed);
        GraphDraws draws(seed);
        Sketch s(none);
        const Tensor whole = counted({4, 6, 8});
        Atom x = s.input("x", whole);
        std::optional<StridedView> view = dense_view(whole.shape());
        for (std::uint32_t step = 0; view && step < 4; ++step) {
            const Atom next = drawn_move(s, draws, x);
            if (next == x) continue;
            const Equation equation = s.equations().back();
            std::vector<Shape> results;
            std::size_t which = 0;
            for (std::size_t r = 0; r < equation.results.size(); ++r) {
                results.push_back(s.value(equation.results[r]).tensor()->shape());
                if (Atom(equation.results[r]) == next) which = r;
            }
            const auto all = moved(equation, *view, results);
            view = all ? std::optional((*all)[which]) : std::nullopt;
            x = next;
            if (!view) break;  // a reshape of what does not lie in strides
            const auto values = s.value(x).tensor()->values();
            ASSERT_EQ(seen_through(*view), std::vector<float>(values.begin(), values.end()));
            ++followed;
            const auto back = inverse(*view, whole.shape(), dense_view(s.value(x).tensor()->shape()));
            if (!back) continue;
            const std::vector<float> places = seen_through(*back);
            for (std::size_t e = 0; e < places.size(); ++e)
                ASSERT_EQ(values[static_cast<std::size_t>(places[e])], static_cast<float>(e));
            ++turned;
        }
    }
    EXPECT_GT(followed, graphs);
    EXPECT_GT(turned, graphs / 4);
}

std::vector<TracedExample> derivatives_of(std::span<const TracedExample> examples, const ParameterSet& set,
                                          const char* by) {
    std::vector<TracedExample> derivatives;
    for (const TracedExample& example : examples) derivatives.push_back(derivative_of(example, set, by).value());
    return derivatives;
}

class product_views : public DrawnGraphs {};
YOLK_FOR_EACH_DEVICE(product_views);

Atom moved_operand(Sketch& s, GraphDraws& draws, const Atom& x) {
    Atom moved = x;
    for (std::uint32_t step = 0, count = draws.below(4); step < count; ++step) moved = drawn_move(s, draws, moved);
    return moved;
}

std::vector<std::int64_t> counted_up(std::size_t count) {
    std::vector<std::int64_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    return order;
}

/// [heads, rows, columns], with two leading dimensions [windows, heads, rows, columns]: whatever it was, moved, and cut
/// to what a product takes; perhaps by columns, as heads lie in a layer's.
Atom drawn_matrices(Sketch& s, GraphDraws& draws, const Atom& x, std::uint32_t leading) {
    const Atom moved = moved_operand(s, draws, x);
    const Shape shape = s.value(moved).tensor()->shape();
    const auto last = static_cast<std::int64_t>(shape.rank() == 0 ? 1 : shape[shape.rank() - 1]);
    std::int64_t rows = static_cast<std::int64_t>(*shape.element_count()) / last;
    std::vector<std::int64_t> cut;
    for (std::uint32_t d = 0; d < leading; ++d) {
        cut.push_back(rows % 2 == 0 ? 2 : 1);
        rows /= cut.back();
    }
    cut.insert(cut.end(), {rows, last});
    if (draws.below(2) == 0) return s.one("reshape", {moved}, {{"shape", cut}});
    std::vector<std::int64_t> order = counted_up(cut.size());
    std::swap(cut[leading - 1], cut[leading]);
    std::swap(order[leading - 1], order[leading]);
    return s.one("permute", {s.one("reshape", {moved}, {{"shape", cut}})}, {{"order", order}});
}

/// A product of two operands that are moved, whose result is moved and used; x is [6, 12].
TracedExample drawn_product(const ParameterSet& set, std::uint32_t seed, std::uint32_t example) {
    GraphDraws draws(seed);
    Sketch s(set);
    const Atom x = s.input("x", drawn_tensor({6, 12}, 500 + example));
    const Atom base = s.one("add", {x, s.parameter("w")});
    const Atom other =
        s.one("multiply", {draws.below(2) == 0 ? x : base,
                           s.one("reshape", {s.parameter("v")}, {{"shape", std::vector<std::int64_t>{6, 1}}})});
    const std::uint32_t leading = 1 + draws.below(2);
    const Atom a = drawn_matrices(s, draws, base, leading), b = drawn_matrices(s, draws, other, leading);
    const Shape a_shape = s.value(a).tensor()->shape(), b_shape = s.value(b).tensor()->shape();
    const std::size_t rank = a_shape.rank();
    // a a^T where b does not fit.
    std::vector<std::int64_t> across = counted_up(rank);
    std::swap(across[rank - 2], across[rank - 1]);
    const bool have_equal_leading = std::equal(a_shape.extents().begin(), a_shape.extents().end() - 2,
                                               b_shape.extents().begin(), b_shape.extents().end() - 2);
    Atom product;
    if (have_equal_leading && a_shape[rank - 1] == b_shape[rank - 1]) {
        product = s.one("matmul", {a, s.one("permute", {b}, {{"order", across}})});
    } else if (have_equal_leading && a_shape[rank - 2] == b_shape[rank - 2]) {
        product = s.one("matmul", {s.one("permute", {a}, {{"order", across}}), b});
    } else {
        product = s.one("matmul", {a, s.one("permute", {a}, {{"order", across}})});
    }
    std::vector<std::int64_t> order = counted_up(rank);
    for (std::size_t d = rank; d-- > 1;) std::swap(order[d], order[draws.below(static_cast<std::uint32_t>(d) + 1)]);
    const Atom written = s.one("permute", {product}, {{"order", order}});
    const auto count = static_cast<std::int64_t>(*s.value(product).tensor()->shape().element_count());
    const Atom flat = s.one("reshape", {written}, {{"shape", std::vector{count}}});
    Atom out = s.one("tanh", {flat});
    if (draws.below(3) == 0) {  // what is read elsewhere, too, is made
        const Atom also = draws.below(2) == 0 ? a : product;
        const auto all = static_cast<std::int64_t>(*s.value(also).tensor()->shape().element_count());
        out = s.one("add", {s.one("sum", {s.one("reshape", {also}, {{"shape", std::vector{all}}})}), out});
    }
    return s.finish(out);
}

TEST_P(product_views, drawn_graphs_and_their_derivatives_have_the_bits_of_both_other_roads) {
    const ParameterSet set = element_parameters();
    std::uint64_t saved = 0;
    const auto seeds = graph_seeds();
    for (const std::uint32_t seed : seeds) {
        std::vector<TracedExample> examples;
        for (std::uint32_t e = 0; e < kViewExamples; ++e) examples.push_back(drawn_product(set, seed, e));
        const std::vector<TracedExample> derivatives = derivatives_of(examples, set, "w");
        const Dispatches drawn = expect_three_roads_alike(examples, set, "graph " + std::to_string(seed));
        const Dispatches derived =
            expect_three_roads_alike(derivatives, set, "derivatives of graph " + std::to_string(seed));
        saved += drawn.apart - drawn.joined + derived.apart - derived.joined;
    }
    EXPECT_GT(saved, seeds.size());
}

/// Heads of matrices [windows, rows, 3 width], and their attention as [windows, rows, width].
struct Heads {
    std::uint32_t windows = 1, rows = 6, heads = 2, depth = 3;
    [[nodiscard]] std::int64_t width() const { return std::int64_t{heads} * depth; }
};
Atom attention_of(Sketch& s, const Heads& size, const Atom& mixed) {
    const auto width = size.width();
    const auto parts =
        s.all("split", {mixed}, {{"sizes", std::vector{width, width, width}}, {"dimension", std::int64_t{2}}});
    const auto permuted = [&](const Atom& x, std::vector<std::int64_t> order) {
        return s.one("permute", {x}, {{"order", std::move(order)}});
    };
    std::vector<Atom> heads;
    for (const Atom& part : parts) {
        const std::vector<std::int64_t> shape{size.windows, size.rows, size.heads, size.depth};
        heads.push_back(permuted(s.one("reshape", {part}, {{"shape", shape}}), {0, 2, 1, 3}));
    }
    const Atom scores = s.one("multiply", {s.one("matmul", {heads[0], permuted(heads[1], {0, 1, 3, 2})}), Value(0.5)});
    const Atom seen = s.one("matmul", {s.one("softmax", {scores}), heads[2]});
    return s.one("reshape", {permuted(seen, {0, 2, 1, 3})},
                 {{"shape", std::vector<std::int64_t>{size.windows, size.rows, width}}});
}

/// Attention whose mixed heads are tanh(x + v), with an input x and a parameter v.
TracedExample attention_example(const ParameterSet& set, const Heads& size, std::uint32_t example) {
    const std::vector<std::int64_t> shape{size.windows, size.rows, 3 * size.width()};
    const auto count = static_cast<std::uint32_t>(size.windows * size.rows * 3 * size.width());
    Sketch s(set);
    const Atom x = s.one("reshape", {s.input("x", drawn_tensor({count}, 40 + example))}, {{"shape", shape}});
    return s.finish(attention_of(s, size, s.one("tanh", {s.one("add", {x, s.parameter("v")})})));
}

TEST_P(product_views, attention_moves_nothing) {
    ParameterSet set;
    ASSERT_OK(set.add(vector_spec("v", 18), drawn_tensor({18}, 21)));
    std::vector<Candidate> candidates;
    for (std::uint32_t c = 0; c < 3; ++c) candidates.push_back({{{"v", drawn_tensor({18}, 700 + c)}}});
    for (const std::uint32_t windows : {1U, 3U}) {
        const Heads size{.windows = windows};
        std::vector<TracedExample> examples;
        for (std::uint32_t e = 0; e < kViewExamples; ++e) examples.push_back(attention_example(set, size, e));
        const std::vector<TracedExample> derivatives = derivatives_of(examples, set, "v");
        const Dispatches dispatches = expect_three_roads_alike(examples, set, "attention", candidates);
        EXPECT_EQ(dispatches.joined, 4U) << "what is mixed, scores, their softmax, what is seen";
        EXPECT_GE(dispatches.apart, 5U + 3U + 3U + 1U + 1U)
            << "three parts, their heads, the keys across, the heads back";
        const Dispatches derived = expect_three_roads_alike(derivatives, set, "its derivative", candidates);
        EXPECT_EQ(derived.joined, 4U + 2U + 4U + 1U + 1U)
            << "as before, ones for each candidate, products, softmax's, tanh's with the sum";
        EXPECT_GE(derived.apart, derived.joined + 20U);
    }
}

}  // namespace
}  // namespace yolk::hyper
