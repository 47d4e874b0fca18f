// SPDX-License-Identifier: Apache-2.0
// Convolution and pooling: against loops in double, for populations to the bit of one member, and what is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "exact_twin.hpp"
#include "fixtures.hpp"
#include "population_fixtures.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// An image [rows, height, width, channels] and a square window over it; `out` channels of a convolution.
struct WindowCase {
    std::uint64_t rows, height, width, channels;
    std::int64_t size, stride, padding, dilation;
    std::uint64_t out;
    [[nodiscard]] Window window() const {
        return {.size = {size, size},
                .stride = {stride, stride},
                .padding = {padding, padding},
                .dilation = {dilation, dilation}};
    }
    [[nodiscard]] std::int64_t places(std::uint64_t extent) const {
        return (static_cast<std::int64_t>(extent) + 2 * padding - dilation * (size - 1) - 1) / stride + 1;
    }
    [[nodiscard]] std::string name() const {
        return fmt::format("[{}, {}, {}, {}] by {} stride {} padding {} dilation {}", rows, height, width, channels,
                           size, stride, padding, dilation);
    }
};

/// No rows, single ones, primes, channels on both sides of four.
constexpr WindowCase kWindowCases[] = {
    {1, 1, 1, 1, 1, 1, 0, 1, 1},  {0, 3, 3, 2, 2, 1, 0, 1, 3}, {2, 5, 7, 1, 3, 1, 0, 1, 5},
    {1, 7, 5, 3, 3, 2, 1, 1, 4},  {3, 8, 8, 4, 2, 2, 0, 1, 8}, {1, 3, 4, 5, 3, 1, 2, 1, 2},
    {2, 11, 9, 2, 3, 2, 3, 2, 3}, {1, 5, 5, 8, 5, 1, 0, 1, 7}, {1, 2, 2, 3, 3, 3, 1, 1, 1},
    {2, 6, 4, 1, 1, 2, 0, 1, 3},  {2, 4, 6, 4, 1, 1, 0, 1, 4}, {1, 13, 13, 3, 7, 4, 5, 1, 2},
    {2, 9, 8, 3, 4, 3, 2, 1, 2},
};

/// What is at one place: visit(row of the image, column, element of the window), -1 outside of the image.
template <class Visit>
void each_seen(const WindowCase& c, std::int64_t i, std::int64_t j, Visit visit) {
    for (std::int64_t a = 0; a < c.size; ++a) {
        for (std::int64_t b = 0; b < c.size; ++b) {
            const std::int64_t y = i * c.stride + a * c.dilation - c.padding;
            const std::int64_t x = j * c.stride + b * c.dilation - c.padding;
            const bool inside =
                y >= 0 && x >= 0 && y < static_cast<std::int64_t>(c.height) && x < static_cast<std::int64_t>(c.width);
            visit(inside ? (y * static_cast<std::int64_t>(c.width) + x) : -1, a * c.size + b);
        }
    }
}

/// For each row and place of the window, one call of `at(image, i, j)` that appends the channels.
template <class At>
std::vector<double> over_places(const WindowCase& c, const Tensor& x, At at) {
    std::vector<double> all;
    const std::size_t image = c.height * c.width * c.channels;
    for (std::size_t row = 0; row < c.rows; ++row) {
        for (std::int64_t i = 0; i < c.places(c.height); ++i) {
            for (std::int64_t j = 0; j < c.places(c.width); ++j) at(x.values().subspan(row * image, image), i, j, all);
        }
    }
    return all;
}

std::vector<double> convolved_by_loops(const WindowCase& c, const Tensor& x, const Tensor& weight) {
    const auto channels = static_cast<std::int64_t>(c.channels);
    const std::int64_t in = c.size * c.size * channels;
    return over_places(c, x, [&](std::span<const float> image, std::int64_t i, std::int64_t j, auto& all) {
        for (std::int64_t o = 0; o < static_cast<std::int64_t>(c.out); ++o) {
            double sum = 0.0;
            each_seen(c, i, j, [&](std::int64_t pixel, std::int64_t element) {
                for (std::int64_t k = 0; pixel >= 0 && k < channels; ++k) {
                    sum += double{image[static_cast<std::size_t>(pixel * channels + k)]} *
                           double{weight.values()[static_cast<std::size_t>(o * in + element * channels + k)]};
                }
            });
            all.push_back(sum);
        }
    });
}

