// SPDX-License-Identifier: Apache-2.0
// What functions over graphs take grows as the graphs do: eight times the equations take eight times as long, not 64
// times. The bound is half of that, since what is larger also misses caches; in processor time of this thread, so that
// other work does not count.
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <limits>
#include <map>

#include "fixtures.hpp"
#include "traced_graphs.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper::wide_graphs {
namespace {

constexpr std::size_t kFew = 2000, kMany = 8 * kFew;

double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// x + 1 + 1 + ...: as many stages as equations.
Graph chain(std::size_t count) {
    GraphBuilder builder("chain");
    Atom x = builder.input("x", number_type());
    for (std::size_t i = 0; i < count; ++i) x = builder.apply("add", {x, Value(1.0)}).value();
    return std::move(builder).finish({x});
}

/// One input that all equations read, each an output: one stage.
Graph fan(std::size_t count) {
    GraphBuilder builder("fan");
    const Atom x = builder.input("x", number_type());
    std::vector<Atom> outputs;
    for (std::size_t i = 0; i < count; ++i)
        outputs.push_back(builder.apply("add", {x, Value(static_cast<double>(i))}).value());
    return std::move(builder).finish(outputs);
}

/// A tree whose last equation reads all others.
Graph gathered(std::size_t count) {
    GraphBuilder builder("gathered");
    const Atom x = builder.input("x", tensor_type({1}));
    std::vector<Atom> parts;
    for (std::size_t i = 0; i < count; ++i)
        parts.push_back(builder.apply("add", {x, Value(static_cast<double>(i))}).value());
    const Atom all = builder.apply("concat", parts, {{"dimension", std::int64_t{0}}}).value();
    return std::move(builder).finish({all});
}

using Function = std::function<bool(const Graph&)>;

std::map<std::string, Function> functions() {
    return {
        {"validate", [](const Graph& g) { return validate(g).has_value(); }},
        {"stages", [](const Graph& g) { return stages(g).has_value(); }},
        {"signature", [](const Graph& g) { return signature(g).has_value(); }},
        {"to_text", [](const Graph& g) { return to_text(g).has_value(); }},
        {"to_dot", [](const Graph& g) { return to_dot(g).has_value(); }},
        {"to_svg", [](const Graph& g) { return to_svg(g).has_value(); }},
        {"dce", [](const Graph& g) { return dce(g, std::vector<bool>(g.outputs.size(), true)).has_value(); }},
        {"as_call, inline_calls",
         [](const Graph& g) {
             const auto call = as_call(g);
             return call && inline_calls(*call);
         }},
        {"pushforward", [](const Graph& g) { return pushforward(g).has_value(); }},
        {"pullback", [](const Graph& g) { return pullback(g).has_value(); }},
        {"batch", [](const Graph& g) { return batch(g, {.size = 2}).has_value(); }},
        {"sched", [](const Graph& g) { return sched(g, [](const Equation&) { return true; }).has_value(); }},
        {"sched of hosts", [](const Graph& g) { return sched(g).has_value(); }},
        {"weighted", [](const Graph& g) { return weighted(g).has_value(); }},
        {"collect", [](const Graph& g) { return collect(g).has_value(); }},
        {"fold", [](const Graph& g) { return fold(g).has_value(); }},
        {"folded_outputs, refused", [](const Graph& g) { return !folded_outputs(g).has_value(); }},
        {"call",
         [](const Graph& g) {
             const Value x = g.name == "gathered" ? Value(Tensor::vector({1.0F})) : Value(1.0);
             return call(g, {.inputs = {x}}).has_value();
         }},
    };
}

double least_seconds(const Function& function, const Graph& graph) {
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 3; ++i) {
        const double start = thread_seconds();
        EXPECT_TRUE(function(graph));
        least = std::min(least, thread_seconds() - start);
    }
    return least;
}

TEST(wide_graphs, take_as_long_as_they_are) {
    for (const auto& [shape, make] : std::map<std::string, std::function<Graph(std::size_t)>>{
             {"chain", chain}, {"fan", fan}, {"gathered", gathered}}) {
        const Graph few = make(kFew), many = make(kMany);
        for (const auto& [name, function] : functions()) {
            const double ratio = least_seconds(function, many) / least_seconds(function, few);
            EXPECT_LT(ratio, 32.0) << name << " of a " << shape;
        }
    }
}

}  // namespace
}  // namespace yolk::hyper::wide_graphs
