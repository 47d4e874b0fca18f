// SPDX-License-Identifier: Apache-2.0
// What is found out before a search evaluates anything.
#include <gtest/gtest.h>

#include "yolk/internal/testing/device_test.hpp"
#include "yolk/optimize.hpp"

namespace yolk::hyper {
namespace {

using ::yolk::testing::expect_error;

class before_searches : public ::yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(before_searches);

TEST_P(before_searches, dry_run_calls_no_host_function) {
    int calls = 0;
    const auto pair_of = [&](HyperfunctionOptions with) {
        with.optimize = true;
        const auto drawn = hyperfunction(
            "drawn", LmParam{},
            [&](const LmParam& p, double x) {
                ++calls;
                return Tensor::vector({static_cast<float>(x + p.temperature), 1.0F});
            },
            with);
        System system("drawn", [=](const Inputs& in) {
            const std::vector<Traced> parts = split(drawn(in["x"]), {1, 1});
            return parts[0] * 2.0 + parts[1];
        });
        system.use(dispatcher());
        return system;
    };
    const std::vector<Example> examples{{{{"x", 1}}, 0.5}};
    const OptimizeOptions dry{.generations = 3, .dry_run = true};
    System unknown = pair_of({});
    EXPECT_TRUE(expect_error(unknown.optimize(examples, numeric_distance(), dry), ErrorKind::BadInput,
                             "HyperfunctionOptions::stand_in"));
    System known = pair_of({.stand_in = Tensor::vector({0.0F, 0.0F})});
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, known.optimize(examples, numeric_distance(), dry));
    EXPECT_EQ(outcome.cost.host_calls, 3U * 33U + 2U);
    EXPECT_EQ(calls, 0);
    ASSERT_OK(known.evaluate(examples, numeric_distance()));
    EXPECT_EQ(calls, 1);
}
TEST_P(before_searches, output_that_no_candidate_changes_is_refused) {
    const auto gain = hyperfunction("gain", VectorWeight{.size = 1},
                                    [](const Traced& w, const Traced& x) { return w * x; }, {.optimize = true});
    const std::vector<Example> examples{{{{"x", Tensor::vector({1.0F})}}, Tensor::vector({2.0F})}};
    System cut("cut", [=](const Inputs& in) { return Traced(gain(in["x"]).read()); });
    cut.use(dispatcher());
    EXPECT_TRUE(expect_error(cut.optimize(examples, numeric_distance()), ErrorKind::BadInput,
                             "depends on none of the hyperfunctions that are optimized (gain)"));
    EXPECT_TRUE(expect_error(cut.optimize(examples, numeric_distance()), ErrorKind::BadInput,
                             "The dependence was cut where variable 2 was read past the tracer"));
    System unused("unused", [=](const Inputs& in) {
        static_cast<void>(gain(in["x"]));
        return in["x"];
    });
    unused.use(dispatcher());
    EXPECT_TRUE(expect_error(unused.optimize(examples, numeric_distance()), ErrorKind::BadInput,
                             "Let the output be computed from what they return."));
}

}  // namespace
}  // namespace yolk::hyper