/// The largest, or the mean with zeros for the padding.
std::vector<double> pooled_by_loops(const WindowCase& c, const Tensor& x, bool largest) {
    const auto channels = static_cast<std::int64_t>(c.channels);
    return over_places(c, x, [&](std::span<const float> image, std::int64_t i, std::int64_t j, auto& all) {
        for (std::int64_t k = 0; k < channels; ++k) {
            double most = -std::numeric_limits<double>::infinity(), sum = 0.0;
            each_seen(c, i, j, [&](std::int64_t pixel, std::int64_t /*element*/) {
                if (pixel < 0) return;
                const double value = image[static_cast<std::size_t>(pixel * channels + k)];
                most = std::max(most, value);
                sum += value;
            });
            all.push_back(largest ? most : sum / static_cast<double>(c.size * c.size));
        }
    });
}

Tensor drawn_image(const WindowCase& c, std::uint32_t seed) {
    return drawn_tensor({c.rows, c.height, c.width, c.channels}, seed);
}
Tensor drawn_kernel(const WindowCase& c) {
    return drawn_tensor({c.out, static_cast<std::uint64_t>(c.size * c.size) * c.channels}, 9);
}

Value windows_result(const std::function<Traced(const Traced&)>& function, const Value& x) {
    System system("windows", [&](const Inputs& in) { return function(in["x"]); });
    const auto result = system.call({{"x", x}});
    EXPECT_OK(result);
    return result ? *result : Value();
}

/// A sum of n terms below 1 is rounded n times by 2^-24 of what it is by then.
void expect_near_loops(const Value& given, const std::vector<double>& expected, const Shape& shape,
                       std::int64_t terms) {
    ASSERT_NE(given.tensor(), nullptr);
    ASSERT_EQ(given.tensor()->shape(), shape);
    const double tolerance = static_cast<double>(terms * terms) * 0x1p-24;
    for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(given.tensor()->values()[i], expected[i], tolerance) << i;
}

TEST(windows, see_what_loops_see) {
    for (const WindowCase& c : kWindowCases) {
        SCOPED_TRACE(c.name());
        const Tensor x = drawn_image(c, 3), weight = drawn_kernel(c);
        const auto down = static_cast<std::uint64_t>(c.places(c.height));
        const auto across = static_cast<std::uint64_t>(c.places(c.width));
        const std::int64_t elements = c.size * c.size;
        expect_near_loops(windows_result([&](const Traced& a) { return convolution(weight, a, c.window()); }, x),
                          convolved_by_loops(c, x, weight), {c.rows, down, across, c.out},
                          elements * static_cast<std::int64_t>(c.channels));
        const Shape small{c.rows, down, across, c.channels};
        expect_near_loops(windows_result([&](const Traced& a) { return mean_pool(a, c.window()); }, x),
                          pooled_by_loops(c, x, false), small, elements);
        expect_near_loops(windows_result([&](const Traced& a) { return max_pool(a, c.window()); }, x),
                          pooled_by_loops(c, x, true), small, 0);
    }
}

TEST(windows, of_one_and_three_dimensions_and_their_defaults) {
    const auto counting = [](Shape shape) {
        std::vector<float> values(*shape.element_count());
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
        return *Tensor::create(std::move(shape), std::move(values));
    };
    EXPECT_EQ(
        windows_result([](const Traced& a) { return patches(a, {.size = {2}, .stride = {2}, .padding = {1}}, 9); },
                       counting({4, 2})),
        Value(*Tensor::create({3, 4}, {9, 9, 0, 1, 2, 3, 4, 5, 6, 7, 9, 9})));
    EXPECT_EQ(windows_result(
                  [](const Traced& a) {
                      return max_pool(a, {.size = {2, 2}});
                  },
                  counting({4, 4, 1})),
              Value(*Tensor::create({2, 2, 1}, {5, 7, 13, 15})))
        << "a pooling's stride is its size";
    EXPECT_EQ(windows_result(
                  [](const Traced& a) {
                      return max_pool(a, {.size = {2, 3}});
                  },
                  counting({5, 4, 1})),
              Value(*Tensor::create({2, 1, 1}, {6, 14})))
        << "what is left over is not seen";
    EXPECT_EQ(windows_result(
                  [](const Traced& a) {
                      return mean_pool(a, {.size = {2, 1, 2}});
                  },
                  counting({2, 2, 2, 1})),
              Value(*Tensor::create({1, 2, 1, 1}, {2.5F, 4.5F})));
}

std::string windows_message(const std::function<Traced(const Traced&)>& function, const Shape& shape) {
    System system("windows", [&](const Inputs& in) { return function(in["x"]); });
    return refusal(system.call({{"x", drawn_tensor(shape, 1)}}));
}

