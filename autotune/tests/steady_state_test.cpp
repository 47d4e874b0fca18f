// SPDX-License-Identifier: Apache-2.0
// From the second call on, a step with scratch allocates nothing from the heap and makes no Vulkan object.
#include "step_oracle.hpp"
#include "watch/driver_watch.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/kfac_step.hpp"
#include "yolk/natural_gradient_step.hpp"

#if YOLK_COUNTS_THE_HEAP

namespace yolk::autotune {
namespace {

using ::yolk::testing::DriverWatch;
using ::yolk::testing::own_allocations;

constexpr std::uint32_t kCalls = 100;

using steady_state = ::yolk::testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(steady_state);

/// `call` twice, then kCalls times under watch.
template <class Call>
void expect_steady(const Device& device, Call&& call) {
    const DriverWatch watch(device);
    ASSERT_OK(call());
    ASSERT_OK(call());
    const std::uint64_t driver_calls = watch.driver_calls();
    const std::uint64_t objects = watch.objects_created();
    const OperationCounts before = device.counts();
    const std::uint64_t allocations = own_allocations();
    bool good = true;
    for (std::uint32_t i = 0; i < kCalls; ++i) good = call().has_value() && good;
    EXPECT_EQ(own_allocations(), allocations);
    EXPECT_EQ(watch.objects_created(), objects);
    EXPECT_GE(watch.driver_calls() - driver_calls, 2 * kCalls);  // the watch saw the work
    EXPECT_TRUE(good);
    const OperationCounts after = device.counts();
    EXPECT_EQ(after.buffers_created, before.buffers_created);
    EXPECT_EQ(after.memory_blocks, before.memory_blocks);
    EXPECT_EQ(after.pipelines_created, before.pipelines_created);
    EXPECT_EQ(after.submissions - before.submissions, kCalls);
    EXPECT_GE(after.dispatches - before.dispatches, kCalls);
}

TEST_P(steady_state, kfac_steps_use_no_heap_and_make_no_objects) {
    const std::vector<float> blocks = to_float(definite_blocks(4, 20, 10.0));
    std::vector<float> inverses(blocks.size());
    std::vector<std::uint32_t> status(4);
    std::vector<float> residuals(4);
    for (const bool discrete : {false, true}) {
        KfacStepScratch scratch;
        StepFootprint footprint;
        expect_steady(discrete ? discrete_device() : device(), [&] {
            auto done =
                kfac_step(discrete ? discrete_dispatcher() : dispatcher(), {.count = 4, .n = 20, .blocks = blocks},
                          scratch, {.inverses = inverses, .status = status, .residuals = residuals});
            if (scratch.counts().calls == 1) footprint = scratch.footprint();
            return done;
        });
        EXPECT_EQ(scratch.footprint(), footprint);
        EXPECT_NE(footprint.upload, nullptr);
        EXPECT_EQ(scratch.counts().plans, 1U);
    }
}

TEST_P(steady_state, natural_gradient_steps_use_no_heap_and_make_no_objects) {
    const std::vector<float> preconditioner = to_float(definite_blocks(4, 20, 10.0));
    const std::vector<float> gradient(80, 1.0F);
    std::vector<float> step(80);
    std::vector<float> preconditioned(80);
    for (const bool discrete : {false, true}) {
        NaturalGradientStepScratch scratch;
        StepFootprint footprint;
        float rate = 1.0F;
        expect_steady(discrete ? discrete_device() : device(), [&] {
            rate *= 0.9F;
            auto done = natural_gradient_step(
                discrete ? discrete_dispatcher() : dispatcher(),
                {.count = 4, .n = 20, .gradient = gradient, .preconditioner = preconditioner, .learning_rate = rate},
                scratch, {.step = step, .preconditioned = preconditioned});
            if (scratch.counts().calls == 1) footprint = scratch.footprint();
            return done;
        });
        EXPECT_EQ(scratch.footprint(), footprint);
        EXPECT_EQ(scratch.counts().plans, 1U);
    }
}

TEST(steady_state_host, steps_use_no_heap) {
    const std::vector<double> blocks = definite_blocks(4, 20, 10.0);
    std::vector<double> inverses(blocks.size());
    std::vector<std::uint32_t> status(4);
    std::vector<double> residuals(4);
    std::vector<double> step(80, 1.0);
    KfacStepHostScratch kfac;
    NaturalGradientStepHostScratch natural;
    std::uint64_t allocations = 0;
    for (int call = 0; call < 3; ++call) {
        if (call == 1) allocations = own_allocations();
        const bool good = kfac_step_on_host({.count = 4, .n = 20, .blocks = blocks}, kfac,
                                            {.inverses = inverses, .status = status, .residuals = residuals}) &&
                          natural_gradient_step_on_host(
                              {.count = 4, .n = 20, .gradient = step, .preconditioner = inverses, .learning_rate = 0.1},
                              natural, {.step = step});
        if (!good) FAIL();
    }
    EXPECT_EQ(own_allocations(), allocations);
}

}  // namespace
}  // namespace yolk::autotune

#endif
