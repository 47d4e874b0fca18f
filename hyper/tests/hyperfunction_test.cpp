// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/hyperfunction.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "fixtures.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/hyper/control.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Factor {
    int factor = 2;
    static FieldsOf<Factor> fields() { return {field_of("factor", &Factor::factor).between(0, 100)}; }
};

double halved(double x) { return x / 2.0; }

TEST(hyperfunction, parameters_reach_the_body) {
    const auto times = hyperfunction("times", Factor{}, [](const Factor& p, double x) { return p.factor * x; });
    EXPECT_EQ(*times.call(Factor{10}, {2.0}), Value(20.0));
    System system("s", [=](const Inputs& in) { return times(in["x"]); });
    ASSERT_OK(system.add(times, Tensor::vector({10.0F})));
    EXPECT_EQ(*system.call({{"x", 2.0}}), Value(20.0));
    ASSERT_OK_AND_ASSIGN(const Factor tuned, system.parameters(times));
    EXPECT_EQ(tuned.factor, 10);
    ASSERT_OK(system.parameters().set("times", Tensor::vector({3.0F})));
    EXPECT_EQ(*system.call({{"x", 2.0}}), Value(6.0));
}

TEST(hyperfunction, takes_and_returns_plain_types) {
    const auto all = hyperfunction("all", NoParameters{},
                                   [](int i, bool b, const std::string& s, const Tensor& t, const Value& v, float f,
                                      std::stop_token stop) -> Result<std::string> {
                                       if (stop.stop_requested()) return bad_input("stopped");
                                       return std::to_string(i) + (b ? "t" : "f") + s + t.shape().to_string() +
                                              to_string(v) + std::to_string(static_cast<int>(f));
                                   });
    const std::vector<Value> good{3, true, "s", Tensor::vector({1.0F}), 2.5, 4.0};
    EXPECT_EQ(*all.call({}, good), Value("3ts[1]2.54"));
    const std::vector<std::pair<std::size_t, Value>> bad{{0, 2.5}, {0, 1e10}, {0, "x"}, {1, 1.0},
                                                         {2, 1.0}, {3, 1.0},  {5, "1"}};
    for (const auto& [index, value] : bad) {
        std::vector<Value> operands = good;
        operands[index] = value;
        EXPECT_THAT(refusal(all.call({}, operands)),
                    AllOf(HasSubstr("'all'"), HasSubstr("operand " + std::to_string(index) + " is")));
    }
    EXPECT_EQ(*hyperfunction("free", NoParameters{}, halved).call({}, {3.0}), Value(1.5));
    EXPECT_EQ(*hyperfunction("none", NoParameters{}, [] { return true; }).call({}, {}), Value(true));
}

TEST(hyperfunction, runs_alone_with_explicit_weights) {
    const auto layer = hyperfunction("layer", MatrixWeight{.out = 2, .in = 2},
                                     [](const Traced& w, const Traced& x) { return relu(linear(w, x)); });
    const Tensor weight = Tensor::create({2, 2}, {1, 2, 3, -4}).value();
    ASSERT_OK_AND_ASSIGN(const MatrixWeight lora, MatrixWeight::from_tensor(weight));
    EXPECT_EQ(*layer.call(lora, {Tensor::vector({1, 1})}), Value(Tensor::vector({3, 0})));
    EXPECT_THAT(refusal(MatrixWeight::from_tensor(Tensor::vector({1.0F}))), HasSubstr("a matrix [out, in]"));
    EXPECT_THAT(refusal(layer.call({.out = 2, .in = 2}, {Tensor::vector({1, 1})})), HasSubstr("Values [0]"));
    EXPECT_THAT(refusal(layer.call(lora, {})), HasSubstr("0 operands; it takes 1"));
    EXPECT_THAT(refusal(layer.call(lora, {Tensor::vector({1})})), HasSubstr("'layer'"));
    const auto bias =
        hyperfunction("bias", VectorWeight{.size = 2}, [](const Traced& b, const Traced& x) { return x + b; });
    EXPECT_EQ(*bias.call({2, Tensor::vector({1, 2})}, {Tensor::vector({1, 1})}), Value(Tensor::vector({2, 3})));
    const auto softmaxed = hyperfunction("soft", NoParameters{}, [](const Traced& x) { return sum(softmax(x)); });
    ASSERT_OK_AND_ASSIGN(const Value one, softmaxed.call({}, {Tensor::vector({1, 2, 3})}));
    EXPECT_NEAR(one.as_number().value(), 1.0, 1e-6);
}