TEST(windows, that_do_not_fit_are_refused) {
    const auto told = [](const Window& window) {
        return windows_message([&](const Traced& a) { return max_pool(a, window); }, {2, 8, 6, 3});
    };
    EXPECT_THAT(told({.size = {9, 9}}),
                AllOf(HasSubstr("max_pool: a window that reaches over 9 elements along dimension 0 of the image of a "
                                "tensor [2, 8, 6, 3], which has 8 with its padding"),
                      HasSubstr("make the window smaller")));
    EXPECT_THAT(told({.size = {3, 4}, .dilation = {1, 2}}), HasSubstr("reaches over 7 elements along dimension 1"));
    EXPECT_THAT(told({.size = {2, 2}, .stride = {0, 1}}), HasSubstr("stride 0 along dimension 0"));
    EXPECT_THAT(told({.size = {2, 0}}), HasSubstr("size 0 along dimension 1"));
    EXPECT_THAT(told({.size = {2, 2}, .padding = {0, 2}}), HasSubstr("padding 2 along dimension 1"));
    EXPECT_THAT(told({.size = {2, 2}, .padding = {0, 2}}), HasSubstr("it takes 0 to 1"));
    EXPECT_THAT(told({.size = {2, 2}, .padding = {-1, 0}}), HasSubstr("padding -1"));
    EXPECT_THAT(told({.size = {2, 2}, .dilation = {0, 1}}), HasSubstr("dilation 0"));
    EXPECT_THAT(told({.size = {std::int64_t{1} << 40U, 2}}), HasSubstr("size 1099511627776"));
    EXPECT_THAT(told({.size = {2, 2}, .stride = {1}}),
                HasSubstr("[1] for a window [2, 2]; it takes one number for each"));
    EXPECT_THAT(told({}), HasSubstr("a window of 0 dimensions"));
    EXPECT_THAT(windows_message(
                    [](const Traced& a) {
                        return patches(a, {.size = {2, 2}});
                    },
                    {4, 4}),
                AllOf(HasSubstr("patches: a window of 2 dimensions over a tensor [4, 4]"),
                      HasSubstr("[..., image, channels]")));
    EXPECT_THAT(windows_message(
                    [](const Traced& a) {
                        return convolution(drawn_tensor({5, 8}, 1), a, {.size = {2, 2}});
                    },
                    {4, 4, 3}),
                HasSubstr("a weight [out, in] and x [..., in]"))
        << "channels that do not fit the weight";
    EXPECT_THAT(windows_message(
                    [](const Traced& a) {
                        return patches(a, {.size = {1000, 1000}, .padding = {999, 999}});
                    },
                    {3000, 3000, 1}),
                HasSubstr("at most 16777216 elements of each channel"));
}

class windows_of_populations : public ::yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(windows_of_populations);

/// Two convolutions with everything between them.
System windows_network() {
    const Window first{.size = {3, 3}, .stride = {1, 2}, .padding = {1, 1}}, second{.size = {2, 2}, .dilation = {1, 2}};
    const auto below =
        hyperfunction("below", MatrixWeight{.out = 4, .in = 9},
                      [=](const Traced& w, const Traced& x) { return convolution(w, x, first); }, {.optimize = true});
    const auto above =
        hyperfunction("above", MatrixWeight{.out = 3, .in = 16},
                      [=](const Traced& w, const Traced& x) { return convolution(w, x, second); }, {.optimize = true});
    return System("image", [=](const Inputs& in) {
        const Traced image = below(reshape(in["x"], {7, 11, 1}));
        return mean_pool(relu(above(max_pool(image, {.size = {3, 2}, .stride = {2, 1}, .padding = {1, 0}}))),
                         {.size = {2, 2}, .stride = {1, 1}});
    });
}

