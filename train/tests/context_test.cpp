// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "temporary_folder.hpp"
#include "yolk/context.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/train.hpp"

namespace yolk::train {
namespace {

using training_context = ::yolk::testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(training_context);

TEST_P(training_context, gives_the_bits_and_the_policy_of_its_device) {
    const TemporaryFolder folder;
    ASSERT_OK_AND_ASSIGN(const Context context,
                         Context::create(::yolk::testing::instance(),
                                         {.device = std::to_string(::yolk::testing::device_index(device_name())),
                                          .tuning = false,
                                          .pipeline_cache = false}));
    TrainOptions options{.evolution = {.population = 64, .seed = 3},
                         .network = {.widths = {4, 8, 2}},
                         .generations = 2,
                         .max_steps = 20,
                         .out = folder.path()};
    ASSERT_OK_AND_ASSIGN(const TrainOutcome here, train(context, options));
    ASSERT_OK_AND_ASSIGN(const EvalOutcome evaluated, evaluate_policy(context, here.policy));
    options.out.clear();
    ASSERT_OK_AND_ASSIGN(const TrainOutcome there, train(device(), options));
    EXPECT_EQ(here.state_hash, there.state_hash);
    ASSERT_OK_AND_ASSIGN(const EvalOutcome again, evaluate_policy(device(), here.policy));
    EXPECT_EQ(evaluated.mean_return, again.mean_return);
}

}  // namespace
}  // namespace yolk::train