TEST(hyperfunction, weights_register_themselves) {
    const auto layer = hyperfunction("layer", MatrixWeight{.out = 2, .in = 3, .noise_rank = 2},
                                     [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
    System system(
        "s", [=](const Inputs& in) { return layer(in["x"]); }, 5);
    EXPECT_THAT(refusal(system.parameters(layer)), HasSubstr("'layer' is not registered in system 's'"));
    ASSERT_OK(system.call({{"x", Tensor::vector({1, 2, 3})}}));
    ASSERT_OK_AND_ASSIGN(const MatrixWeight tuned, system.parameters(layer));
    EXPECT_EQ(tuned.values, initial_weights(layer.parts().spec, 5));
    EXPECT_EQ(tuned.noise_rank, 2U);
    EXPECT_TRUE(system.parameters().find("layer")->spec.optimize);
    EXPECT_THAT(refusal(system.add(layer)), HasSubstr("registered already"));
    System early(
        "s", [=](const Inputs& in) { return layer(in["x"]); }, 5);
    ASSERT_OK(early.add(layer));
    EXPECT_EQ(early.parameters().find("layer")->values, tuned.values);
    EXPECT_THAT(refusal(System("s", {}).add(layer, Tensor::filled({2, 2}, 0.0F))), HasSubstr("[2, 2]"));
}

TEST(hyperfunction, names_are_unique_in_a_system) {
    const auto one = hyperfunction("f", Factor{}, [](const Factor& p, double x) { return p.factor * x; });
    const auto other = hyperfunction("f", Factor{}, [](const Factor& p, double x) { return p.factor + x; });
    System system("s", [=](const Inputs& in) { return other(one(in["x"])); });
    // One above the other: their lines tell them apart.
    const std::uint32_t line = one.parts().made_at.line();
    EXPECT_EQ(other.parts().made_at.line(), line + 1);
    const std::string both = fmt::format(
        "'f': one is a struct of 1 fields (hyperfunction_test.cpp:{}), the other a struct of 1 fields "
        "(hyperfunction_test.cpp:{})",
        line, line + 1);
    EXPECT_THAT(refusal(system.call({{"x", 1.0}})), HasSubstr("Two hyperfunctions are called " + both));
    const std::pair<std::string, ValueType> input("x", {ValueKind::Number, {}});
    EXPECT_THAT(refusal(trace("t", std::span(&input, 1),
                              [&](std::span<const Traced> in) { return TracedValues{other(one(in[0]))}; })),
                HasSubstr(both));
    ASSERT_OK_AND_ASSIGN(const TracedExample traced,
                         System("s", [=](const Inputs& in) { return one(in["x"]); }).trace({{{"x", 1.0}}, {}}));
    EXPECT_THAT(to_text(traced.graph).value(), HasSubstr("call 0 of \"f\", hyperfunction_test.cpp:"));
    System copies("s", [=](const Inputs& in) {
        const AnyHyperfunction copy = one;
        return copy(one(in["x"]));
    });
    EXPECT_EQ(*copies.call({{"x", 1.0}}), Value(4.0)) << "a copy is the same hyperfunction";
}

TEST(hyperfunction, what_it_throws_is_an_error_that_names_it) {
    const auto thrower = hyperfunction("thrower", NoParameters{}, [](double x) -> double {
        if (x > 1.0) throw std::runtime_error("too large");
        if (x < 0.0) throw 7;
        return x;
    });
    const auto refuser =
        hyperfunction("refuser", NoParameters{}, [](double) -> Result<double> { return unsupported("Not today."); });
    const auto tensor = hyperfunction("tensor", NoParameters{}, [](const Traced& x) -> Traced {
        if (x.number() > 1.0) throw std::runtime_error("in a body");
        return x;
    });
    System system("s", [=](const Inputs& in) { return tensor(thrower(in["x"])); });
    const std::vector<Example> examples{{{{"x", 0.5}}, 0.5}, {{{"x", 2.0}}, 0.5}};
    EXPECT_THAT(refusal(system.evaluate(examples, exact_match())),
                AllOf(HasSubstr("example 1"), HasSubstr("'thrower'"), HasSubstr("hyperfunction_test.cpp:"),
                      HasSubstr("it threw an exception: too large")));
    EXPECT_EQ(*system.call({{"x", 0.5}}), Value(0.5)) << "still usable";
    EXPECT_THAT(refusal(system.call({{"x", -1.0}})), HasSubstr("not a std::exception"));
    EXPECT_THAT(refusal(tensor.call({}, {2.0})), HasSubstr("'tensor' threw: in a body"));
    System refused("s", [=](const Inputs& in) { return refuser(in["x"]); });
    const auto result = refused.call({{"x", 1.0}});
    EXPECT_THAT(refusal(result), AllOf(HasSubstr("'refuser'"), HasSubstr("Not today.")));
    EXPECT_EQ(result.error().kind, ErrorKind::Unsupported);
    System broken("s", [](const Inputs&) -> Traced { throw std::runtime_error("of the function"); });
    EXPECT_THAT(refusal(broken.call({})), HasSubstr("Its function threw: of the function"));
    EXPECT_THAT(refusal(System("s", {}).call({})), HasSubstr("has no function"));
}

TEST(threads, time_outs_and_retries_hold_in_a_single_call) {
    const auto slow = hyperfunction("slow", NoParameters{},
                                    [](double x, std::stop_token stop) {
                                        while (x > 0.0 && !stop.stop_requested())
                                            std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                        return x;
                                    },
                                    {.host = {.timeout = std::chrono::milliseconds(30)}});
    System system("s", [=](const Inputs& in) { return slow(in["x"]); });
    const std::vector<Example> examples{{{{"x", 0.0}}, 0.0}, {{{"x", 1.0}}, 1.0}};
    EXPECT_THAT(refusal(system.evaluate(examples, exact_match())), AllOf(HasSubstr("example 1"), HasSubstr("slow")));
    EXPECT_EQ(*system.call({{"x", 0.0}}), Value(0.0)) << "still usable";
    const auto tries = std::make_shared<std::atomic<int>>(0);
    const auto flaky = hyperfunction("flaky", NoParameters{},
                                     [tries](double x) -> Result<double> {
                                         if (++*tries < 3) return bad_input("Not yet.");
                                         return x;
                                     },
                                     {.host = {.retries = 2, .backoff = std::chrono::milliseconds(1)}});
    System again("s", [=](const Inputs& in) { return flaky(in["x"]); });
    EXPECT_EQ(*again.call({{"x", 4.0}}), Value(4.0));
    EXPECT_EQ(*tries, 3);
}

TEST(hyperfunction, the_number_of_operands_is_checked) {
    const auto one = hyperfunction("one", NoParameters{}, [](double x) { return x; });
    System system("s", [=](const Inputs& in) { return one(in["x"], in["x"]); });
    EXPECT_THAT(refusal(system.call({{"x", 1.0}})), HasSubstr("2 operands; it takes 1"));
    System text("s", [=](const Inputs& in) { return one(in["x"]); });
    EXPECT_THAT(refusal(text.call({{"x", "words"}})), HasSubstr("operand 0 is text; the body takes a number"));
}

TEST(hyperfunction, bad_defaults_are_found_at_registration) {
    struct Unbounded {
        double value = 1.0;
        static FieldsOf<Unbounded> fields() { return {field_of("value", &Unbounded::value)}; }
    };
    const auto function = hyperfunction("u", Unbounded{}, [](const Unbounded& p) { return p.value; });
    System system("s", [=](const Inputs&) { return function(); });
    EXPECT_THAT(refusal(system.call({})), AllOf(HasSubstr("'u'"), HasSubstr("between()")));
    const auto outside = hyperfunction("o", Factor{101}, [](const Factor& p) { return p.factor; });
    System other("s", [=](const Inputs&) { return outside(); });
    EXPECT_THAT(refusal(other.call({})), HasSubstr("'factor' of 'o' is 101; its bounds are 0 to 100"));
}

}  // namespace
}  // namespace yolk::hyper