TEST_P(windows_of_populations, have_the_bits_of_single_members) {
    constexpr std::uint32_t kMembers = 5;  // the mean and two pairs
    System system = windows_network();
    std::vector<Example> examples;
    for (std::uint32_t e = 0; e < 3; ++e)
        examples.push_back({.inputs = {{"x", drawn_tensor({77}, 20 + e)}}, .expected = 0.0});
    ASSERT_OK_AND_ASSIGN(const std::vector<TracedExample> traced, system.trace_all(examples));
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(system.parameters()));
    const Perturbations around{.table = space.table,
                               .mean = space.mean,
                               .when = {.seed = 42, .generation = 2, .time = 2, .sigma = 0.05F},
                               .first_member = -1,
                               .members = kMembers};
    ASSERT_OK_AND_ASSIGN(const auto set, population::ExampleSet::create(traced, system.parameters()));
    ASSERT_OK_AND_ASSIGN(const population::Question question, set.ask(around));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs twin,
                         population::PopulationTwin(nullptr, set).evaluate(question, {.count = kMembers}, nullptr));
    ASSERT_OK_AND_ASSIGN(auto evaluator,
                         PopulationEvaluator::create({.devices = dispatcher()}, traced, system.parameters(), {}));
    EXPECT_EQ(evaluator.fallbacks(), std::vector<std::string>{}) << "all of it runs on the device";
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs given, evaluator.evaluate(around));
    EXPECT_EQ(given.values, twin.values);
    std::set<float> firsts;
    for (const Value& value : given.values) firsts.insert(value.tensor()->values()[0]);
    EXPECT_GT(firsts.size(), 5U) << "members and examples differ";
    for (std::size_t e = 0; e < examples.size(); ++e) {
        ASSERT_OK_AND_ASSIGN(const Value called, system.call(examples[e].inputs));
        EXPECT_EQ(given.values[e * kMembers], called) << "the mean";
    }
}

/// Members' images, of which the device pulls the derivative back: the host's bits.
TEST_P(windows_of_populations, pull_back_to_the_bits_of_one_call) {
    std::vector<std::pair<std::string, ValueType>> inputs{{"image", {ValueKind::Tensor, {2, 5, 5, 3}}},
                                                          {"kernel", {ValueKind::Tensor, {4, 27}}}};
    ASSERT_OK_AND_ASSIGN(
        const Graph graph, trace("pulled", inputs, [](std::span<const Traced> in) {
            const Window window{.size = {3, 3}, .stride = {2, 1}, .padding = {1, 0}};
            return std::vector<Traced>{max_pool(convolution(in[1], in[0], window), {.size = {2, 2}, .stride = {1, 1}})};
        }));
    ASSERT_OK_AND_ASSIGN(const Graph pulled, pullback(graph));
    ParameterSet parameters;
    ASSERT_OK(parameters.add(vector_spec("image", 150), drawn_tensor({150}, 1)));
    Sketch sketch(parameters);
    std::map<std::uint32_t, Atom> atoms;
    const Atom image =
        sketch.one("reshape", {sketch.parameter("image")}, {{"shape", std::vector<std::int64_t>{2, 5, 5, 3}}});
    const Value kernel = drawn_tensor({4, 27}, 2);
    ASSERT_EQ(pulled.inputs.size(), 3U);
    const Shape back = pulled.variables[pulled.inputs[2].second.value].type.shape;
    atoms.emplace(pulled.inputs[0].second.value, image);
    atoms.emplace(pulled.inputs[1].second.value, sketch.input("kernel", kernel));
    atoms.emplace(pulled.inputs[2].second.value, sketch.input("given", drawn_tensor(back, 3)));
    const auto known = [&](const Atom& atom) {
        const auto* id = std::get_if<VariableId>(&atom);
        return id == nullptr ? atom : atoms.at(id->value);
    };
    for (const Equation& equation : pulled.equations) {
        std::vector<Atom> operands;
        for (const Atom& operand : equation.operands) operands.push_back(known(operand));
        const auto results =
            sketch.all(std::string(equation.operation->name), std::move(operands), equation.attributes);
        for (std::size_t i = 0; i < results.size(); ++i) atoms.insert_or_assign(equation.results[i].value, results[i]);
    }
    ASSERT_EQ(pulled.outputs.size(), 3U);
    const std::vector<TracedExample> examples{sketch.finish(known(pulled.outputs[1]))};
    ASSERT_OK_AND_ASSIGN(auto evaluator,
                         PopulationEvaluator::create({.devices = dispatcher()}, examples, parameters, {}));
    EXPECT_EQ(evaluator.fallbacks(), std::vector<std::string>{});
    std::vector<Candidate> candidates(3);
    for (std::uint32_t m = 0; m < 3; ++m) candidates[m].values.emplace_back("image", drawn_tensor({150}, 50 + m));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs given, evaluator.evaluate(candidates));
    for (std::uint32_t m = 0; m < 3; ++m) {
        EXPECT_EQ(given.values[m], answer(examples[0], {{"image", drawn_tensor({150}, 50 + m)}})) << m;
    }
}

}  // namespace
}  // namespace yolk::hyper
